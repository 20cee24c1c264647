"""A limit on how long a task may take: `TaskTimeout` is raised inside it, at the line it has reached.

    main thread     a real timer and SIGALRM; interrupts system calls too
    other threads   an exception set from one watching thread; takes effect at the next bytecode,
                    so a call that blocks in C delays it until it returns
    asyncio         asyncio.timeout: takes effect at the next await

All of them are soft: a task that swallows the exception runs on. The hard limit is the worker's, which kills.

**The race.** A run may end at the very moment its limit does. The exception must then not hit what comes after:
disarming takes the lock under which the watching thread fires, and takes back an exception that is on its way.
"""

import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import FrameType
from typing import TYPE_CHECKING, Self

from holdfast.errors import TaskTimeout

if TYPE_CHECKING:
    import asyncio


class Limit:
    """How long a run may take; this one, as long as it likes. A context manager around the run."""

    def __init__(self, seconds: float | None = None) -> None:
        self._seconds = seconds
        self._until = None if seconds is None else time.monotonic() + seconds

    def seconds_left(self) -> float | None:
        """Tell how long the run may still take, None for as long as it likes."""
        return None if self._until is None else max(0.0, self._until - time.monotonic())

    def extend(self, seconds: float) -> None:
        """Give the run so much more time."""
        if self._seconds is not None and self._until is not None:
            self._seconds += seconds
            self._until += seconds
            self._rearm(self._until)

    def _rearm(self, until: float) -> None:
        """Let the alarm ring at that time instead."""

    def _timeout(self) -> str:
        return f"the task ran longer than its timeout of {self._seconds:g} s; give it a longer one, or split its work"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, _error: BaseException | None, _tb: object) -> None:
        """Disarm."""


def limit(seconds: float | None) -> Limit:
    """Raise TaskTimeout in this block once it has taken so long. None: no limit."""
    if seconds is None:
        return Limit()
    if threading.current_thread() is threading.main_thread():
        return _BySignal(seconds)
    return _ByWatch(seconds)


@asynccontextmanager
async def alimit(seconds: float | None) -> AsyncIterator[Limit]:
    """Raise TaskTimeout at the await this block has reached once it has taken so long. None: no limit."""
    import asyncio  # loaded by whoever runs coroutines

    try:
        async with asyncio.timeout(seconds) as timer:
            time_limit = _ByTimer(seconds, timer, asyncio.get_running_loop())
            yield time_limit
    except TimeoutError as error:
        if not timer.expired():
            raise  # the task's own
        raise TaskTimeout(time_limit._timeout()) from error


class _ByTimer(Limit):
    """The limit of a coroutine. May be extended from any thread."""

    def __init__(self, seconds: float | None, timer: "asyncio.Timeout", loop: "asyncio.AbstractEventLoop") -> None:
        super().__init__(seconds)
        self._timer = timer
        self._loop = loop

    def _rearm(self, until: float) -> None:
        self._loop.call_soon_threadsafe(self._timer.reschedule, self._loop.time() + until - time.monotonic())


