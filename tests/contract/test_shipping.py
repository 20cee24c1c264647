"""The suite as others get it: whole, the same for every store, and of use with nothing but one fixture."""

import ast
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from holdfast.testing import contract
from tests.support.stores import KINDS

ROOT = Path(__file__).parents[2]
PACKAGE = Path(contract.__file__).parent
TIMEOUT_S = 100

CONFTEST = """
import pytest

from holdfast.store.memory.store import MemoryStore


@pytest.fixture
def open_store():
    return MemoryStore
"""
STAR = "from holdfast.testing.contract import *\n"


def run(folder: Path, *arguments: str) -> str:
    """Run Python in this folder, and give all that it printed."""
    # The outer run's settings, and its place among parallel workers, are not the inner run's.
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    # An editable install holds a copy of the pytest plugin, as old as the install: it is the source that is tried here.
    plain["PYTHONPATH"] = str(ROOT / "src")
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder, env=plain, capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
    )  # fmt: skip
    return done.stdout + done.stderr


def run_pytest(folder: Path, *options: str) -> str:
    return run(folder, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *options)


def third_party(folder: Path, conftest: str = CONFTEST) -> Path:
    """Write the two files that the docstring asks for."""
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\nfilterwarnings = error\n", "utf-8")
    (folder / "conftest.py").write_text(conftest, "utf-8")
    (folder / "test_store.py").write_text(STAR, "utf-8")
    return folder


def written_tests() -> list[str]:
    trees = [ast.parse(path.read_text("utf-8")) for path in sorted(PACKAGE.glob("*.py"))]
    functions = [node.name for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef)]
    return [name for name in functions if name.startswith("test_")]


def test_no_two_tests_have_the_same_name() -> None:
    """One of them would hide the other, unseen."""
    assert [name for name, number in Counter(written_tests()).items() if number > 1] == []


def test_the_import_brings_every_test_that_is_written() -> None:
    brought = [name for name in contract.__all__ if name.startswith("test_")]
    assert len(brought) > 200
    assert sorted(brought) == sorted(written_tests())


def test_every_store_runs_the_same_tests() -> None:
    listed = run_pytest(ROOT, "-o", "addopts=", "--collect-only", "tests/contract/test_contract.py")
    tests = re.findall(r"::(test_\w+)\[(.+)\]$", listed, re.MULTILINE)
    assert len(tests) == listed.count("::test_"), "every test is run on some store"
    by_kind = {kind: sorted(_without(kind, test) for test in tests if kind in test[1].split("-")) for kind in KINDS}
    assert sum(map(len, by_kind.values())) == len(tests)
    assert len(by_kind["memory"]) > 300
    assert all(of_kind == by_kind["memory"] for of_kind in by_kind.values())


def _without(kind: str, test: tuple[str, str]) -> tuple[str, list[str]]:
    """Give the test's name and its parameters, but for the store."""
    return test[0], [part for part in test[1].split("-") if part != kind]


def test_one_fixture_and_one_import_are_enough(tmp_path: Path) -> None:
    told = run_pytest(third_party(tmp_path), "-k", "claim")
    passed = re.search(r"^(\d+) passed, \d+ deselected", told, re.MULTILINE)
    assert passed, told[-2000:]
    assert int(passed[1]) > 20


def test_all_of_it_is_collected_elsewhere_without_a_warning(tmp_path: Path) -> None:
    told = run_pytest(third_party(tmp_path), "--collect-only")
    ours = run_pytest(ROOT, "-o", "addopts=", "--collect-only", "tests/contract/test_contract.py", "-k", "memory")
    assert told.count("::test_") == ours.count("::test_") > 300, told[-2000:]


def test_a_store_that_breaks_the_contract_is_told_with_the_values(tmp_path: Path) -> None:
    forgetful = CONFTEST.replace("return MemoryStore", "return Forgetful") + (
        "\n\nclass Forgetful(MemoryStore):\n    def claim(self, *given):\n        return super().claim(*given)[:0]\n"
    )
    told = run_pytest(third_party(tmp_path, forgetful), "-k", "test_a_ready_job_goes_to_one_worker_only")
    assert "1 failed" in told, told[-2000:]
    assert "assert 0 == 1" in told
    assert "where 0 = len([])" in told


def test_importing_the_kit_loads_neither_the_suite_nor_what_it_needs(tmp_path: Path) -> None:
    code = (
        "import sys, holdfast.testing; print({'pytest', 'hypothesis', 'holdfast.testing.contract'} & set(sys.modules))"
    )
    assert run(tmp_path, "-c", code).strip() == "set()"


def test_without_hypothesis_it_says_what_to_install(tmp_path: Path) -> None:
    code = "import sys; sys.modules['hypothesis'] = None; import holdfast.testing.contract"
    assert run(tmp_path, "-c", code).strip().endswith(
        "ModuleNotFoundError: the contract suite needs the package hypothesis, which is not installed: "
        "pip install 'holdfast[contract]'"
    )  # fmt: skip
