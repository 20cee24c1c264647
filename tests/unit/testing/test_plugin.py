"""The pytest plugin, in a pytest of its own: a project that has Holdfast installed."""

import subprocess
import sys
from pathlib import Path

TASKS = """
from holdfast import Holdfast

app = Holdfast("sqlite:///production.db")

@app.task(retries=3)
def send(to: str) -> str:
    return f"sent to {to}"
"""
INI = "[pytest]\nholdfast_app = shop:app\nfilterwarnings = error\n"


def run(folder: Path, *options: str, **files: str) -> str:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text, "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", *options],
        cwd=folder, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    return done.stdout + done.stderr


def test_the_fixture_gives_the_configured_app_on_an_empty_memory_store_for_each_test(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text(INI, "utf-8")
    told = run(tmp_path, shop=TASKS, test_shop="""
import pytest
from holdfast.testing import assert_enqueued, drain, enqueued
from shop import app, send

@pytest.mark.parametrize("again", [1, 2])
def test_jobs(holdfast_app, holdfast_clock, again):
    assert holdfast_app is app
    assert app.url == "memory://"
    assert enqueued(app) == []
    start = holdfast_clock.now
    job = send.using(delay=3600).enqueue("ada")
    assert_enqueued(send, "ada")
    drain(app)
    assert (holdfast_clock.now - start).total_seconds() == 3600
    assert job.result() == "sent to ada"

def test_afterwards_the_app_is_what_it_was():
    assert app.url == "sqlite:///production.db"
    assert app.clock is None
""")  # fmt: skip
    assert "3 passed" in told, told
    assert not (tmp_path / "production.db").exists()


def test_the_target_can_be_overridden_in_conftest(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text(INI.replace("shop:app", "nowhere:app"), "utf-8")
    told = run(tmp_path, shop=TASKS, conftest="""
import pytest
import shop

@pytest.fixture(params=["object", "name"])
def holdfast_target(request):
    return shop.app if request.param == "object" else "shop:app"
""", test_shop="""
import shop

def test_app(holdfast_app):
    assert holdfast_app is shop.app
    assert holdfast_app.url == "memory://"
""")  # fmt: skip
    assert "2 passed" in told, told


def test_a_project_that_named_no_app_is_told_both_ways_to_do_it(tmp_path: Path) -> None:
    told = run(tmp_path, test_shop="def test_app(holdfast_app): ...")
    assert "UsageError: the fixture holdfast_app does not know which app to use" in told
    assert 'holdfast_app = "shop.tasks:app"' in told
    assert "override the fixture holdfast_target in conftest.py" in told


def test_a_project_that_does_not_ask_for_it_loads_nothing_of_it(tmp_path: Path) -> None:
    told = run(tmp_path, test_shop="""
import sys

def test_lean():
    assert not [name for name in sys.modules if name.startswith("holdfast")]
""")  # fmt: skip
    assert "1 passed" in told, told


def test_a_failing_assertion_shows_the_test_and_not_the_kit(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text(INI, "utf-8")
    told = run(tmp_path, shop=TASKS, test_shop="""
from holdfast.testing import assert_enqueued
from shop import send

def test_jobs(holdfast_app):
    assert_enqueued(send, "ada")
""")  # fmt: skip
    assert "E       AssertionError: expected shop.send('ada') to be enqueued; waiting: nothing" in told, told
    assert "assertions.py" not in told
