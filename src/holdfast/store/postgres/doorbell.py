"""Waking those who wait, in this process and in all others.

There are three kinds of bells: `work` rings when something may be claimable, `done` when a job has ended, `room` when a
queue that was full may have room. Waiters of this process are rung directly. Those of others hear of it by NOTIFY (see
`ringer` and `listener`).

No wake-up is lost in between: a waiter takes its bell first, then looks at the store, then sleeps; what rings after the
look still counts. If notices cannot be had at all (the line is down, a pooler stands between), the waiters' slow look
at the store still makes progress: a bell is a hint, never the truth.
"""

import os
import threading
from typing import Final

from holdfast.store.forking import tell_of_forks
from holdfast.store.postgres.database import Database
from holdfast.store.postgres.listener import Listener
from holdfast.store.postgres.notices import NEWS, WAKE, Kind
from holdfast.store.postgres.ringer import Ringer

LOOK_S: Final = 0.5
"""How long a waiter sleeps at most before it looks for itself: what bounds a push that rang no bell."""


class Bell:
    """One waiter's bell."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self._rang = threading.Event()
        self._news = ""

    def ring(self, news: str) -> None:
        self._news = WAKE if WAKE in (news, self._news) else news
        self._rang.set()

    def listen(self, timeout_s: float) -> str:
        """Sleep until the bell rings or the time is up; return what rang."""
        if not self._rang.wait(max(0.0, timeout_s)):
            return ""
        self._rang.clear()
        news, self._news = self._news, ""
        return news


class Doorbell:
    """All bells of one namespace: rings everyone's, lends ours to waiters."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._is_closed = False
        self._begin()
        tell_of_forks(self)

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._lent: set[Bell] = set()
        self._wake_next = False
        origin = os.urandom(6).hex()
        self._ringer = Ringer(self._db, origin)
        self._listener = Listener(self._db, origin, self._hear)

    def lend(self, kind: Kind) -> Bell | None:
        """Give a bell to a waiter, or None if it must not sleep: someone has called `wake`."""
        with self._lock:
            if self._wake_next:
                self._wake_next = False
                return None
            bell = Bell(kind)
            self._lent.add(bell)
            if not self._is_closed:
                self._listener.want(kind)
            return bell

    def give_back(self, bell: Bell) -> None:
        with self._lock:
            self._lent.discard(bell)

    def wake(self) -> None:
        """End the waits of this process, or the next one if there is none."""
        with self._lock:
            self._wake_next = not self._lent
            for bell in self._lent:
                bell.ring(WAKE)

    def ring(self, kind: Kind, news: str = NEWS) -> None:
        """Tell every waiter of this kind, in all processes. Returns at once."""
        with self._lock:
            self._ring_here(kind, news)
            if not self._is_closed:
                self._ringer.ring(kind, news)

    def flush(self) -> None:
        """Wait, briefly, until the others have been told."""
        self._ringer.close()

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            for bell in self._lent:
                bell.ring(WAKE)
        self._listener.close()

    def before_fork(self) -> None:
        self._lock.acquire()

    def after_fork_in_parent(self) -> None:
        self._lock.release()

    def after_fork_in_child(self) -> None:
        self._listener.leave_behind()
        self._begin()

    def _hear(self, kind: Kind, news: str) -> None:
        with self._lock:
            self._ring_here(kind, news)

    def _ring_here(self, kind: Kind, news: str) -> None:
        for bell in self._lent:
            if bell.kind == kind:
                bell.ring(news)
