"""Which claims a child has started, and when: kept in memory that outlives the child.

A child is sent claims ahead of time. When it dies, the job it was running is charged with a crash and the ones it had not
started are not. Nobody can ask a dead process, so it writes, before a task's first line runs, the time into the claim's
place in a page that it shares with its supervisor. Eight bytes at an aligned place: written whole, read whole.
"""

import mmap
import os
import struct
import tempfile
import time
from typing import Final

PLACES: Final = 4096
_MOMENT: Final = struct.Struct("=q")


class Ledger:
    """One child's page: a monotonic time in microseconds for each place, 0 for not started."""

    def __init__(self, fd: int) -> None:
        self._page = mmap.mmap(fd, PLACES * _MOMENT.size)
        self._started = memoryview(self._page).cast("q")

    @staticmethod
    def create() -> tuple["Ledger", int]:
        """Make a page; the descriptor is for the child to inherit."""
        if hasattr(os, "memfd_create"):
            fd = os.memfd_create("holdfast-ledger", 0)
        else:  # a system without anonymous files
            with tempfile.TemporaryFile() as file:
                fd = os.dup(file.fileno())
        os.ftruncate(fd, PLACES * _MOMENT.size)
        return Ledger(fd), fd

    def start(self, place: int) -> None:
        self._started[place] = monotonic_us()

    def clear(self, place: int) -> None:
        self._started[place] = 0

    def started_us(self, place: int) -> int:
        """Tell when the claim at this place was started, 0 if it was not."""
        return self._started[place]

    def close(self) -> None:
        self._started.release()
        self._page.close()


def monotonic_us() -> int:
    """Tell the time on the clock that all processes of one machine share and nobody sets."""
    return time.monotonic_ns() // 1000
