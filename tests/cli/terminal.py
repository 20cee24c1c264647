"""A terminal that tests can look at: a command runs on it, in a process of its own."""

import codecs
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from typing import Any, Self

from tests.cli.conftest import command, environment


def on_terminal(*arguments: str, typed: str = "", columns: int = 200, **variables: str) -> tuple[int, str]:
    """Run a command on a terminal where someone types. Give its exit code and all that was to be seen."""
    ours, theirs = pty.openpty()
    surroundings = {**environment(), "TERM": "xterm-256color", "COLUMNS": str(columns), **variables}
    ends: dict[str, Any] = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    process = subprocess.Popen(command(*arguments), env=surroundings, **ends)
    os.close(theirs)
    os.write(ours, typed.encode())
    seen = b""
    try:
        while data := _read(ours):
            seen += data
        return process.wait(30), seen.decode()
    finally:
        os.close(ours)
        process.kill()
        process.wait()


def _read(end: int) -> bytes:
    try:
        return os.read(end, 65_536)
    except OSError:
        return b""  # nobody has the other end any more: what is read is all there was


class Terminal:
    """A terminal of a certain size, with one command on it that owns it: Ctrl-C reaches it as it does at a desk."""

    def __init__(self, *arguments: str, columns: int = 120, rows: int = 40, stdin: int | None = None) -> None:
        self._ours, self._theirs = pty.openpty()
        self.resize(columns, rows)
        self.modes = termios.tcgetattr(self._theirs)
        self.seen = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        surroundings = {**environment(), "TERM": "xterm-256color"}
        for name in ("COLUMNS", "LINES"):
            surroundings.pop(name, None)
        ends: dict[str, Any] = {"stdin": stdin or self._theirs, "stdout": self._theirs, "stderr": self._theirs}
        launch = [sys.executable, "-c", _OWN_TERMINAL, *command(*arguments)]
        self.process = subprocess.Popen(launch, env=surroundings, start_new_session=True, **ends)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._ours)
        os.close(self._theirs)

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def until(self, text: str, deadline_s: float = 20.0) -> str:
        """Look on until this text is to be seen. Give what came up to then, and forget it."""
        deadline = time.monotonic() + deadline_s
        while text not in self.seen:
            left_s = deadline - time.monotonic()
            assert left_s > 0, f"never seen: {text!r}, but {self.seen[-2000:]!r}"
            self._look(left_s)
        before, _, self.seen = self.seen.partition(text)
        return before + text

    def end(self, deadline_s: float = 20.0) -> int:
        """Wait for the command's end; all it has written is in `seen`."""
        deadline = time.monotonic() + deadline_s
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"never ended: {self.seen[-2000:]!r}"
            self._look(0.05)
        while self._look(0):
            pass
        return self.process.returncode

    @property
    def modes_now(self) -> list[Any]:
        return termios.tcgetattr(self._theirs)

    def _look(self, timeout_s: float) -> bool:
        ready, _, _ = select.select([self._ours], [], [], timeout_s)
        if ready:
            self.seen += self._decoder.decode(os.read(self._ours, 65_536))
        return bool(ready)


_OWN_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(1, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)
