"""Each example runs, quickly, and prints what its docstring says."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.console import agrees
from tests.docs.pages import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_prints_what_its_docstring_says(example: Path, tmp_path: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
    done = subprocess.run(
        [sys.executable, str(example)], cwd=tmp_path, env=kept, capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 0, done.stderr
    assert agrees(done.stdout, _told(example)), done.stdout
    assert not list(tmp_path.iterdir()), "an example leaves nothing behind"


def test_there_are_examples() -> None:
    assert {path.stem for path in EXAMPLES} >= {
        "quickstart", "durable_file", "progress_and_retries", "polite_fetcher", "multi_tenant_mail",
    }  # fmt: skip


def _told(example: Path) -> str:
    """Give the indented lines at the end of the docstring."""
    docstring = ast.get_docstring(ast.parse(example.read_text("utf-8"))) or ""
    _, found, printed = docstring.partition("Prints:\n")
    assert found, f"{example.name} does not say what it prints"
    return "\n".join(line.removeprefix("    ") for line in printed.strip("\n").splitlines())
