"""Until when this worker's lease can be relied on, in a page that supervisor and guard share; and the guard's keeper.

The moment is written with every renewal; beside it stands how much longer the guard waits for the supervisor to act.
Whoever reads it needs nobody's answer: a supervisor whose store thread hangs reads it to stop its children in time (I12),
and the guard reads it to do the same for a supervisor that hangs as a whole.
"""

import contextlib
import mmap
import os
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Iterable
from typing import Final

from holdfast.worker import guard
from holdfast.worker.guard import PAGE_BYTES, boot_us
from holdfast.worker.ledger import shared_memory

_MOMENTS: Final = struct.Struct("=qq")
_NEVER_S: Final = 1e9


class Pulse:
    """The page, and the guard process that reads it. The guard is started, and started again, by `keep_guard`."""

    def __init__(self, patience_s: float) -> None:
        self._patience_us = int(patience_s * 1e6)
        self._fd = shared_memory("holdfast-pulse", PAGE_BYTES)
        self._page = mmap.mmap(self._fd, PAGE_BYTES)
        self._guard: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None
        self.renew(_NEVER_S)

    def renew(self, seconds: float) -> None:
        """Say that the lease is good for so long from now."""
        was_far = self.left_s() > _NEVER_S / 2
        _MOMENTS.pack_into(self._page, 0, boot_us() + int(seconds * 1e6), self._patience_us)
        if was_far and self._channel is not None:
            with contextlib.suppress(OSError):  # the guard is gone: the next one reads the page when it starts
                self._channel.send(b"r")  # it sleeps until a moment that is far away

    def left_s(self) -> float:
        """Tell for how long the lease is still good."""
        return float(_MOMENTS.unpack_from(self._page, 0)[0] - boot_us()) / 1e6

    @property
    def guard_pid(self) -> int | None:
        return None if self._guard is None else self._guard.pid

    def keep_guard(self, children: Iterable[int]) -> None:
        """Start the guard if there is none (it was never started, or someone killed it), over these children's pidfds."""
        if not hasattr(signal, "pidfd_send_signal"):
            return  # not on Linux: the closed channel alone ends the children
        if self._guard is not None and self._guard.poll() is None:
            return
        self._let_go()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            fds = (theirs.fileno(), self._fd)
            command = [sys.executable, "-I", "-S", guard.__file__, *map(str, fds)]
            self._guard = subprocess.Popen(  # noqa: S603  our own script
                command, pass_fds=fds, stdin=subprocess.DEVNULL, start_new_session=True
            )
        self._channel = ours
        for child in children:
            self.watch(child)

    def watch(self, pidfd: int) -> None:
        """Put a child under the guard's eye."""
        if self._channel is not None:
            with contextlib.suppress(OSError):  # the guard is gone: the next one is told of all children
                socket.send_fds(self._channel, [b"c"], [pidfd])

    def close(self) -> None:
        """End the guard. To be called when the children have ended."""
        self._let_go()
        if self._guard is not None:
            try:
                self._guard.wait(2.0)
            except subprocess.TimeoutExpired:
                self._guard.send_signal(signal.SIGKILL)
                self._guard.wait()
        self._page.close()
        os.close(self._fd)

    def _let_go(self) -> None:
        if self._channel is not None:
            self._channel.close()
            self._channel = None
