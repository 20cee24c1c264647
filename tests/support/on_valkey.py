"""Fixtures for tests on a Valkey of ours: `from tests.support.on_valkey import *`."""

from collections.abc import Iterator

import pytest

from holdfast.store.redis.store import RedisStore
from holdfast.testing.contract.virtual_clock import VirtualClock
from tests.support.servers_valkey import ValkeyServer, new_namespace, shared_server

__all__ = ["clock", "own", "pair", "store"]

Pair = tuple[RedisStore, RedisStore]


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def store(clock: VirtualClock) -> Iterator[RedisStore]:
    """An empty store whose time is the virtual clock's."""
    url = shared_server().url
    opened = RedisStore.open(url, where=url, namespace=new_namespace(), clock=clock)
    yield opened
    opened.close()


@pytest.fixture
def pair() -> Iterator[Pair]:
    """Two stores on one namespace, as two machines have them."""
    namespace, url = new_namespace(), shared_server().url
    first, second = (RedisStore.open(url, where=url, namespace=namespace) for _ in range(2))
    yield first, second
    first.close()
    second.close()


@pytest.fixture
def own() -> Iterator[tuple[ValkeyServer, RedisStore]]:
    """A server of one's own, whose commands are counted, or which is short of memory; and a store on it."""
    server = ValkeyServer("--appendonly", "no")
    opened = RedisStore.open(server.url, where=server.url)
    yield server, opened
    opened.close()
    server.stop()
