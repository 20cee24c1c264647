"""A terminal that tests can look at: a command runs on it, in a process of its own."""

import os
import pty
import subprocess
from typing import Any

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
