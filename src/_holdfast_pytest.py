"""The pytest plugin: the fixtures `holdfast_app`, `holdfast_clock` and `holdfast_target`.

pytest loads this file in every run of every project that has Holdfast installed. So it imports nothing but pytest, and lies
outside of the package, whose own import would take 60 ms; the rest is loaded by the first test that asks for a fixture.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from holdfast.app.app import Holdfast
    from holdfast.testing.clock import VirtualClock

# The suite's asserts lie outside of test files: without this, a failing one would not show its values.
pytest.register_assert_rewrite("holdfast.testing.contract")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("holdfast_app", "the Holdfast app under test, as MODULE:APP, e.g. shop.tasks:app", default=None)


@pytest.fixture(scope="session")
def holdfast_target(pytestconfig: pytest.Config) -> "Holdfast | str":
    """The app under test, or MODULE:APP: the setting `holdfast_app`, unless conftest.py overrides this fixture."""
    target: str | None = pytestconfig.getini("holdfast_app")
    if not target:
        raise pytest.UsageError(
            "the fixture holdfast_app does not know which app to use. Set it in pytest's settings, "
            'holdfast_app = "shop.tasks:app", or override the fixture holdfast_target in conftest.py '
            "to return the app"
        )
    return target


@pytest.fixture
def holdfast_clock() -> "VirtualClock":
    """The clock that `holdfast_app` goes by. It moves when it is told to."""
    from holdfast.testing.clock import VirtualClock

    return VirtualClock()


@pytest.fixture
def holdfast_app(holdfast_target: "Holdfast | str", holdfast_clock: "VirtualClock") -> "Iterator[Holdfast]":
    """The app under test, on an empty memory store and a virtual clock, for one test."""
    from holdfast.app.target import load_app
    from holdfast.testing.isolation import isolated

    app = load_app(holdfast_target) if isinstance(holdfast_target, str) else holdfast_target
    with isolated(app, holdfast_clock):
        yield app
