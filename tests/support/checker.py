"""The checker: what must be true of any history, however many processes were killed while it was made.

It is given what three witnesses saw. The producer knows what was enqueued. The tasks have written down each start and each
end, in a file of their own. The store tells how the jobs ended and which runs it keeps. The checker compares them and
lists every promise that was broken; it knows nothing of how any of it is done.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from holdfast.model.job import JobRecord
from holdfast.model.run import Run
from holdfast.model.states import FINAL

ENDINGS = {"done", "failed", "cancelled"}


class Event(NamedTuple):
    """One line of the tasks' diary: `start` or `end` of a run, in process `pid` of the worker `parent`."""

    moment: float
    kind: str
    job_id: str
    token: str
    pid: int
    parent: int


class Witnesses(NamedTuple):
    """What is compared. `killed` are the processes that were killed, with the moment at which they were seen dead."""

    enqueued: Sequence[str]
    events: Sequence[Event]
    records: Mapping[str, JobRecord]
    runs: Mapping[str, Sequence[Run]]
    killed: Mapping[int, float]


def broken_promises(seen: Witnesses) -> list[str]:
    """List what was promised and did not hold."""
    by_job: defaultdict[str, list[Event]] = defaultdict(list)
    for event in seen.events:
        by_job[event.job_id].append(event)
    return [
        *_i1_every_job_ends(seen, by_job),
        *_i2_no_ghosts(seen, by_job),
        *_i6_one_ending(seen),
        *_i8_no_token_twice(seen.events),
        *_i9_one_run_at_a_time(seen, by_job),
        *_i14_crashes_are_bounded(seen, by_job),
    ]


def _i1_every_job_ends(seen: Witnesses, by_job: Mapping[str, list[Event]]) -> Iterable[str]:
    for job_id in seen.enqueued:
        record = seen.records.get(job_id)
        if record is None:
            yield f"I1: {job_id} is gone"
        elif record.state not in FINAL:
            yield f"I1: {job_id} is {record.state}, not final"
        elif record.state == "succeeded" and not any(event.kind == "end" for event in by_job[job_id]):
            yield f"I1: {job_id} succeeded, and no run of it came to its end"


def _i2_no_ghosts(seen: Witnesses, by_job: Mapping[str, list[Event]]) -> Iterable[str]:
    for job_id in set(by_job) - set(seen.enqueued):
        yield f"I2: {job_id} ran and was never enqueued"
    for job_id in set(seen.records) - set(seen.enqueued):
        yield f"I2: {job_id} is stored and was never enqueued"


def _i6_one_ending(seen: Witnesses) -> Iterable[str]:
    for job_id, runs in seen.runs.items():
        endings = [run.outcome for run in runs if run.outcome in ENDINGS]
        if len(endings) > 1:
            yield f"I6: {job_id} ended {len(endings)} times: {endings}"
        if seen.records[job_id].state == "succeeded" and endings != ["done"]:
            yield f"I6: {job_id} succeeded, and its runs ended as {endings}"


def _i8_no_token_twice(events: Sequence[Event]) -> Iterable[str]:
    started = Counter(event.token for event in events if event.kind == "start")
    for token, times in started.items():
        if times > 1:
            yield f"I8: {times} runs were started with the token {token}"


def _i9_one_run_at_a_time(seen: Witnesses, by_job: Mapping[str, list[Event]]) -> Iterable[str]:
    for job_id, events in by_job.items():
        ends = {event.token: event.moment for event in events if event.kind == "end"}
        starts = sorted(event for event in events if event.kind == "start")
        for before, after in pairwise(starts):
            over = ends.get(before.token, _death(before, seen.killed))
            if over is None:
                yield f"I9: a run of {job_id} never ended, its process was not killed, and another was started"
            elif over > after.moment:
                yield f"I9: two runs of {job_id} overlap by {over - after.moment:.3f} s"


def _death(event: Event, killed: Mapping[int, float]) -> float | None:
    moments = [killed[pid] for pid in (event.pid, event.parent) if pid in killed and killed[pid] >= event.moment]
    return min(moments, default=None)


def _i14_crashes_are_bounded(seen: Witnesses, by_job: Mapping[str, list[Event]]) -> Iterable[str]:
    for job_id, record in seen.records.items():
        starts = sum(event.kind == "start" for event in by_job.get(job_id, ()))
        if record.crashes > record.deliveries:
            yield f"I14: {job_id} was charged {record.crashes} crashes in {record.deliveries} deliveries"
        if starts > record.deliveries:
            yield f"I7: {job_id} was started {starts} times in {record.deliveries} deliveries"
