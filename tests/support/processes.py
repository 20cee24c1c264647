"""Forks of the test's own process, and waiting for something to be so, with a deadline."""

import os
import signal
import threading
import time
from collections.abc import Callable

ALARM_S = 20


def in_a_child(act: Callable[[], object]) -> int:
    """Do something in a forked child, and give its exit code."""
    return os.waitstatus_to_exitcode(os.waitpid(fork(act), 0)[1])


def fork(act: Callable[[], object]) -> int:
    """Begin something in a forked child, which ends with it: 0 if it did not raise. Give its pid."""
    child = os.fork()
    if child == 0:
        signal.alarm(ALARM_S)
        code = 1
        try:
            act()
            code = 0
        finally:
            os._exit(code)
    return child


def until(is_so: Callable[[], object], deadline_s: float = 5.0) -> None:
    """Wait for something that nobody tells of."""
    deadline = time.monotonic() + deadline_s
    while not is_so():
        assert time.monotonic() < deadline
        threading.Event().wait(0.002)
