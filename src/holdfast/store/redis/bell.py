"""How sleepers are woken: a count of rings, compared with the one a sleeper noted, and a thread that hears the server.

The count is what makes a wake-up impossible to miss within the process. A sleeper notes it, looks, and sleeps only
while the count is still the same. What happens elsewhere is heard from the server; a message can be lost there (a
broken connection, a node that died), so sleeps are cut into naps of at most `LOOK_S`, with another look after each.

A bell has its ear (a thread and a connection) only while somebody sleeps, and a little longer: a process that never
waits has none, and one that has stopped watching does not go on hearing of every job's end.
"""

import threading
import time
from collections.abc import Callable
from typing import Final

import redis
from redis.exceptions import RedisError

from holdfast.errors import StoreError
from holdfast.store.forking import tell_of_forks
from holdfast.store.redis.keys import EVERYBODY
from holdfast.store.redis.link import Link

LOOK_S: Final = 0.5
"""How long a sleeper sleeps at most before it looks for itself: what bounds a message that was lost."""
_LOOK_AROUND_S: Final = 0.25
"""How long an ear that has lost its server rests before it tries again, where there are several at another."""
_LINGER_S: Final = 5.0
_LISTENING_S: Final = 1.0

Look = Callable[[], float | None]
"""Gives the seconds until the next look: 0 or less if there is something now, None if nobody knows."""


class Bell:
    """Wakes those in this process that sleep for what one channel tells."""

    def __init__(self, link: Link, channel: str) -> None:
        self._link = link
        self._channel = channel
        self._is_closed = False
        self._begin()

    def _begin(self) -> None:
        self._condition = threading.Condition()
        self._listening = threading.Event()
        self._ear: threading.Thread | None = None
        self._rings = 0
        self._alarms = 0
        self._sleepers = 0
        self._last_sleep_s = 0.0

    def ring(self) -> None:
        """Have every sleeper look."""
        with self._condition:
            self._rings += 1
            self._condition.notify_all()

    def alarm(self) -> bool:
        """End every sleep that is under way. Return whether there was one."""
        with self._condition:
            self._alarms += 1
            self._condition.notify_all()
            return self._sleepers > 0

    def close(self) -> None:
        """End every sleep, now and from now on."""
        with self._condition:
            self._is_closed = True
            self._condition.notify_all()

    def sleep(self, look: Look, timeout_s: float) -> None:
        """Sleep until `look` finds something, an alarm goes off, the bell closes, or the time is over."""
        deadline = time.monotonic() + timeout_s
        with self._condition:
            self._sleepers += 1
            alarms = self._alarms
        try:
            while True:
                rings = self._rings
                pause_s = look()
                nap_s = min(deadline - time.monotonic(), LOOK_S if pause_s is None else pause_s, LOOK_S)
                if nap_s <= 0 or not self._nap(nap_s, rings, alarms):
                    return
        finally:
            with self._condition:
                self._sleepers -= 1
                self._last_sleep_s = time.monotonic()

    def before_fork(self) -> None:
        self._condition.acquire()

    def after_fork_in_parent(self) -> None:
        self._condition.release()

    def after_fork_in_child(self) -> None:
        self._begin()  # sleepers and ear are threads of the parent

    def _nap(self, nap_s: float, rings: int, alarms: int) -> bool:
        """Sleep for so long, or until rung. Return whether to go on sleeping."""
        if self._prick_up():
            return not self._is_roused(alarms)  # heard from now on: look once more for what came before
        with self._condition:
            self._condition.wait_for(lambda: self._rings != rings or self._is_roused(alarms), nap_s)
            return not self._is_roused(alarms)

    def _is_roused(self, alarms: int) -> bool:
        return self._is_closed or self._alarms != alarms

    def _prick_up(self) -> bool:
        """See to it that there is an ear. Return whether it has only now begun to hear."""
        with self._condition:
            if self._ear is not None or self._is_closed:
                return False
            self._listening = threading.Event()
            self._ear = threading.Thread(target=self._hear, args=(self._listening,), name="holdfast-bell", daemon=True)
            self._ear.start()
        return self._listening.wait(_LISTENING_S)

    def _hear(self, listening: threading.Event) -> None:
        while self._is_wanted():
            try:
                self._hear_at(self._link.listener(), listening)  # perhaps at another server than before
                return
            except (RedisError, OSError, StoreError):
                time.sleep(_LOOK_AROUND_S)  # nothing is lost: sleepers look for themselves meanwhile

    def _hear_at(self, client: "redis.Redis", listening: threading.Event) -> None:
        """Hear until that is not wanted any more, or the line breaks."""
        try:
            with client.pubsub() as channel:  # type: ignore[no-untyped-call] # redis-py leaves it untyped
                channel.subscribe(self._channel)
                while self._is_wanted():
                    message = channel.get_message(timeout=LOOK_S)
                    if message is not None:
                        listening.set()
                        self._heard(message["data"])
        finally:
            client.close()

    def _heard(self, told: object) -> None:
        if told == EVERYBODY:
            self.alarm()
        else:
            self.ring()

    def _is_wanted(self) -> bool:
        """Tell whether to go on hearing. The one that is told no is the ear no more."""
        with self._condition:
            is_idle = self._sleepers == 0 and time.monotonic() - self._last_sleep_s > _LINGER_S
            if self._is_closed or is_idle:
                self._ear = None
                return False
            return True


class Bells:
    """The two bells of a store, and the alarm that is kept for the next sleeper if there is none."""

    def __init__(self, link: Link) -> None:
        self.work = Bell(link, link.keys.bell)
        self.over = Bell(link, link.keys.over)
        self._begin()
        tell_of_forks(self)

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._is_alarm_kept = False

    def wake(self) -> None:
        """End every sleep that is under way, or the next one if none is."""
        with self._lock:
            rung = [self.work.alarm(), self.over.alarm()]
            self._is_alarm_kept = not any(rung)

    def take_alarm(self) -> bool:
        """Tell whether an alarm was kept for the one who asks, and use it up."""
        with self._lock:
            was_kept, self._is_alarm_kept = self._is_alarm_kept, False
            return was_kept

    def close(self) -> None:
        self.work.close()
        self.over.close()

    def before_fork(self) -> None:
        self._lock.acquire()
        self.work.before_fork()
        self.over.before_fork()

    def after_fork_in_parent(self) -> None:
        self.over.after_fork_in_parent()
        self.work.after_fork_in_parent()
        self._lock.release()

    def after_fork_in_child(self) -> None:
        self.work.after_fork_in_child()
        self.over.after_fork_in_child()
        self._begin()
