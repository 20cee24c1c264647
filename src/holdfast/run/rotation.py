"""Which queue comes first: each in its turn, so that a full queue does not starve the others.

`claim` serves queues in the order it is given. A worker turns that order by one place with every claim. A worker for
all queues learns of new ones when a claim comes up short, and at least once every two seconds.

Learning takes a round trip to the store. A worker that is about to sleep asks `has_news` first, so that, once something
wakes it, the claim comes first.
"""

import time
from collections.abc import Sequence
from typing import Final

from holdfast.store.protocol import Store

_REFRESH_S: Final = 2.0


class Rotation:
    """The order in which one worker serves its queues; `queues=None` means all there are."""

    def __init__(self, store: Store, queues: Sequence[str] | None) -> None:
        self._store = store
        self._fixed = queues is not None
        self._names: list[str] = list(queues or ())
        self._place = 0
        self._fresh_until = 0.0

    def turn(self) -> list[str]:
        """Give the queues in the order for the next claim."""
        if not self._fixed and time.monotonic() >= self._fresh_until:
            self._learn()
        if not self._names:
            self._fresh_until = 0.0  # there are no queues yet: the first one is looked for each time
            return []
        self._place = (self._place + 1) % len(self._names)
        return self._names[self._place :] + self._names[: self._place]

    def has_news(self) -> bool:
        """Look for new queues, if a claim gave reason to, and tell whether there are any."""
        if self._fixed or not self._names or time.monotonic() < self._fresh_until:
            return False
        known = set(self._names)
        self._learn()
        return not known.issuperset(self._names)

    def saw(self, claimed: int, wanted: int) -> None:
        """Learn from a claim: one that came up short is a reason to look for new queues."""
        if claimed < wanted:
            self._fresh_until = 0.0

    def _learn(self) -> None:
        self._names = self._store.queues.names()
        self._fresh_until = time.monotonic() + _REFRESH_S
