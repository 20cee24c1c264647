"""The README's quickstart works when it is pasted."""

import re
from pathlib import Path

from tests.docs.console import agrees, prompt_lines, run
from tests.docs.pages import ROOT, blocks

README = ROOT / "README.md"


def test_the_quickstart_prints_what_the_readme_says(tmp_path: Path) -> None:
    for block in blocks(README):
        if block.language == "python":
            assert block.title, f"a python block without a file name:\n{block.text}"
            (tmp_path / block.title).write_text(block.text, "utf-8")
    steps = [step for block in blocks(README) if block.language == "console" for step in prompt_lines(block.text)]
    quickstart = [(command, told) for command, told in steps if not _is_of_the_checkout(command)]
    assert any("worker" in command for command, _ in quickstart)
    printed = run([command for command, _ in quickstart], tmp_path)
    for (command, told), output in zip(quickstart, printed, strict=True):
        assert agrees(output, told), f"$ {command}\nprinted\n{output}\nand the README says\n{told}"


def test_every_make_target_that_the_readme_names_exists() -> None:
    named = set(re.findall(r"\bmake ([a-z]+)\b", README.read_text("utf-8")))
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    assert named
    assert named <= targets


def test_output_that_differs_from_the_page_is_noticed() -> None:
    assert agrees("Hello, Ada!\n", "Hello, …!\n")
    assert not agrees("Hello, Ada?\n", "Hello, …!\n")


def _is_of_the_checkout(command: str) -> bool:
    return command.startswith(("make ", "pip "))
