"""Which claims a child has started, and by when they must have ended: kept in memory that outlives the child.

A child is sent claims ahead of time. When it dies, the jobs it was running are charged with a crash and the ones it had
not started are not. Nobody can ask a dead process, so it writes, before a task's first line runs, the time into the
claim's place in a page that it shares with its supervisor; and beside it, once the task's limit is known, the moment at
which the supervisor is to kill it. Eight bytes at an aligned place: written whole, read whole.
"""

import mmap
import os
import struct
import tempfile
import time
from typing import Final

PLACES: Final = 4096
_MOMENT: Final = struct.Struct("=q")
_BYTES: Final = 2 * PLACES * _MOMENT.size


class Ledger:
    """One child's page: for each place two monotonic times in microseconds, 0 for not started and for no deadline."""

    def __init__(self, fd: int) -> None:
        self._page = mmap.mmap(fd, _BYTES)
        self._moments = memoryview(self._page).cast("q")

    @staticmethod
    def create() -> tuple["Ledger", int]:
        """Make a page; the descriptor is for the child to inherit."""
        fd = shared_memory("holdfast-ledger", _BYTES)
        return Ledger(fd), fd

    def start(self, place: int) -> None:
        self._moments[place] = monotonic_us()

    def set_deadline(self, place: int, moment_us: int) -> None:
        self._moments[PLACES + place] = moment_us

    def clear(self, place: int) -> None:
        self._moments[place] = 0
        self._moments[PLACES + place] = 0

    def started_us(self, place: int) -> int:
        """Tell when the claim at this place was started, 0 if it was not."""
        return self._moments[place]

    def deadline_us(self, place: int) -> int:
        """Tell when the run at this place is to be killed, 0 for never."""
        return self._moments[PLACES + place]

    def close(self) -> None:
        self._moments.release()
        self._page.close()


def monotonic_us() -> int:
    """Tell the time on the clock that all processes of one machine share and nobody sets."""
    return time.monotonic_ns() // 1000


def shared_memory(name: str, size: int) -> int:
    """Make a nameless file in memory, to be mapped by several processes. Give its descriptor."""
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create(name, os.MFD_CLOEXEC)
    else:  # a system without anonymous files
        with tempfile.TemporaryFile() as file:
            fd = os.dup(file.fileno())
    os.ftruncate(fd, size)
    return fd
