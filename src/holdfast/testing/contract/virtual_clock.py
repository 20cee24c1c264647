"""A clock that moves only when a test says so, in the numbers that stores speak: microseconds since 1970.

Not the kit's clock (`holdfast.testing.clock`), which begins at the present moment, speaks in datetimes and never goes
back. A store is tried at a fixed moment, the same in every run, and its clock may be set back, as a machine's may.
"""

from holdfast.policy.moments import SECOND

START_US = 1_700_000_000 * SECOND


class VirtualClock:
    """Gives microseconds since 1970, as every store's `clock` does. Starts at a fixed moment."""

    def __init__(self, now_us: int = START_US) -> None:
        self.now_us = now_us

    def __call__(self) -> int:
        return self.now_us

    def advance(self, seconds: float) -> int:
        """Move on (or back) and give the new moment."""
        self.now_us += round(seconds * SECOND)
        return self.now_us

    def in_s(self, seconds: float) -> int:
        """Give the moment so many seconds from now."""
        return self.now_us + round(seconds * SECOND)
