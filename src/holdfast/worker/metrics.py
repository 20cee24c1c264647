"""What a worker counts, and the page on which Prometheus reads it (text format 0.0.4).

Two kinds of figures. The `Tally` is the worker's own: the store thread adds each batch of verdicts to it once the store
has them, so what is counted has happened, and what came too late is not counted. `Depths` are the store's: read when
someone asks, over a connection of their own, so that counting a large backlog holds up no claim and no beat.

Both are bounded: so many tasks and queues, so much time. A store that hangs costs a page its queues, not its answer.
"""

import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from holdfast.errors import StoreError
from holdfast.model.claim import Claim
from holdfast.model.queue import QueueRecord
from holdfast.model.states import STATES
from holdfast.model.verdict import Lost, Verdict
from holdfast.policy.moments import SECOND
from holdfast.store.protocol import Store

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
MOST_TASKS: Final = 300
"""How many tasks have figures of their own. Names come with jobs, and anyone may invent some."""
OTHER: Final = "other"
MOST_QUEUES: Final = 500
BOUNDS_S: Final = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1800)
_BOUNDS_US: Final = [round(bound * SECOND) for bound in BOUNDS_S]
_UNTIMED: Final = ("released", "parked")
"""Outcomes of runs that were cut short or never began: they say nothing of how long a run takes."""

_PATIENCE_S: Final = 2.0
_FRESH_S: Final = 1.0
_FRESH_SHARE: Final = 10
"""A reading stays fresh for so many times what it took, so that reading never fills more than a tenth of the time."""

Labels = Mapping[str, str]


# --- what the worker has counted ----------------------------------------------------------------------------------


class Series:
    """The figures of one task: runs by outcome, and how long they took, in buckets."""

    def __init__(self) -> None:
        self.outcomes: dict[str, int] = {}
        self.buckets = [0] * (len(_BOUNDS_US) + 1)
        self.sum_us = 0

    def copy(self) -> "Series":
        copy = Series()
        copy.outcomes, copy.buckets, copy.sum_us = dict(self.outcomes), list(self.buckets), self.sum_us
        return copy


class Tally:
    """Counts the runs of one worker by task. `take`, `settle` and `forget` belong to the store thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tasks: dict[str, str] = {}
        self._series: dict[str, Series] = {}

    def take(self, claims: Iterable[Claim]) -> None:
        """Remember which tasks the claims are of: a verdict does not say."""
        self._tasks.update((claim.token, claim.task) for claim in claims)

    def settle(self, verdicts: Sequence[Verdict], lost: Sequence[Lost]) -> None:
        """Count verdicts that the store has carried out, all but the lost ones."""
        for one in lost:
            self._tasks.pop(one.token, None)
        with self._lock:
            for verdict in verdicts:
                task = self._tasks.pop(verdict.token, None)
                if task is None or not verdict.is_of_a_run:
                    continue
                series = self._series.get(task) or self._begin(task)
                outcome = verdict.outcome
                series.outcomes[outcome] = series.outcomes.get(outcome, 0) + 1
                if outcome not in _UNTIMED:
                    series.buckets[bisect_left(_BOUNDS_US, verdict.took_us)] += 1
                    series.sum_us += verdict.took_us

    def forget(self) -> None:
        """Give up the claims of a lease that has ended: nobody will settle them here."""
        self._tasks.clear()

    def series(self) -> dict[str, Series]:
        """Give the figures by task, as they are at this moment."""
        with self._lock:
            return {task: series.copy() for task, series in self._series.items()}

    def _begin(self, task: str) -> Series:
        name = task if len(self._series) < MOST_TASKS else OTHER
        return self._series.get(name) or self._series.setdefault(name, Series())


# --- what the store holds -----------------------------------------------------------------------------------------


class Reading(msgspec.Struct, frozen=True):
    """The queues at one moment of the store's clock, or that they could not be read."""

    is_good: bool = False
    queues: tuple[QueueRecord, ...] = ()
    now_us: int = 0
    fresh_until: float = 0.0


