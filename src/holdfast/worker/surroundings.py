"""What all runs of a child share, put back after each: working directory, signal handlers, standard output.

A task may change any of them, and the next one must not notice (I38). Looked at after every run, so each look is cheap: a
comparison with what was there at the start, and no work unless they differ.
"""

import contextlib
import io
import os
import signal
import sys
from typing import Any, Final, TextIO

_SIGNALS: Final = (
    signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM, signal.SIGUSR2, signal.SIGCHLD, signal.SIGPIPE,
)  # fmt: skip


class Surroundings:
    """The child's surroundings as they were when this was made. To be used from the main thread."""

    def __init__(self) -> None:
        self._folder = os.getcwd()  # noqa: PTH109  after every run: a quarter of the cost of Path.cwd
        self._handlers: dict[int, Any] = {number: signal.getsignal(number) for number in _SIGNALS}
        self._streams = [_Stream(name, fd) for name, fd in (("stdout", 1), ("stderr", 2))]

    def put_back(self) -> None:
        """Put back what differs."""
        self.put_back_shared()
        for number, handler in self._handlers.items():
            if signal.getsignal(number) is not handler:
                signal.signal(number, handler)

    def put_back_shared(self) -> None:
        """Put back what any thread may have changed."""
        try:
            is_elsewhere = os.getcwd() != self._folder  # noqa: PTH109  as above
        except FileNotFoundError:  # it stands in a folder that is gone
            is_elsewhere = True
        if is_elsewhere:
            os.chdir(self._folder)
        for stream in self._streams:
            stream.put_back()


class _Stream:
    """One of standard output and standard error: the descriptor and the object on top of it."""

    def __init__(self, name: str, fd: int) -> None:
        self._name = name
        self._fd = fd
        self._copy = os.dup(fd)
        self._file = _same(fd)
        self._object: TextIO = getattr(sys, name)

    def put_back(self) -> None:
        if _same(self._fd) != self._file:
            os.dup2(self._copy, self._fd)
        found = getattr(sys, self._name)
        if found is not self._object or found.closed:
            if self._object.closed:
                self._object = self._new_object()
            setattr(sys, self._name, self._object)

    def _new_object(self) -> TextIO:
        with contextlib.suppress(OSError):
            os.dup2(self._copy, self._fd)  # closing the object has closed the descriptor
        raw = open(self._fd, "wb", buffering=0, closefd=False)  # noqa: SIM115  it stays open for good
        return io.TextIOWrapper(raw, encoding="utf-8", errors="replace", line_buffering=True, write_through=True)


def _same(fd: int) -> tuple[int, int] | None:
    """Tell which file a descriptor leads to, None if it is closed."""
    try:
        found = os.fstat(fd)
    except OSError:
        return None
    return found.st_dev, found.st_ino
