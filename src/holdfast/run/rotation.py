"""Which queue comes first: each in its turn, so that a full queue does not starve the others.

`claim` serves queues in the order it is given. There are three ways to make that order:

    in turn     it moves on by one place with every claim: the way of a worker that was told nothing
    weighted    by what each queue has had: a claimed job moves its queue on by one over its weight, and the queue that has
                come least far goes first. So the shares follow the weights whatever a claim brings, and each queue gets on.
                A queue that had nothing to give does not save up turns: it comes again where the others are
    strict      the order given: a later queue has its turn when the earlier ones have nothing

A worker for all queues learns of new ones when a claim comes up short, and at least once every two seconds.

Learning takes a round trip to the store. A worker that is about to sleep asks `has_news` first, so that, once something
wakes it, the claim comes first.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Final

from holdfast.model.claim import Claim
from holdfast.store.protocol import Store

_REFRESH_S: Final = 2.0


class Rotation:
    """The order in which one worker serves its queues; `queues=None` means all there are."""

    def __init__(
        self,
        store: Store,
        queues: Sequence[str] | None,
        weights: Mapping[str, int] | None = None,
        *,
        is_strict: bool = False,
    ) -> None:
        self._store = store
        self._fixed = queues is not None
        self._names: list[str] = list(queues or ())
        self._shares = _Shares(weights) if weights and len(set(weights.values())) > 1 else None
        self._is_strict = is_strict
        self._place = 0
        self._fresh_until = 0.0

    @property
    def names(self) -> Sequence[str]:
        """The queues that are served, as far as they are known."""
        return self._names

    def turn(self) -> list[str]:
        """Give the queues in the order for the next claim."""
        if not self._fixed and time.monotonic() >= self._fresh_until:
            self._learn()
        if not self._names:
            self._fresh_until = 0.0  # there are no queues yet: the first one is looked for each time
            return []
        if self._is_strict:
            return list(self._names)
        if self._shares is not None:
            return self._shares.order()
        self._place = (self._place + 1) % len(self._names)
        return self._names[self._place :] + self._names[: self._place]

    def has_news(self) -> bool:
        """Look for new queues, if a claim gave reason to, and tell whether there are any."""
        if self._fixed or not self._names or time.monotonic() < self._fresh_until:
            return False
        known = set(self._names)
        self._learn()
        return not known.issuperset(self._names)

    def saw(self, claims: Sequence[Claim], wanted: int) -> None:
        """Learn from a claim: who was served, and, if it came up short, to look for new queues."""
        is_short = len(claims) < wanted
        if is_short:
            self._fresh_until = 0.0
        if self._shares is not None:
            self._shares.charge(claims, is_short=is_short)

    def take_back(self, claims: Sequence[Claim]) -> None:
        """Learn that these claims found no slot here: their queues have not been served by them."""
        if self._shares is not None:
            self._shares.refund(claims)

    def _learn(self) -> None:
        self._names = self._store.queues.names()
        self._fresh_until = time.monotonic() + _REFRESH_S


class _Shares:
    """How far each queue has come, by its weight."""

    def __init__(self, weights: Mapping[str, int]) -> None:
        self._weights = dict(weights)
        self._come: dict[str, float] = dict.fromkeys(weights, 0.0)

    def order(self) -> list[str]:
        """Give the queues, the one that has come least far first; among equals as they were given."""
        return sorted(self._come, key=self._come.__getitem__)

    def charge(self, claims: Sequence[Claim], *, is_short: bool) -> None:
        """Move the queues on that were served, and bring along those that could have been and had nothing."""
        come = self._come
        served_last = max((come[claim.queue] for claim in claims), default=0.0)
        self._bring_along(served_last)
        for claim in claims:
            come[claim.queue] += 1 / self._weights[claim.queue]
        if is_short:
            self._bring_along(max(come.values()))
        if (least := min(come.values())) > 1e6:  # long before the numbers get too large to tell apart
            for name in come:
                come[name] -= least

    def refund(self, claims: Sequence[Claim]) -> None:
        for claim in claims:
            self._come[claim.queue] -= 1 / self._weights[claim.queue]

    def _bring_along(self, to: float) -> None:
        for name, far in self._come.items():
            self._come[name] = max(far, to)
