"""Ending in order when told to: SIGTERM must leave no hidden cursor, no worker and no folder behind."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

TERMINATED: Final = 128 + signal.SIGTERM
"""The exit code of a command that SIGTERM has ended: what a shell says of a process that died of it."""


@contextmanager
def tidy_when_told_to_stop() -> Iterator[None]:
    """Let SIGTERM end the block by way of every `finally`."""
    former = signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)
