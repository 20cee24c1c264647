"""The fixtures of the suite, all made from one that its user gives: `open_store` (see the package's docstring)."""

from collections.abc import Callable, Iterator

import pytest

from holdfast.store.protocol import Clock, Store
from holdfast.testing.contract.sample_jobs import enlisted
from holdfast.testing.contract.virtual_clock import VirtualClock

OpenStore = Callable[[Clock | None], Store]
"""What the fixture `open_store` gives: each call opens a new, empty store, on this clock or, for None, on its own."""


@pytest.fixture
def clock() -> VirtualClock:
    """The clock that `store` goes by."""
    return VirtualClock()


@pytest.fixture
def store(open_store: OpenStore, clock: VirtualClock) -> Iterator[Store]:
    """An empty store whose time is the virtual clock's."""
    opened = open_store(clock)
    yield opened
    opened.close()


@pytest.fixture
def live_store(open_store: OpenStore) -> Iterator[Store]:
    """An empty store on its own clock, for what can only be seen in real time."""
    opened = open_store(None)
    yield opened
    opened.close()


@pytest.fixture
def worker(store: Store) -> str:
    """A worker whose lease outlasts every test on the virtual clock."""
    return enlisted(store, lease_s=10_000)


@pytest.fixture
def programs() -> int:
    """How many programs the test against the model runs, each on a new store."""
    return 300
