"""memory://, this process's memory. Every app has its own; it is gone when the process ends."""

from holdfast.errors import InvalidInput, StoreUnsafe
from holdfast.store.memory.store import MemoryStore
from holdfast.store.protocol import Clock, Store
from holdfast.store.urls import options_in


def open_url(url: str, *, tier: str | None, namespace: str, clock: Clock | None) -> Store:
    del namespace  # every store is a namespace of its own
    options_in(url, ())
    if url.partition("?")[0] not in ("memory://", "memory:///"):
        raise InvalidInput(f"expected memory:// and nothing behind it, got: {url!r}; every app has its own")
    if tier not in (None, "volatile"):
        raise StoreUnsafe(f"memory:// cannot be {tier!r}: what it holds is gone when the process ends; leave out tier=")
    return MemoryStore(clock)


def shown(url: str) -> str:
    return url


def missing(url: str, namespace: str) -> str | None:
    del url, namespace
    return "memory:// lives inside one process, and this is another; use sqlite:///jobs.db for both"


def migrate(url: str, namespace: str) -> list[str]:
    del url, namespace
    return []  # it has no schema
