"""Connections to the file: how they are opened, how a write takes the lock, how errors leave.

One process has one writing connection behind a lock, and one for reading, so that a person's long query holds up no
worker. Every write is `begin immediate … commit`: the lock is taken before anything is read, so nothing is decided on
stale facts and no transaction has to be upgraded half way. Waiting for the lock is ours: short naps with jitter up to a
deadline, because SQLite's own handler sleeps in steps of up to 100 ms.

If the process dies inside a write, the next opener finds an unfinished tail in the write-ahead log and ignores it: all of
a transaction is there, or nothing.

**Checkpoints.** SQLite before 3.51.3 can corrupt the file when a checkpoint races with a commit that restarts the log.
So automatic checkpoints are off on every connection, and ours run only while another of our connections holds the write
lock: no commit can happen meanwhile. Any process may do it; the length of the log says when (see `log`).

**Fork.** A connection must not cross a fork. Each use compares the process id; after a fork the parent's connections are
set aside, never closed (closing would drop the parent's file locks), and new ones are opened.
"""

import os
import random
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal

from holdfast.errors import InvalidInput, StoreClosed, StoreError, StoreUnavailable, StoreUnsafe
from holdfast.store.sqlite.location import check_location
from holdfast.store.sqlite.log import Log
from holdfast.store.sqlite.schema import Statements, migrate

Tier = Literal["durable", "fast"]

BUSY_DEADLINE_S: Final = 30.0
CHECKPOINT_BYTES: Final = 2 * 1024 * 1024
_KEPT_LOG_BYTES: Final = 4 * CHECKPOINT_BYTES
"""A log that had to grow beyond this, behind a long reader, is cut back when it starts again."""
_SYNCHRONOUS: Final = {"durable": 2, "fast": 1}
_OF_ANOTHER_PROCESS: Final[list[sqlite3.Connection]] = []


class Database:
    """One SQLite file, opened by this process."""

    def __init__(self, path: Path, *, tier: str, namespace: str, trust_filesystem: bool = False) -> None:
        if tier not in _SYNCHRONOUS:
            raise InvalidInput(f"expected the tier of a SQLite store to be 'durable' or 'fast', got: {tier!r}")
        self.path = path
        self.tier = tier
        self.statements = Statements(namespace)
        self._trusts = trust_filesystem
        self._write_lock = threading.Lock()
        self._read_lock = threading.Lock()
        self._closed = False
        self._open()

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Hold the write lock for one transaction: committed if the block ends, rolled back if it raises."""
        with self._write_lock, _wrapped(self.path):
            self._ready()
            _begin(self._writer)
            try:
                yield self._writer
                self._writer.execute("commit")
            except BaseException:
                if self._writer.in_transaction:
                    self._writer.execute("rollback")
                raise
            if self._log.is_long():
                self._checkpoint()

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Read without holding up anyone. Each statement sees one committed moment."""
        with self._read_lock, _wrapped(self.path):
            self._ready()
            yield self._reader

    @property
    def is_closed(self) -> bool:
        return self._closed

    def checkpoint(self) -> None:
        """Copy the log into the file, while no commit can happen."""
        with self._write_lock, _wrapped(self.path):
            self._ready()
            self._checkpoint()

    def close(self) -> None:
        with self._write_lock, self._read_lock:
            if not self._closed and self._pid == os.getpid():
                for connection in (self._writer, self._reader, self._checkpointer):
                    connection.close()
                self._log.close()
            self._closed = True

    # --- opening ----------------------------------------------------------------------------------------

    def _open(self) -> None:
        check_location(self.path, trust=self._trusts)
        self._pid = os.getpid()
        with _wrapped(self.path):
            _create_private(self.path)
            self._writer = self._connect()
            _with_patience(lambda: migrate(self._writer, self.statements, str(self.path)))
            self._reader = self._connect()
            self._checkpointer = self._connect()
            page_bytes = self._writer.execute("pragma page_size").fetchone()[0]
            self._log = Log(Path(f"{self.path}-wal"), page_bytes, CHECKPOINT_BYTES)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=0, isolation_level=None, check_same_thread=False, cached_statements=256
        )
        _with_patience(lambda: _set_up(connection, self.path, self.tier))
        return connection

    def _ready(self) -> None:
        if self._closed:
            raise StoreClosed(f"the store {self.path} was closed; open it anew by using the app again")
        if self._pid != os.getpid():
            self._log.close()
            _OF_ANOTHER_PROCESS.extend((self._writer, self._reader, self._checkpointer))
            self._open()

    # --- checkpoints ------------------------------------------------------------------------------------

    def _checkpoint(self) -> None:
        _begin(self._writer)
        try:
            self._checkpointer.execute("pragma wal_checkpoint(passive)").fetchone()
        finally:
            self._writer.execute("rollback")


