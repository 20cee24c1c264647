"""A clock that moves only when a test says so, and never backwards.

It is a `Clock` as every store takes it: called, it gives whole microseconds since 1970. A worker that sleeps on real
time until a job is due cannot see it move, so whoever sleeps is told of every move; `isolated` arranges that.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from holdfast.errors import InvalidInput
from holdfast.policy.moments import as_datetime, duration_us, moment_us


class VirtualClock:
    """A clock for tests: `Holdfast("memory://", clock=VirtualClock())`.

    It starts at the present moment, so that a job enqueued `at=` a moment in the next hour is due in the next hour.
    Give `start`, an aware datetime, where a test depends on the date.
    """

    def __init__(self, start: datetime | None = None) -> None:
        self._now_us = time.time_ns() // 1000 if start is None else moment_us(start, "start")
        self._lock = threading.Lock()
        self._hearers: list[Callable[[], object]] = []

    def __call__(self) -> int:
        return self._now_us

    @property
    def now(self) -> datetime:
        """The moment it is, in UTC."""
        return as_datetime(self._now_us)

    def advance(self, duration: float | timedelta) -> datetime:
        """Let so many seconds, or a timedelta, pass. Return the moment it is then."""
        span_us = duration_us(duration, "the duration to advance by")
        with self._lock:
            self._now_us += span_us
        return self._tell()

    def move_to(self, moment: datetime) -> datetime:
        """Make it this moment, an aware datetime that is not in the clock's past."""
        moment_in_us = moment_us(moment, "the moment to move to")
        with self._lock:
            if moment_in_us < self._now_us:
                raise InvalidInput(f"a clock does not go backwards: it is {self.now}, told to move to {moment}")
            self._now_us = moment_in_us
        return self._tell()

    @contextmanager
    def telling(self, hearer: Callable[[], object]) -> Iterator[None]:
        """Call `hearer` after every move, for as long as the block lasts. For those who sleep by this clock."""
        self._hearers.append(hearer)
        try:
            yield
        finally:
            self._hearers.remove(hearer)

    def _tell(self) -> datetime:
        for hearer in tuple(self._hearers):
            hearer()
        return self.now

    def __repr__(self) -> str:
        return f"<VirtualClock at {self.now}>"
