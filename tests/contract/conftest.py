"""One suite, every store: each test that takes `store` is run on all of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.store.protocol import Store
from tests.support.clock import VirtualClock
from tests.support.stores import KINDS, open_store


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, clock: VirtualClock, tmp_path: Path) -> Iterator[Store]:
    """An empty store whose time is the virtual clock's."""
    opened = open_store(request.param, tmp_path, clock)
    yield opened
    opened.close()


@pytest.fixture(params=KINDS)
def live_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """An empty store on the machine's own clock, for what can only be seen in real time."""
    opened = open_store(request.param, tmp_path)
    yield opened
    opened.close()