def _set_up(connection: sqlite3.Connection, path: Path, tier: str) -> None:
    mode = connection.execute("pragma journal_mode=wal").fetchone()[0]
    if mode != "wal":
        raise StoreUnsafe(f"{path} cannot use a write-ahead log (journal mode stays {mode!r}); use a local disk")
    connection.execute(f"pragma synchronous={_SYNCHRONOUS[tier]}")
    connection.execute("pragma wal_autocheckpoint=0")
    connection.execute(f"pragma journal_size_limit={_KEPT_LOG_BYTES}")
    connection.execute("pragma mmap_size=0")
    connection.execute("pragma temp_store=memory")
    if connection.execute("pragma synchronous").fetchone()[0] != _SYNCHRONOUS[tier]:
        raise StoreUnsafe(f"{path} does not meet the tier {tier!r}: pragma synchronous could not be set")


def _create_private(path: Path) -> None:
    if not path.exists():
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_NOFOLLOW, 0o600))
        except FileExistsError:
            return  # another process made it first, which is as good


def _begin(connection: sqlite3.Connection) -> None:
    _with_patience(lambda: connection.execute("begin immediate"))


def _with_patience(step: object) -> None:
    """Repeat a step that finds the file locked, with short naps, until the deadline."""
    assert callable(step)
    nap_s = 0.0005
    deadline = time.monotonic() + BUSY_DEADLINE_S
    while True:
        try:
            step()
            return
        except sqlite3.OperationalError as error:
            if not _is_busy(error) or time.monotonic() > deadline:
                raise
        time.sleep(nap_s * (0.5 + random.random()))  # noqa: S311  jitter needs no secrecy
        nap_s = min(nap_s * 1.5, 0.01)


def _is_busy(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


@contextmanager
def _wrapped(path: Path) -> Iterator[None]:
    """Let no driver error pass the seam."""
    try:
        yield
    except PermissionError as error:
        raise StoreUnavailable(f"cannot open {path}: {error.strerror}; make it writable for this user") from error
    except OSError as error:
        raise StoreUnavailable(f"cannot use {path}: {error}") from error
    except sqlite3.Error as error:
        raise _explained(path, error) from error


def _explained(path: Path, error: sqlite3.Error) -> StoreError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreUnavailable(
            f"{path} stayed locked for {BUSY_DEADLINE_S:.0f} s: another program holds a long write transaction on it"
        )
    if code == sqlite3.SQLITE_NOTADB:
        return StoreUnavailable(f"{path} is not a SQLite database; name another file, or move this one away")
    if code == sqlite3.SQLITE_CORRUPT:
        return StoreUnavailable(
            f"{path} is damaged ({error}); stop every worker, keep a copy, and recover it with `sqlite3 {path} .recover`"
        )
    if code == sqlite3.SQLITE_FULL:
        return StoreUnavailable(f"the disk that holds {path} is full; nothing of this step was stored")
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return StoreUnavailable(f"cannot write {path} ({error}); make the file and its folder writable for this user")
    return StoreError(f"SQLite could not carry out the step on {path}: {error}")