class Depths:
    """Reads the queues of a store, at most once a second, and never for longer than the asker has patience."""

    def __init__(self, open_store: Callable[[], Store]) -> None:
        self._open = open_store
        self._store: Store | None = None
        self._lock = threading.Lock()
        self._reading = Reading()
        self._reader: threading.Thread | None = None

    def look(self) -> Reading:
        """Give a reading that is fresh, or one without queues if the store does not answer in time."""
        with self._lock:
            if time.monotonic() < self._reading.fresh_until:
                return self._reading
            if self._reader is None or not self._reader.is_alive():
                self._reading = Reading()
                self._reader = threading.Thread(target=self._read, name="holdfast-depths", daemon=True)
                self._reader.start()
            reader = self._reader
        reader.join(_PATIENCE_S)
        return Reading() if reader.is_alive() else self._reading

    def close(self) -> None:
        """Close the store. One that hangs is left to the end of the process."""
        with self._lock:
            if self._reader is not None:
                self._reader.join(_PATIENCE_S)
                if not self._reader.is_alive() and self._store is not None:
                    self._store.close()

    def _read(self) -> None:
        began = time.monotonic()
        try:
            store = self._store = self._store or self._open()
            found = [store.queues.get(name) for name in store.queues.names()[:MOST_QUEUES]]
            good = Reading(is_good=True, queues=tuple(filter(None, found)), now_us=store.now())
        except StoreError:  # the page says so; the store thread logs it
            good = Reading()
        ended = time.monotonic()
        self._reading = msgspec.structs.replace(good, fresh_until=ended + max(_FRESH_S, _FRESH_SHARE * (ended - began)))


# --- the page -----------------------------------------------------------------------------------------------------


class Page:
    """A text in Prometheus' format, written family by family."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def add(self, name: str, kind: str, meaning: str, samples: Iterable[tuple[Labels, float]]) -> None:
        """Write a family of counters or gauges."""
        self._head(name, kind, meaning)
        self._lines += [_sample(name, labels, value) for labels, value in samples]

    def add_runs(self, series: Mapping[str, Series]) -> None:
        """Write what a tally has counted."""
        self.add(
            "holdfast_runs_total", "counter", "Runs that ended here, by task and outcome.",
            (({"task": task, "outcome": outcome}, number)
             for task, one in series.items() for outcome, number in one.outcomes.items()),
        )  # fmt: skip
        self._head("holdfast_run_seconds", "histogram", "How long runs took, by task.")
        for task, one in series.items():
            self._add_times("holdfast_run_seconds", {"task": task}, one)

    def add_queues(self, reading: Reading) -> None:
        """Write what the store holds; nothing if it could not be read, since an old figure looks like a true one."""
        self.add(
            "holdfast_queue_jobs", "gauge", "Jobs in the store, by queue and state.",
            (({"queue": queue.name, "state": state}, queue.counts.get(state, 0))
             for queue in reading.queues for state in STATES),
        )  # fmt: skip
        self.add(
            "holdfast_queue_oldest_ready_seconds", "gauge", "How long the oldest ready job has waited; 0 if none is.",
            (({"queue": queue.name}, _age_s(queue, reading.now_us)) for queue in reading.queues),
        )  # fmt: skip
        self.add(
            "holdfast_queue_paused", "gauge", "Whether a queue is paused.",
            (({"queue": queue.name}, int(queue.is_paused)) for queue in reading.queues),
        )  # fmt: skip

    @property
    def text(self) -> str:
        return "".join(f"{line}\n" for line in self._lines)

    def _head(self, name: str, kind: str, meaning: str) -> None:
        self._lines += [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"]

    def _add_times(self, name: str, labels: Labels, series: Series) -> None:
        total = 0
        for bound, number in zip((*map(str, BOUNDS_S), "+Inf"), series.buckets, strict=True):
            total += number
            self._lines.append(_sample(f"{name}_bucket", {**labels, "le": bound}, total))
        self._lines.append(_sample(f"{name}_sum", labels, series.sum_us / SECOND))
        self._lines.append(_sample(f"{name}_count", labels, total))


def _sample(name: str, labels: Labels, value: float) -> str:
    told = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
    return f"{name}{{{told}}} {value}" if told else f"{name} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _age_s(queue: QueueRecord, now_us: int) -> float:
    return 0 if queue.oldest_ready_us is None else max(0, now_us - queue.oldest_ready_us) / SECOND
