"""Hearing what other processes tell, on a session of its own.

A thread, started by the first waiter, keeps one session that is never inside a transaction and always read, so it holds
up neither vacuum nor the server's queue of notices. It listens to the kinds that someone here has waited for. If the
line breaks it is opened again, with growing pauses. Whenever listening (anew) begins, every waiter is rung: what was
missed until then, its look will find.

Behind a pooler there is no such session, unless the URL says where the server itself is (`direct=`). Without it nobody
listens, and waiters go by their own slow look.
"""

import contextlib
import logging
import os
import select
import threading
from collections.abc import Callable
from typing import Final

import psycopg
from psycopg import sql

from holdfast.errors import StoreError
from holdfast.store.postgres.database import Database
from holdfast.store.postgres.notices import LOOK, Kind, channel
from holdfast.store.postgres.schema import Connection

log = logging.getLogger("holdfast.store")

_PATIENCE_S: Final = 1.0
_FIRST_PAUSE_S: Final = 0.05
_LONGEST_PAUSE_S: Final = 5.0


class Listener:
    """Listens in a thread of its own, and tells `hear` of what it hears."""

    def __init__(self, database: Database, origin: str, hear: Callable[[Kind, str], None]) -> None:
        self._db = database
        self._origin = origin
        self._hear = hear
        self._wanted: set[Kind] = set()
        self._is_over = False
        self._thread: threading.Thread | None = None
        self._pipe: tuple[int, int] | None = None

    def want(self, kind: Kind) -> None:
        """Listen to this kind from now on."""
        if kind in self._wanted or not self._db.can_listen:
            return
        self._wanted = self._wanted | {kind}
        if self._thread is None:
            self._pipe = os.pipe()
            for end in self._pipe:
                os.set_blocking(end, False)
            self._thread = threading.Thread(target=self._run, name="holdfast-listener", daemon=True)
            self._thread.start()
        self._poke()

    def close(self) -> None:
        self._is_over = True
        if self._thread is not None and self._pipe is not None:
            self._poke()
            self._thread.join(_PATIENCE_S)
            if not self._thread.is_alive():
                self.leave_behind()

    def leave_behind(self) -> None:
        """Close the pipe. In a forked child there is no thread, and the parent has a pipe of its own."""
        pipe, self._pipe = self._pipe, None
        for end in pipe or ():
            os.close(end)

    def _poke(self) -> None:
        if self._pipe is not None:
            with contextlib.suppress(BlockingIOError):  # full: it is poked already
                os.write(self._pipe[1], b".")

    def _run(self) -> None:
        pause_s = _FIRST_PAUSE_S
        while not self._is_over:
            try:
                connection = self._db.listening_session()
            except StoreError as error:
                if pause_s == _FIRST_PAUSE_S:  # once for each time the line is down
                    log.warning("no notices can be heard, so waiters look every half second: %s", error)
                self._sleep(pause_s)
                pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)
                continue
            pause_s = _FIRST_PAUSE_S
            try:
                self._listen(connection)
            except psycopg.Error:
                self._sleep(pause_s)  # the line broke; nothing is lost: those who wait look for themselves
            finally:
                self._db.end(connection)

    def _listen(self, connection: Connection) -> None:
        listened: set[Kind] = set()
        while not self._is_over:
            for kind in self._wanted - listened:
                connection.execute(sql.SQL("listen {}").format(sql.Identifier(self._channel(kind))))
                listened.add(kind)
                self._hear(kind, LOOK)
            self._sleep(None, connection.fileno())
            connection.pgconn.consume_input()
            while notice := connection.pgconn.notifies():
                self._tell(notice.relname.decode(), notice.extra.decode())

    def _tell(self, name: str, told: str) -> None:
        news, origin = told[:1], told[1:]
        for kind in self._wanted:
            if name == self._channel(kind) and origin != self._origin:
                self._hear(kind, news)

    def _channel(self, kind: Kind) -> str:
        return channel(self._db.statements.namespace, kind)

    def _sleep(self, timeout_s: float | None, *others: int) -> None:
        """Sleep until the time is up, someone pokes, or one of the others has something to read."""
        assert self._pipe is not None
        poll = select.poll()
        for fd in (self._pipe[0], *others):
            poll.register(fd, select.POLLIN)
        poll.poll(None if timeout_s is None else timeout_s * 1000)
        with contextlib.suppress(BlockingIOError):
            os.read(self._pipe[0], 4096)
