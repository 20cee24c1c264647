"""Telling other processes, after the commit and beside it.

A NOTIFY inside a transaction makes its commit queue up behind all others of the server, so none is ever sent inside a
push. A thread sends them in a statement of their own: the first at once, then at most one every few milliseconds,
however many pushes there are. A process that dies before has stored everything and told nobody; the waiters' slow look
finds it.
"""

import atexit
import os
import threading
import weakref
from typing import Final

from holdfast.errors import StoreError
from holdfast.store.postgres.database import Database
from holdfast.store.postgres.notices import Kind, channel
from holdfast.store.postgres.schema import Connection

PAUSE_S: Final = 0.003
_PATIENCE_S: Final = 1.0


class Ringer:
    """Sends notices from a thread of its own, which the first one starts."""

    def __init__(self, database: Database, origin: str) -> None:
        self._db = database
        self._origin = origin
        self._changed = threading.Condition()
        self._pending: set[tuple[Kind, str]] = set()
        self._is_over = False
        self._thread: threading.Thread | None = None

    def ring(self, kind: Kind, news: str) -> None:
        with self._changed:
            if self._is_over:
                return
            self._pending.add((kind, news))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="holdfast-ringer", daemon=True)
                self._thread.start()
                _close_at_exit(self)
            self._changed.notify()

    def close(self) -> None:
        """Send what is pending, and end."""
        with self._changed:
            self._is_over = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(_PATIENCE_S)

    def _run(self) -> None:
        while self._send(self._next()):
            with self._changed:
                self._changed.wait_for(lambda: self._is_over, PAUSE_S)

    def _next(self) -> set[tuple[Kind, str]]:
        with self._changed:
            self._changed.wait_for(lambda: self._pending or self._is_over)
            pending, self._pending = self._pending, set()
            return pending

    def _send(self, notices: set[tuple[Kind, str]]) -> bool:
        """Send the notices, and tell whether to go on: none are given only at the end."""
        if not notices:
            return False
        names = [channel(self._db.statements.namespace, kind) for kind, _ in notices]
        signs = [f"{news}{self._origin}" for _, news in notices]

        def notify(connection: Connection) -> None:
            connection.execute("select pg_notify(c, n) from unnest(%s::text[], %s::text[]) as t (c, n)", (names, signs))

        try:
            self._db.do(notify)
        except StoreError:
            return True  # nothing is lost: those who wait look for themselves
        return True


def _close_at_exit(ringer: Ringer) -> None:
    """Let a program that pushes and ends be heard, without keeping the ringer alive for it."""
    known, owner = weakref.ref(ringer), os.getpid()

    def close() -> None:
        one = known()
        if one is not None and os.getpid() == owner:  # a forked child may find it locked for ever
            one.close()

    atexit.register(close)
