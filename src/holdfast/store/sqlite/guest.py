"""Pushes in a transaction of the caller's own, on the caller's own connection to the same file.

The rows are the caller's to commit. Until then the caller holds SQLite's one write lock: nobody else can write, so such a
transaction should be short.

The caller's connection is kept from checkpointing by itself, as ours are: see `log`.
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from holdfast.errors import InvalidInput, StoreError, StoreUnavailable
from holdfast.model.job import NewJob, Pushed
from holdfast.store.guest import driver_connection
from holdfast.store.protocol import Clock
from holdfast.store.sqlite.database import Database
from holdfast.store.sqlite.pushing import Push


class SqliteGuest:
    """The `guest` door."""

    def __init__(self, database: Database, clock: Clock, ring_later: Callable[[], None]) -> None:
        self._db = database
        self._now = clock
        self._ring_later = ring_later

    def push(self, connection: Any, jobs: Sequence[NewJob]) -> list[Pushed]:
        host = driver_connection(connection)
        if not isinstance(host, sqlite3.Connection):
            raise InvalidInput(f"expected a connection of sqlite3 or SQLAlchemy to {self._db.path}, got: {host!r}")
        try:
            with _plain_rows(host):
                self._check(host)
                pushed = self._insert(host, jobs)
        except sqlite3.OperationalError as error:
            raise StoreUnavailable(
                f"{self._db.path} could not be written in your transaction: {error}; roll it back and do it again, and "
                "begin it with BEGIN IMMEDIATE, so that it waits for its turn at the beginning"
            ) from error
        except sqlite3.Error as error:
            raise StoreError(f"SQLite could not store the jobs in your transaction: {error}") from error
        self._ring_later()
        return pushed

    async def apush(self, connection: Any, jobs: Sequence[NewJob]) -> list[Pushed]:
        del jobs
        raise InvalidInput(f"sqlite has no async connections here, got: {type(connection)!r}; use enqueue_in()")

    def _insert(self, host: sqlite3.Connection, jobs: Sequence[NewJob]) -> list[Pushed]:
        statements = self._db.statements
        # First a write: the lock is then ours before anything is read.
        queues = [(name,) for name in sorted({job.queue for job in jobs})]
        host.executemany(statements.of("insert or ignore into ns_queue (name) values (?)"), queues)
        return Push(host, statements, self._now()).push(jobs)

    def _check(self, host: sqlite3.Connection) -> None:
        path = next(path for _, name, path in host.execute("pragma database_list") if name == "main")
        if not path or not Path(path).samefile(self._db.path):
            raise InvalidInput(f"expected a connection to {self._db.path}, where the jobs are; this one is to {path!r}")
        if not host.in_transaction:
            if host.isolation_level is None and getattr(host, "autocommit", -1) != 0:
                raise InvalidInput(
                    "this connection has no transaction open and would commit at once; begin one, or use enqueue()"
                )
            host.execute("pragma wal_autocheckpoint = 0")


@contextmanager
def _plain_rows(host: sqlite3.Connection) -> Iterator[None]:
    """Have rows as tuples for a while, whatever the caller likes them to be."""
    factory, host.row_factory = host.row_factory, None
    try:
        yield
    finally:
        host.row_factory = factory
