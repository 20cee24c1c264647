"""The page on which Prometheus reads what a worker has counted and what its store holds (text format 0.0.4)."""

from collections.abc import Iterable, Mapping
from typing import Final, get_args

from holdfast.model.queue import QueueRecord, Standing
from holdfast.model.states import STATES
from holdfast.policy.moments import SECOND
from holdfast.worker.depths import Reading
from holdfast.worker.tally import BOUNDS_S, Series, Times

_HELD: Final = tuple(standing for standing in get_args(Standing) if standing not in ("open", "paused"))
CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

Labels = Mapping[str, str]


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
        took = {task: one.took for task, one in series.items()}
        self._add_times("holdfast_run_seconds", "How long runs took, by task.", took)
        late = {task: one.late for task, one in series.items()}
        self._add_times("holdfast_run_lateness_seconds", "How long after their due time jobs were claimed.", late)

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
        self.add(
            "holdfast_queue_held", "gauge", "Whether its limits or its breaker hold a queue back, by how it stands.",
            (({"queue": queue.name, "standing": standing}, int(queue.standing == standing))
             for queue in reading.queues for standing in _HELD),
        )  # fmt: skip

    @property
    def text(self) -> str:
        return "".join(f"{line}\n" for line in self._lines)

    def _head(self, name: str, kind: str, meaning: str) -> None:
        self._lines += [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"]

    def _add_times(self, name: str, meaning: str, times: Mapping[str, Times]) -> None:
        self._head(name, "histogram", meaning)
        for task, one in times.items():
            total = 0
            for bound, number in zip((*map(str, BOUNDS_S), "+Inf"), one.buckets, strict=True):
                total += number
                self._lines.append(_sample(f"{name}_bucket", {"task": task, "le": bound}, total))
            self._lines.append(_sample(f"{name}_sum", {"task": task}, one.sum_us / SECOND))
            self._lines.append(_sample(f"{name}_count", {"task": task}, total))


def _sample(name: str, labels: Labels, value: float) -> str:
    told = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
    return f"{name}{{{told}}} {value}" if told else f"{name} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _age_s(queue: QueueRecord, now_us: int) -> float:
    return 0 if queue.oldest_ready_us is None else max(0, now_us - queue.oldest_ready_us) / SECOND
