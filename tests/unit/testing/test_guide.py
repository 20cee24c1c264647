"""The guide to testing is true: its files, put into a folder, pass under pytest."""

import re
import subprocess
import sys
from pathlib import Path

from tests.docs.pages import ROOT, blocks

GUIDE = ROOT / "docs" / "how-to" / "test-your-code.md"


def test_the_tests_of_the_guide_pass_in_a_project_of_their_own(tmp_path: Path) -> None:
    written = set()
    for block in blocks(GUIDE):
        if block.language in ("python", "ini"):
            name = block.title or "pytest.ini"
            assert name not in written, "two blocks of one name, or one without a name"
            written.add(name)
            (tmp_path / name).write_text(block.text, "utf-8")
    tests = sum(len(re.findall(r"^def test_", (tmp_path / name).read_text("utf-8"), re.MULTILINE)) for name in written)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert f"{tests} passed" in done.stdout, done.stdout + done.stderr
    assert tests > 7
    assert not (tmp_path / "shop.db").exists()
