"""The Python of a guide is a program that runs: its blocks, put together in order."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, blocks

GUIDES = ("limit-and-share", "avoid-duplicates")


@pytest.mark.parametrize("guide", GUIDES)
def test_the_blocks_of_a_guide_run(guide: str, tmp_path: Path) -> None:
    found = [block.text for block in blocks(ROOT / "docs" / "how-to" / f"{guide}.md") if block.language == "python"]
    assert len(found) > 4
    program = tmp_path / "guide.py"
    program.write_text("\n".join(found), "utf-8")
    command = [sys.executable, "-W", "error", str(program)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
