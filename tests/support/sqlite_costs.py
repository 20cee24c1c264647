"""What SQLite has to do for an operation, counted: not how long it takes."""

from collections.abc import Iterator
from contextlib import contextmanager

from holdfast.store.sqlite.store import SqliteStore


@contextmanager
def statements(store: SqliteStore) -> Iterator[list[str]]:
    """Note every statement that is written with."""
    seen: list[str] = []
    with store._db.write() as connection:
        connection.set_trace_callback(seen.append)
    seen.clear()
    try:
        yield seen
    finally:
        connection.set_trace_callback(None)


@contextmanager
def steps(store: SqliteStore) -> Iterator[list[int]]:
    """Note one for every ten steps of SQLite's machine: what it does, not how long that takes."""
    taken: list[int] = []
    with store._db.write() as connection:
        connection.set_progress_handler(lambda: taken.append(1), 10)
    try:
        yield taken
    finally:
        connection.set_progress_handler(None, 0)
