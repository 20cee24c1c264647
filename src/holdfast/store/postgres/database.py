"""The sessions of one process with one database, and the steps done in them.

A step borrows a session, does its work, and gives it back. There are at most `SESSIONS` of them; who finds all of them
lent waits. A write of several statements is one transaction: all of it, or nothing. A single statement is one by
itself.

**Broken lines.** A session that the server has ended is noticed before it is used, and replaced. One that breaks inside
a step is thrown away, and the step raises: whether its commit was reached nobody knows, and the caller repeats it (see
the protocol). The next step opens a new session. Nothing has to be told that the server is back.

**Others.** A deadlock or a failed serialisation rolls the step back and is no one's fault: it is done again.

**Poolers.** Behind a pooler every step is a transaction, also one of a single statement: see `session`.

**Fork.** A child lets go of its parent's sessions, without a word to the server, and opens its own.
"""

import threading
import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

from psycopg.pq import TransactionStatus

from holdfast.errors import StoreClosed, StoreUnavailable
from holdfast.store.forking import tell_of_forks
from holdfast.store.postgres import session
from holdfast.store.postgres.address import Address
from holdfast.store.postgres.failures import PASSING, wrapped
from holdfast.store.postgres.schema import Connection, Statements, migrate

T = TypeVar("T")
Step = Callable[[Connection], T]

SESSIONS: Final = 8
_TRIES: Final = 10


class Database:
    """One namespace of one PostgreSQL database, as this process uses it."""

    def __init__(self, address: Address, namespace: str) -> None:
        self.where = address.shown
        self.statements = Statements(namespace)
        self.notes: tuple[str, ...] = ()
        self.is_pooled = False
        self._address = address
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
            with session.transaction(connection):
                return step(connection)

        return self._run(whole)

    def do(self, step: Step[T]) -> T:
        """Do a step of one statement, or one that only reads: each statement may be a transaction by itself."""
        return self.write(step) if self.is_pooled else self._run(step)

    def session(self) -> Connection:
        """Open a session that the caller keeps and closes. It counts as open here, so that a fork leaves it behind."""
        with wrapped(self.where):
            return self._connect(self._address.conninfo)

    @property
    def can_listen(self) -> bool:
        """Tell whether notices can be heard: not through a pooler, which gives them to whoever comes next."""
        return not self.is_pooled or self._address.direct is not None

    def listening_session(self) -> Connection:
        """Open a session, past any pooler, that the caller keeps and closes."""
        with wrapped(self.where):
            connection = self._connect(self._address.direct or self._address.conninfo)
            if session.is_pooled(connection):
                self.end(connection)
                raise StoreUnavailable(
                    f"direct= of {self.where} leads to a pooler; give the server's own host and port"
                )
            return connection

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
        self.is_pooled = session.is_pooled(connection)
        with session.transaction(connection):
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
                return self._connect(self._address.conninfo)
            if session.is_fresh(connection):
                return connection
            self.end(connection)

    def _connect(self, conninfo: dict[str, Any]) -> Connection:
        is_pooled = self._address.is_pooled if conninfo is self._address.conninfo else None
        connection = session.begin(conninfo, is_pooled)
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
