"""A clock that moves only when a test says so."""

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
