"""How sleepers are woken: one Condition, and a count of rings that a sleeper compares with the one it noted.

The count is what makes a wake-up impossible to miss. A sleeper notes it, looks at the shelves, and sleeps
only while the count is still the same: a push between the look and the sleep has moved it. Sleeps are cut
into naps of at most `LONGEST_NAP_S`, with another look after each: a step of the wall clock makes no job
later than that, and no wait is too long for the platform.
"""

import threading
import time
from collections.abc import Callable
from typing import Final

LONGEST_NAP_S: Final = 60.0

Look = Callable[[], float | None]
"""Gives the seconds until the next look: 0 or less if there is something now, None if nobody knows."""


class Bell:
    """Wakes those that wait for work and those that watch for ends."""

    def __init__(self, lock: "threading.RLock") -> None:
        self._condition = threading.Condition(lock)
        self._rings = 0
        self._alarms = 0
        self._sleepers = 0
        self._watchers = 0
        self._is_alarm_kept = False
        self._is_closed = False

    def ring(self) -> None:
        """Tell that there may be something to claim."""
        with self._condition:
            self._rings += 1
            self._condition.notify_all()

    def ring_for_watchers(self) -> None:
        """Tell that a job has ended. Costs nothing when nobody watches."""
        if self._watchers:
            self.ring()

    def alarm(self) -> None:
        """End every sleep that is under way, or the next one if none is."""
        with self._condition:
            if self._sleepers:
                self._alarms += 1
            else:
                self._is_alarm_kept = True
            self._condition.notify_all()

    def close(self) -> None:
        """End every sleep, now and from now on."""
        with self._condition:
            self._is_closed = True
            self._condition.notify_all()

    def sleep(self, look: Look, timeout_s: float, *, is_watcher: bool = False) -> None:
        """Sleep until `look` finds something, an alarm goes off, the bell closes, or the time is over.

        `look` takes locks of its own: the bell's lock is not held meanwhile.
        """
        deadline = time.monotonic() + timeout_s
        with self._condition:
            alarms = self._enter(is_watcher)
        try:
            while True:
                rings = self._rings
                pause = look()
                left = deadline - time.monotonic()
                nap = min(left, LONGEST_NAP_S if pause is None else pause, LONGEST_NAP_S)
                if nap <= 0 or not self._nap(nap, rings, alarms):
                    return
        finally:
            with self._condition:
                self._leave(is_watcher)

    def _nap(self, nap_s: float, rings: int, alarms: int) -> bool:
        """Sleep for so long, or until rung. Return whether to go on sleeping."""
        with self._condition:
            self._condition.wait_for(lambda: self._rings != rings or self._is_roused(alarms), nap_s)
            return not self._is_roused(alarms)

    def _is_roused(self, alarms: int) -> bool:
        return self._is_closed or self._alarms != alarms

    def _enter(self, is_watcher: bool) -> int:
        alarms = self._alarms - self._is_alarm_kept
        self._is_alarm_kept = False
        self._sleepers += 1
        self._watchers += is_watcher
        return alarms

    def _leave(self, is_watcher: bool) -> None:
        self._sleepers -= 1
        self._watchers -= is_watcher
