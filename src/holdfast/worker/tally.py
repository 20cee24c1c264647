"""What a worker has counted: its runs, by task.

The store thread adds each batch of verdicts once the store has them: what is counted has happened, and what came too late
is not counted.
"""

import threading
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Final

from holdfast.model.claim import Claim
from holdfast.model.verdict import Lost, Verdict
from holdfast.policy.moments import SECOND

MOST_TASKS: Final = 300
"""How many tasks have figures of their own. Names come with jobs, and anyone may invent some."""
OTHER: Final = "other"
BOUNDS_S: Final = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1800)
_BOUNDS_US: Final = [round(bound * SECOND) for bound in BOUNDS_S]
_UNTIMED: Final = ("released", "parked")
"""Outcomes of runs that were cut short or never began: they say nothing of how long a run takes."""


class Times:
    """How long something took, again and again: counted in buckets."""

    def __init__(self) -> None:
        self.buckets = [0] * (len(_BOUNDS_US) + 1)
        self.sum_us = 0

    def add(self, took_us: int) -> None:
        self.buckets[bisect_left(_BOUNDS_US, took_us)] += 1
        self.sum_us += took_us

    def copy(self) -> "Times":
        copy = Times()
        copy.buckets, copy.sum_us = list(self.buckets), self.sum_us
        return copy


class Series:
    """The figures of one task: runs by outcome, how long they took, and how late they were claimed."""

    def __init__(self) -> None:
        self.outcomes: dict[str, int] = {}
        self.took = Times()
        self.late = Times()

    def copy(self) -> "Series":
        copy = Series()
        copy.outcomes, copy.took, copy.late = dict(self.outcomes), self.took.copy(), self.late.copy()
        return copy


class Tally:
    """Counts the runs of one worker by task. `take`, `settle` and `forget` belong to the store thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._claims: dict[str, tuple[str, int]] = {}
        self._series: dict[str, Series] = {}

    def take(self, claims: Iterable[Claim]) -> None:
        """Remember of each claim its task and how late it was: a verdict does not say."""
        self._claims.update((claim.token, (claim.task, max(0, claim.claimed_us - claim.due_us))) for claim in claims)

    def settle(self, verdicts: Sequence[Verdict], lost: Sequence[Lost]) -> None:
        """Count verdicts that the store has carried out, all but the lost ones."""
        for one in lost:
            self._claims.pop(one.token, None)
        with self._lock:
            for verdict in verdicts:
                claim = self._claims.pop(verdict.token, None)
                if claim is None or not verdict.is_of_a_run:
                    continue
                task, late_us = claim
                series = self._series.get(task) or self._begin(task)
                outcome = verdict.outcome
                series.outcomes[outcome] = series.outcomes.get(outcome, 0) + 1
                if outcome not in _UNTIMED:
                    series.took.add(verdict.took_us)
                    series.late.add(late_us)

    def forget(self) -> None:
        """Give up the claims of a lease that has ended: nobody will settle them here."""
        self._claims.clear()

    def series(self) -> dict[str, Series]:
        """Give the figures by task, as they are at this moment."""
        with self._lock:
            return {task: series.copy() for task, series in self._series.items()}

    def _begin(self, task: str) -> Series:
        name = task if len(self._series) < MOST_TASKS else OTHER
        return self._series.get(name) or self._series.setdefault(name, Series())
