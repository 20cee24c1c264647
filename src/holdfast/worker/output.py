"""What the children print: passed on as it is, and the last lines of each kept, in case it dies.

A child's standard output and error are pipes into the supervisor, read by one thread. If our own output has nowhere to go
(the terminal is gone, the pipe is closed), we read on: a child must not be killed or blocked by that.

When a child is dead, its last words may still be in the pipe: `last_lines` reads them first. What holds the pipe open
beyond that is a process that a task has left behind; it is heard as long as the child's successor has not been buried.
"""

import os
import selectors
import threading
from collections import deque
from typing import Final

import msgspec

LINES: Final = 20
_LONGEST_LINE: Final = 500
_CHUNK: Final = 65_536


class Pipes(msgspec.Struct, frozen=True):
    """The writing ends, for a child to inherit; close them here once it has."""

    out: int
    err: int

    def close(self) -> None:
        os.close(self.out)
        os.close(self.err)


class _Source(msgspec.Struct):
    """One pipe of one child: whose it is, where it goes, and the unfinished line."""

    child: int
    target: int
    rest: bytes = b""


class Output(threading.Thread):
    """Reads the output of all children."""

    def __init__(self) -> None:
        super().__init__(name="holdfast-output", daemon=True)
        self._lock = threading.Lock()
        self._selector = selectors.DefaultSelector()
        self._stirred, self._stirrer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._selector.register(self._stirred, selectors.EVENT_READ, None)
        self._tails: dict[int, deque[str]] = {}
        self._serial = 0
        self._is_closing = False

    def add(self) -> tuple[int, Pipes]:
        """Make the pipes of a new child. Give the number by which it is known here."""
        with self._lock:
            self._serial += 1
            child = self._serial
            self._tails[child] = deque(maxlen=LINES)
            ends = [self._listen(child, target) for target in (1, 2)]
        os.write(self._stirrer, b".")
        return child, Pipes(*ends)

    def last_lines(self, child: int) -> list[str]:
        """Give the last lines of a child that is dead, and forget it."""
        with self._lock:
            for fd, source in self._sources(child):
                while self._read(fd, source):
                    continue
                self._end_line(source)
                self._drop(fd)
            return list(self._tails.pop(child, ()))

    def run(self) -> None:
        while not self._is_closing:
            for key, _ in self._selector.select():
                with self._lock:
                    if key.data is None:
                        os.read(self._stirred, 100)
                    elif key.fd in self._selector.get_map() and self._read(key.fd, key.data) == b"":
                        self._end_line(key.data)
                        self._drop(key.fd)

    def close(self) -> None:
        """Stop reading, having passed on what there is. Closing twice is allowed."""
        if self._is_closing:
            return
        self._is_closing = True
        os.write(self._stirrer, b".")
        if self.is_alive():
            self.join(1.0)
        for child in list(self._tails):
            self.last_lines(child)  # of those that are not buried: there are none, if all went well
        self._selector.close()
        os.close(self._stirred)
        os.close(self._stirrer)

    def _listen(self, child: int, target: int) -> int:
        reader, writer = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(reader, False)
        self._selector.register(reader, selectors.EVENT_READ, _Source(child, target))
        return writer

    def _sources(self, child: int) -> list[tuple[int, _Source]]:
        keys = list(self._selector.get_map().values())
        return [(key.fd, key.data) for key in keys if isinstance(key.data, _Source) and key.data.child == child]

    def _read(self, fd: int, source: _Source) -> bytes | None:
        """Read and pass on one chunk. Return no bytes at the end of the pipe, None if there is nothing now."""
        try:
            data = os.read(fd, _CHUNK)
        except BlockingIOError:
            return None
        if data:
            _pass_on(source.target, data)
            self._keep(source, data)
        return data

    def _keep(self, source: _Source, data: bytes) -> None:
        *lines, source.rest = (source.rest + data).split(b"\n")
        source.rest = source.rest[-_CHUNK:]
        self._tails[source.child].extend(_text(line) for line in lines[-LINES:])

    def _end_line(self, source: _Source) -> None:
        if source.rest and source.child in self._tails:
            self._tails[source.child].append(_text(source.rest))
            source.rest = b""

    def _drop(self, fd: int) -> None:
        self._selector.unregister(fd)
        os.close(fd)


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace")[:_LONGEST_LINE]


def _pass_on(target: int, data: bytes) -> None:
    """Write everything, if it can be written at all: see the module's head."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(target, view) :]
        except BlockingIOError:
            threading.Event().wait(0.01)
        except OSError:
            return
