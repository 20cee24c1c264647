"""MODULE:APP, as commands take it."""

import sys
from pathlib import Path

import pytest

from holdfast import DeclarationError, InvalidInput
from holdfast.app.target import load_app

PROGRAM = """
from holdfast import Holdfast
class Site:
    queue = Holdfast("memory://")
app = Holdfast("memory://")
def create_app(): return app
def create_nothing(): return 5
number = 5
"""


@pytest.fixture(autouse=True)
def _program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shop_target.py").write_text(PROGRAM)
    (tmp_path / "shop_empty.py").write_text("")
    (tmp_path / "shop_broken.py").write_text("raise OSError('the shop is closed')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("shop_target", "shop_empty", "shop_broken"):
        monkeypatch.delitem(sys.modules, name, raising=False)


@pytest.mark.parametrize("target", ["shop_target:app", "shop_target:create_app", "shop_target:create_app()"])
def test_an_app_and_a_factory_are_found_from_the_working_directory(target: str) -> None:
    assert load_app(target) is sys.modules["shop_target"].app


def test_an_app_may_be_an_attribute_of_something() -> None:
    assert load_app("shop_target:Site.queue") is sys.modules["shop_target"].Site.queue


@pytest.mark.parametrize("target", ["", "shop_target", ":app", "shop_target:"])
def test_what_is_no_target_is_refused(target: str) -> None:
    with pytest.raises(InvalidInput, match=r"expected the app as MODULE:APP, e\.g\. shop\.tasks:app, got: "):
        load_app(target)


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("shop_target:nothing", "shop_target:nothing cannot be found: .*; it has the app 'app'"),
        ("shop_empty:app", "shop_empty:app cannot be found: .*; it has no app"),
        ("shop_target:number", "shop_target:number is not a Holdfast app, nor a function that gives one: 5"),
        ("shop_target:create_nothing()", "is not a Holdfast app, nor a function that gives one: 5"),
    ],
)
def test_what_is_not_there_is_refused_with_what_is(target: str, words: str) -> None:
    with pytest.raises(DeclarationError, match=words):
        load_app(target)


def test_what_the_import_raises_is_raised_as_it_is() -> None:
    with pytest.raises(OSError, match="the shop is closed"):
        load_app("shop_broken:app")
    with pytest.raises(ModuleNotFoundError, match="no_such_shop"):
        load_app("no_such_shop:app")
