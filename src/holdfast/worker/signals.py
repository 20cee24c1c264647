"""Signals to a supervisor, as orders that its main thread takes when it is ready to.

| signal           | order                                                                    |
|------------------|--------------------------------------------------------------------------|
| SIGTERM, SIGINT  | stop: let running jobs end, up to the grace; the second one: hand back now |
| SIGUSR1          | print the stacks of this process and of its children                     |
| SIGTTIN, SIGTTOU | one child more, one child fewer                                          |
| SIGCHLD          | some process has ended                                                   |
"""

import contextlib
import os
import signal
from collections.abc import Iterator
from types import FrameType
from typing import Final

_HEEDED: Final = (
    signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGTTIN, signal.SIGTTOU, signal.SIGCHLD,
)  # fmt: skip


class Signals:
    """Counts signals and rings a descriptor. Nothing else happens inside a handler."""

    def __init__(self) -> None:
        self.reader, self._writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self.stops = 0
        self.dumps = 0
        self.extra = 0
        self.must_die = True
        """Whether a stop ends the process at once, because there is nothing yet to stop in order."""

    @contextlib.contextmanager
    def heeded(self) -> Iterator[None]:
        """Take the signals for the length of the block."""
        former_fd = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        former = {number: signal.signal(number, self._take) for number in _HEEDED}
        try:
            yield
        finally:
            for number, handler in former.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(former_fd)
            os.close(self.reader)
            os.close(self._writer)

    def ring(self) -> None:
        """Wake whoever sleeps on the descriptor. Safe from any thread."""
        with contextlib.suppress(BlockingIOError, OSError):  # full: it rings already; closed: nobody sleeps any more
            os.write(self._writer, b".")

    def heard(self) -> None:
        """Empty the descriptor."""
        with contextlib.suppress(BlockingIOError):
            os.read(self.reader, 4096)

    def _take(self, number: int, _frame: FrameType | None) -> None:
        if number in (signal.SIGTERM, signal.SIGINT):
            self.stops += 1
            if self.must_die:
                raise KeyboardInterrupt
        elif number == signal.SIGUSR1:
            self.dumps += 1
        elif number in (signal.SIGTTIN, signal.SIGTTOU):
            self.extra += 1 if number == signal.SIGTTIN else -1
