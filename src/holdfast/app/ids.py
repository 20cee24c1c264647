"""Job ids: UUIDs of version 7, in order within this process, under a microsecond each.

    48 bits  milliseconds since 1970
    12 bits  the fraction of the millisecond, and a step ahead when two ids fall into one
    62 bits  random

Time-ordered ids keep new rows at the end of every index; a store takes them three times as fast as random ones.
The random part is for uniqueness between processes, not for secrecy: nothing may be inferred from knowing an id.

A few ids are derived from what they stand for, so that a job which several processes may write down is one job.
"""

import os
import random
import threading
import time
from typing import Final

_VERSION: Final = 7 << 76
_VARIANT: Final = 2 << 62


class IdMaker:
    """Makes the ids of one process."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self._lock = threading.Lock()
        self._bits = random.Random(os.urandom(32)).getrandbits  # noqa: S311  # unique, not secret
        self._last = 0

    def make(self) -> str:
        """Give a new id, greater than all that this process has made."""
        ns = time.time_ns()
        ms, rest = divmod(ns, 1_000_000)
        tick = ms << 12 | (rest << 12) // 1_000_000
        with self._lock:
            # The clock may stand still or be set back; ids do not.
            if tick <= self._last:
                tick = self._last + 1
            self._last = tick
            low = self._bits(62)
        return _shown((tick >> 12) << 80 | _VERSION | (tick & 0xFFF) << 64 | _VARIANT | low)


def derived_id(*parts: str) -> str:
    """Give the id (a UUID of version 8) that follows from these texts, the same wherever and whenever it is asked for."""
    import hashlib

    digest = int.from_bytes(hashlib.sha256("\0".join(parts).encode()).digest()[:16], "big")
    return _shown(digest & ~(0xF << 76 | 3 << 62) | 8 << 76 | _VARIANT)


def _shown(number: int) -> str:
    text = f"{number:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


_maker: IdMaker | None = None


def new_id() -> str:
    """Give a new job id. After a fork the child starts from fresh randomness: two processes never share a sequence."""
    global _maker  # noqa: PLW0603  # one sequence per process is the point
    maker = _maker
    if maker is None or maker.pid != os.getpid():
        maker = _maker = IdMaker()
    return maker.make()
