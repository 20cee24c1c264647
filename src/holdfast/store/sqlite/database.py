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

**Fork.** A connection must not cross a fork (see `forking`): all are closed before it, and opened again when needed.
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
from holdfast.store.forking import tell_of_forks
from holdfast.store.sqlite.location import check_location
from holdfast.store.sqlite.log import Log
from holdfast.store.sqlite.schema import Statements, migrate

Tier = Literal["durable", "fast"]

BUSY_DEADLINE_S: Final = 30.0
CHECKPOINT_BYTES: Final = 2 * 1024 * 1024
_KEPT_LOG_BYTES: Final = 4 * CHECKPOINT_BYTES
"""A log that had to grow beyond this, behind a long reader, is cut back when it starts again."""
_SYNCHRONOUS: Final = {"durable": 2, "fast": 1}
_FORK_PATIENCE_S: Final = BUSY_DEADLINE_S + 5


class _Open:
    """What a process has open of one file."""

    def __init__(self, path: Path, tier: str, statements: Statements) -> None:
        _create_private(path)
        self.writer = _connect(path, tier)
        _with_patience(lambda: migrate(self.writer, statements, str(path)))
        self.reader = _connect(path, tier)
        self.checkpointer = _connect(path, tier)
        page_bytes = self.writer.execute("pragma page_size").fetchone()[0]
        self.log = Log(Path(f"{path}-wal"), page_bytes, CHECKPOINT_BYTES)

    def close(self) -> None:
        for connection in (self.writer, self.reader, self.checkpointer):
            connection.close()
        self.log.close()

    def checkpoint(self) -> None:
        _begin(self.writer)
        try:
            self.checkpointer.execute("pragma wal_checkpoint(passive)").fetchone()
        finally:
            self.writer.execute("rollback")


class Database:
    """One SQLite file, opened by this process."""

    def __init__(self, path: Path, *, tier: str, namespace: str, trust_filesystem: bool = False) -> None:
        if tier not in _SYNCHRONOUS:
            raise InvalidInput(f"expected the tier of a SQLite store to be 'durable' or 'fast', got: {tier!r}")
        self.path = path
        self.tier = tier
        self.statements = Statements(namespace)
        self._trusts = trust_filesystem
        self._closed = False
        self._open: _Open | None = None
        self._make_locks()
        self._ready()
        tell_of_forks(self)

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Hold the write lock for one transaction: committed if the block ends, rolled back if it raises."""
        with self._write_lock, _wrapped(self.path):
            opened = self._open or self._ready()
            writer = opened.writer
            _begin(writer)
            try:
                yield writer
                writer.execute("commit")
            except BaseException:
                if writer.in_transaction:
                    writer.execute("rollback")
                raise
            if opened.log.is_long():
                opened.checkpoint()

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Read without holding up anyone. Each statement sees one committed moment."""
        with self._read_lock, _wrapped(self.path):
            yield (self._open or self._ready()).reader

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """Read without holding up anyone. All statements see the same committed moment."""
        with self.read() as connection:
            connection.execute("begin")
            try:
                yield connection
            finally:
                connection.execute("commit")

    @property
    def is_closed(self) -> bool:
        return self._closed

    def checkpoint(self) -> None:
        """Copy the log into the file, while no commit can happen."""
        with self._write_lock, _wrapped(self.path):
            (self._open or self._ready()).checkpoint()

    def close(self) -> None:
        with self._write_lock, self._read_lock:
            self._closed = True
            self._shut()

    # --- opening ----------------------------------------------------------------------------------------

    def _ready(self) -> _Open:
        with self._opening:
            if self._closed:
                raise StoreClosed(f"the store {self.path} was closed; open it anew by using the app again")
            if self._open is None:
                check_location(self.path, trust=self._trusts)
                with _wrapped(self.path):
                    self._open = _Open(self.path, self.tier, self.statements)
            return self._open

    def _shut(self) -> None:
        opened, self._open = self._open, None
        if opened is not None:
            opened.close()

    def _make_locks(self) -> None:
        self._write_lock = threading.Lock()
        self._read_lock = threading.Lock()
        self._opening = threading.Lock()

    # --- forks ------------------------------------------------------------------------------------------

    def before_fork(self) -> None:
        """Let the steps that are under way end, begin no other, and close."""
        for lock in (self._write_lock, self._read_lock, self._opening):
            lock.acquire(timeout=_FORK_PATIENCE_S)  # no step takes longer than its patience with others' locks
        self._shut()

    def after_fork_in_parent(self) -> None:
        for lock in (self._opening, self._read_lock, self._write_lock):
            lock.release()

    def after_fork_in_child(self) -> None:
        self._make_locks()


def _connect(path: Path, tier: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False, cached_statements=256)
    _with_patience(lambda: _set_up(connection, path, tier))
    return connection


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
