"""The sessions of one process with one database, and the steps done in them.

A step borrows a session, does its work, and gives it back. There are at most `SESSIONS` of them; who finds all of them
lent waits. A write of several statements is one transaction: all of it, or nothing. A single statement is one by
itself.

**Broken lines.** A session that the server has ended is noticed before it is used, and replaced. One that breaks inside
a step is thrown away, and the step raises: whether its commit was reached nobody knows, and the caller repeats it (see
the protocol). The next step opens a new session. Nothing has to be told that the server is back.

**Others.** A deadlock or a failed serialisation rolls the step back and is no one's fault: it is done again.

**Fork.** A child lets go of its parent's sessions, without a word to the server, and opens its own.
"""

import threading
import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

from psycopg.pq import TransactionStatus

from holdfast.errors import StoreClosed
from holdfast.store.forking import tell_of_forks
from holdfast.store.postgres import session
from holdfast.store.postgres.failures import PASSING, wrapped
from holdfast.store.postgres.schema import Connection, Statements, migrate

T = TypeVar("T")
Step = Callable[[Connection], T]

SESSIONS: Final = 8
_TRIES: Final = 10


class Database:
    """One namespace of one PostgreSQL database, as this process uses it."""

    def __init__(self, conninfo: dict[str, Any], where: str, namespace: str) -> None:
        self.where = where
        self.statements = Statements(namespace)
        self.notes: tuple[str, ...] = ()
        self._conninfo = conninfo
        self._is_closed = False
        self._begin()
        tell_of_forks(self)
        try:
            self._run(self._set_up)
        except BaseException:
            self.close()
            raise

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._places = threading.BoundedSemaphore(SESSIONS)
        self._idle: list[Connection] = []
        self._open: set[Connection] = set()

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    def write(self, step: Step[T]) -> T:
        """Do the step in one transaction: committed if it returns, rolled back if it raises."""

        def whole(connection: Connection) -> T:
            with connection.transaction():
                return step(connection)

        return self._run(whole)

    def do(self, step: Step[T]) -> T:
        """Do a step of one statement, or one that only reads: each statement is a transaction by itself."""
        return self._run(step)

    def session(self) -> Connection:
        """Open a session that the caller keeps and closes. It counts as open here, so that a fork leaves it behind."""
        with wrapped(self.where):
            return self._connect()

    def end(self, connection: Connection) -> None:
        """Close a session for good."""
        with self._lock:
            self._open.discard(connection)
        connection.close()

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            self.end(connection)

    # --- inside -----------------------------------------------------------------------------------------

    def _set_up(self, connection: Connection) -> None:
        self.notes = session.check(connection, self.where)
        migrate(connection, self.statements, self.where)

    def _run(self, step: Step[T]) -> T:
        with wrapped(self.where):
            for attempt in range(_TRIES):
                try:
                    return self._try(step)
                except PASSING:
                    if attempt == _TRIES - 1:
                        raise
                    time.sleep(0.001 * 2**attempt)
        raise AssertionError("the last try returns or raises")

    def _try(self, step: Step[T]) -> T:
        with self._places:
            connection = self._borrow()
            try:
                return step(connection)
            finally:
                self._give_back(connection)

    def _borrow(self) -> Connection:
        while True:
            with self._lock:
                if self._is_closed:
                    raise StoreClosed(f"the store {self.where} was closed; open it anew by using the app again")
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                return self._connect()
            if session.is_fresh(connection):
                return connection
            self.end(connection)

    def _connect(self) -> Connection:
        connection = session.begin(self._conninfo)
        with self._lock:
            self._open.add(connection)
        return connection

    def _give_back(self, connection: Connection) -> None:
        is_whole = not connection.closed and connection.info.transaction_status == TransactionStatus.IDLE
        with self._lock:
            if is_whole and not self._is_closed:
                self._idle.append(connection)
                return
        self.end(connection)

    # --- forks ------------------------------------------------------------------------------------------

    def before_fork(self) -> None:
        self._lock.acquire()

    def after_fork_in_parent(self) -> None:
        self._lock.release()

    def after_fork_in_child(self) -> None:
        for connection in self._open:
            if not connection.closed:
                session.leave_behind(connection)
        self._begin()
