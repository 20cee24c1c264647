from collections.abc import Iterator

import pytest

from holdfast.store.memory.store import MemoryStore
from holdfast.testing.contract.virtual_clock import VirtualClock
from tests.unit.run.making import Gate


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def store(clock: VirtualClock) -> Iterator[MemoryStore]:
    """An empty store whose time is the virtual clock's."""
    opened = MemoryStore(clock)
    yield opened
    opened.close()


@pytest.fixture
def live_store() -> Iterator[MemoryStore]:
    """An empty store on the machine's own clock."""
    opened = MemoryStore()
    yield opened
    opened.close()


@pytest.fixture
def gate() -> Gate:
    return Gate()
