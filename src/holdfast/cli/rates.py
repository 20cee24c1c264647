"""How fast a store works, from looks at it that lie some seconds apart.

There are two sources, and each sees what the other does not:

    counts    how many jobs have succeeded and failed, by queue. Exact; but a job past its retention leaves its count, so
              a look between which jobs were dropped shows too little. Looks where a count fell are left out.
    reports   how many runs each process of each worker has ended, whatever came of them. Never goes back; but it comes
              with the workers' beats, every few seconds, so it says nothing over a shorter time. Workers inside a
              program (`app.worker()`) give none.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Final

import msgspec

from holdfast.cli.snapshot import Snapshot

WINDOW_S: Final = 10.0
"""Over how long rates are taken: long enough for beats, short enough to be now."""
_BEATS_S: Final = 7.0
"""Two beats of a worker with the usual lease."""


class Rates(msgspec.Struct, frozen=True):
    """Ends a second, over the last `over_s` seconds. None: not known (yet)."""

    over_s: float
    runs: float | None
    succeeded: Mapping[str, float]
    failed: Mapping[str, float]

    @property
    def is_known(self) -> bool:
        return self.over_s > 0


class _Look(msgspec.Struct, frozen=True):
    at_s: float
    counts: Mapping[tuple[str, str], int]
    runs: Mapping[tuple[str, int], int]


class Meter:
    """Takes snapshots in order, and gives the rates of the last few seconds."""

    def __init__(self) -> None:
        self._looks: deque[_Look] = deque()

    def add(self, snapshot: Snapshot, at_s: float) -> Rates:
        """Take a snapshot that was made at this moment of a clock which nobody sets."""
        self._looks.append(_Look(at_s, _counts(snapshot), _runs(snapshot)))
        while len(self._looks) > 2 and self._looks[1].at_s <= at_s - WINDOW_S:
            self._looks.popleft()
        over_s = at_s - self._looks[0].at_s
        names = [queue.name for queue in snapshot.queues]
        return Rates(
            over_s=over_s,
            runs=self._runs_rate(over_s),
            succeeded={name: self._rate(name, "succeeded") for name in names} if over_s else {},
            failed={name: self._rate(name, "failed") for name in names} if over_s else {},
        )

    def _rate(self, queue: str, state: str) -> float:
        steps = [(new - old, took_s) for old, new, took_s in self._steps((queue, state)) if new >= old]
        time_s = sum(took_s for _, took_s in steps)
        return sum(ended for ended, _ in steps) / time_s if time_s else 0.0

    def _steps(self, key: tuple[str, str]) -> Iterator[tuple[int, int, float]]:
        for before, after in pairwise(self._looks):
            yield before.counts.get(key, 0), after.counts.get(key, 0), after.at_s - before.at_s

    def _runs_rate(self, over_s: float) -> float | None:
        if over_s < _BEATS_S or not self._looks[-1].runs:
            return None
        ended = 0
        for before, after in pairwise(self._looks):
            # A process that was not there at the last look has ended all its runs since.
            ended += sum(max(0, runs - before.runs.get(child, 0)) for child, runs in after.runs.items())
        return ended / over_s


def _counts(snapshot: Snapshot) -> dict[tuple[str, str], int]:
    return {
        (queue.name, state): queue.counts.get(state, 0)
        for queue in snapshot.queues
        for state in ("succeeded", "failed")
    }


def _runs(snapshot: Snapshot) -> dict[tuple[str, int], int]:
    return {(worker.record.id, child.pid): child.runs for worker in snapshot.workers for child in worker.children}
