"""The guard: a small process that ends the children when their supervisor no longer can.

A supervisor that hangs or is stopped (SIGSTOP) does not renew its lease. When the lease has ended, another worker takes its
jobs, and by then nothing may run on here. A child cannot be trusted with its own end: it may sit in a call that never
returns to the interpreter. So this process holds a descriptor of each child and reads, from a page that it shares with the
supervisor, until when the lease is good. Past that moment it kills them all.

    a packet arrives        it brings a child's descriptor, or only says: read the page again
    the page says later     sleep until then, and read it again
    the moment has passed   kill every child, keep watching for new ones (the supervisor, if it can, does so a little sooner)
    the channel has ended   the supervisor is gone: kill every child, end

It runs as a plain script with nothing but the standard library, in a session of its own: what stops the supervisor's
terminal does not stop it. If it is killed itself, the supervisor starts another one.
"""

import contextlib
import mmap
import os
import select
import signal
import socket
import struct
import sys
import time

PAGE_BYTES = 4096
_MOMENTS = struct.Struct("=qq")
_FAR_MS = 60_000


def main(channel_fd: int, page_fd: int) -> None:
    """Watch until the supervisor is gone."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
        signal.signal(number, signal.SIG_IGN)
    channel = socket.socket(fileno=channel_fd)
    page = mmap.mmap(page_fd, PAGE_BYTES, access=mmap.ACCESS_READ)
    children: set[int] = set()
    poll = select.poll()
    poll.register(channel, select.POLLIN)
    while True:
        for fd, _ in poll.poll(_pause_ms(page) if children else _FAR_MS):
            if fd in children:
                _drop(fd, children, poll)
            else:
                is_open, added = _receive(channel)
                for child in added:
                    children.add(child)
                    poll.register(child, select.POLLIN)
                if not is_open:
                    _kill(children, poll)
                    return
        if _left_us(page) <= 0:
            _kill(children, poll)


def _left_us(page: mmap.mmap) -> int:
    moment_us, patience_us = _MOMENTS.unpack_from(page, 0)
    left_us: int = moment_us + patience_us - boot_us()
    return left_us


def _pause_ms(page: mmap.mmap) -> int:
    return min(max(_left_us(page) // 1000 + 1, 1), _FAR_MS)


def _receive(channel: socket.socket) -> tuple[bool, list[int]]:
    """Tell whether the supervisor is there, and give the descriptor of a new child if it sent one."""
    try:
        packet, descriptors, _, _ = socket.recv_fds(channel, 1, 1)
    except OSError:
        return False, []
    return bool(packet), descriptors


def _kill(children: set[int], poll: select.poll) -> None:
    for child in list(children):
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(child, signal.SIGKILL)
        _drop(child, children, poll)


def _drop(child: int, children: set[int], poll: select.poll) -> None:
    poll.unregister(child)
    children.discard(child)
    os.close(child)


def boot_us() -> int:
    """Tell the time since boot, suspension included, in microseconds."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
