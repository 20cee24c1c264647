"""How much of a lease is left, when it is copied from the house to a queue.

The clocks of two nodes may differ, so what is sent is a length, and each node adds it to its own clock. On the way time
passes. What passed since *before* the house was asked, by the clock of this process, is taken off. Then a copy ends

- not before the worker itself stops: it counts its lease from the moment before it sent its beat (I12). So a queue whose
  house has forgotten the worker may give its jobs to others when the copy ends;
- later than the house's lease by no more than the call to the queue was under way. In that time a worker that was given up
  could still claim; what it claims is taken back by the next rescue, and its token is void.

A test's clock is one for all nodes and stands still meanwhile: nothing is taken off.
"""

import time

from holdfast.store.redis.link import Link


class Remainder:
    """Counts from its making on what has passed of a lease."""

    def __init__(self, link: Link, now_us: int | None) -> None:
        self._is_virtual = link.is_virtual or now_us is not None
        self._began_ns = time.monotonic_ns()

    def of(self, length: bytes) -> int:
        """Give, in microseconds, what is left of a lease that had this length."""
        passed_us = 0 if self._is_virtual else (time.monotonic_ns() - self._began_ns) // 1000
        return max(int(length) - passed_us, 0)
