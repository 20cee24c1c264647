"""The stores that the contract suite is run on. A store that cannot be imported fails the suite; it is not skipped."""

from pathlib import Path

from holdfast.store.memory.store import MemoryStore
from holdfast.store.protocol import Clock, Store
from holdfast.store.sqlite.store import SqliteStore

KINDS = ("memory", "split", "sqlite")


def open_store(kind: str, folder: Path, clock: Clock | None = None, *, tier: str = "durable") -> Store:
    """Open a new, empty store. Only those that keep files use the folder and the tier."""
    if kind == "memory":
        return MemoryStore(clock)
    if kind == "split":
        return MemoryStore(clock, is_split=True)
    assert kind == "sqlite", f"expected one of {KINDS}, got: {kind!r}"
    return SqliteStore.open(folder / "jobs.db", tier=tier, clock=clock)