class _BySignal(Limit):
    """The limit in the main thread. Puts back whatever handler and timer it found."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self._is_armed = True

    def __enter__(self) -> Self:
        import signal

        self._began = time.monotonic()
        self._left, self._interval = signal.getitimer(signal.ITIMER_REAL)
        self._former = signal.getsignal(signal.SIGALRM)
        signal.signal(signal.SIGALRM, self._ring)
        self._rearm(self._began + (self._seconds or 0))
        return self

    def __exit__(self, _kind: object, _error: BaseException | None, _tb: object) -> None:
        if self._is_armed:
            self._put_back()

    def _rearm(self, until: float) -> None:
        import signal

        if self._is_armed:
            signal.setitimer(signal.ITIMER_REAL, max(until - time.monotonic(), 1e-6))

    def _ring(self, _signal: int, _frame: FrameType | None) -> None:
        # It may ring on any line: in the task, inside __enter__, before the first line of __exit__. So whoever rings
        # puts everything back; nobody behind it can be relied on to.
        if self._is_armed:
            self._put_back()
            raise TaskTimeout(self._timeout())

    def _put_back(self) -> None:
        import signal

        self._is_armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL if self._former is None else self._former)
        if self._left:  # somebody's own alarm: held up by us perhaps, never swallowed
            left = self._left - (time.monotonic() - self._began)
            signal.setitimer(signal.ITIMER_REAL, max(left, 1e-6), self._interval)


class _ByWatch(Limit):
    """The limit in any other thread."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self._watch = _Watch.of_this_process()
        self._guard = _Guard(threading.get_ident(), time.monotonic() + seconds)

    def __enter__(self) -> Self:
        self._watch.add(self._guard)
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _tb: object) -> None:
        try:
            self._watch.drop(self._guard)
            self._guard.disarm()
        except TaskTimeout as late:  # on the last lines: the block was over, and so was its time
            self._explain(late)
            raise
        self._explain(error)

    def _explain(self, error: BaseException | None) -> None:
        if isinstance(error, TaskTimeout) and self._guard.has_fired and not error.args:
            error.args = (self._timeout(),)  # the interpreter raised it as a bare class

    def _rearm(self, until: float) -> None:
        # The guard is out of the watch's hands while its time changes: it cannot fire by the old one.
        self._watch.drop(self._guard)
        if not self._guard.has_fired:
            self._guard.until = until
            self._watch.add(self._guard)


class _Guard:
    """One thread's limit: fires at most once, and never after it was disarmed."""

    __slots__ = ("_is_armed", "_lock", "has_fired", "thread", "until")

    def __init__(self, thread: int, until: float) -> None:
        self.thread = thread
        self.until = until
        self.has_fired = False
        self._is_armed = True
        self._lock = threading.Lock()

    def fire(self) -> None:
        with self._lock:
            if self._is_armed:
                self.has_fired = True
                _raise_in(self.thread, TaskTimeout)

    def disarm(self) -> None:
        with self._lock:
            self._is_armed = False
            if self.has_fired:
                _raise_in(self.thread, None)  # if it is still on its way, it is taken back


class _Watch:
    """The thread that watches all limits of a process. Sleeps until the earliest one, for ever if there is none."""

    _of_process: "tuple[int, _Watch] | None" = None
    _making = threading.Lock()

    def __init__(self) -> None:
        # Watched threads hold this lock by `with` on the lock itself, never on the Condition: its __enter__ is Python,
        # and an exception that arrives inside it would leave the lock held for ever.
        self._lock = threading.Lock()
        self._stirred = threading.Condition(self._lock)
        self._guards: set[_Guard] = set()
        self._alarm = float("inf")
        threading.Thread(target=self._run, name="holdfast-timeouts", daemon=True).start()

    @classmethod
    def of_this_process(cls) -> "_Watch":
        import os

        found = cls._of_process
        if found is None or found[0] != os.getpid():  # threads do not survive a fork
            with cls._making:
                found = cls._of_process
                if found is None or found[0] != os.getpid():
                    found = cls._of_process = (os.getpid(), cls())
        return found[1]

    def add(self, guard: _Guard) -> None:
        with self._lock:
            self._guards.add(guard)
            if guard.until < self._alarm:
                self._stirred.notify()

    def drop(self, guard: _Guard) -> None:
        with self._lock:
            self._guards.discard(guard)

    def _run(self) -> None:
        while True:
            for guard in self._overdue():
                guard.fire()

    def _overdue(self) -> list[_Guard]:
        """Sleep until a limit is reached, or a nearer one is added."""
        with self._stirred:
            self._alarm = min((guard.until for guard in self._guards), default=float("inf"))
            pause = self._alarm - time.monotonic()
            if pause > 0:
                self._stirred.wait(min(pause, threading.TIMEOUT_MAX))
            now = time.monotonic()
            over = [guard for guard in self._guards if guard.until <= now]
            self._guards.difference_update(over)
            return over


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    import ctypes  # 5 ms that a program without such a limit does not need

    exception = None if error is None else ctypes.py_object(error)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), exception)
