"""Why a job does not run now, and when it may: the rules of `claim`, told in sentences.

| kind                                     | the job                                                                   |
|------------------------------------------|---------------------------------------------------------------------------|
| running                                  | runs                                                                      |
| lost                                     | ran on a worker that has fallen silent; the next rescue brings it back    |
| succeeded, failed, cancelled, expired    | has ended                                                                 |
| scheduled, retrying, snoozed             | is due later: as it was asked for, after a failure, by its task's wish    |
| waiting                                  | comes after another job of its key                                        |
| spilled                                  | waits for room in its queue                                               |
| parked                                   | is set aside                                                              |
| queue_…, lane_…                          | is held back by how its queue or its lane stands: see `policy.holding`    |
| no_worker, unknown_task                  | has no live worker that serves its queue, or that knows its task          |
| queued, next                             | waits its turn; is held back by nothing                                   |
| expires                                  | ends if it does not start in time                                         |

The last three lines hold nothing back: `HARMLESS`. Nothing here asks anybody: what is known is handed in, as `Facts`.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from holdfast.model.job import JobRecord
from holdfast.model.queue import LaneRecord, QueuePolicy, QueueRecord
from holdfast.model.states import FINAL, RETRIABLE
from holdfast.model.verdict import BAD_SEAL, UNKNOWN_TASK
from holdfast.model.why import Reason, Why
from holdfast.model.worker import WorkerRecord
from holdfast.policy.holding import held_by_lane, held_by_queue, scope
from holdfast.policy.moments import shown_moment
from holdfast.policy.rates import shown_time

HARMLESS: Final = frozenset({"queued", "next", "expires"})
_LONGEST_ERROR: Final = 200


class Facts(msgspec.Struct, frozen=True):
    """What is known about a job and its surroundings. `holder` is the job of its key that it waits for, if it was found."""

    job: JobRecord
    now_us: int
    queue: QueueRecord | None = None
    lane: LaneRecord | None = None
    holder: JobRecord | None = None
    workers: tuple[WorkerRecord, ...] = ()


def why(facts: Facts) -> Why:
    """Tell why the job does not run."""
    job = facts.job
    reasons = list(_reasons(facts))
    starts_us = None if job.state in (*FINAL, "running") else _starts_us(reasons, facts.now_us)
    if expiry := _expiry(job, starts_us):
        reasons.append(expiry)
    return Why(job.id, job.state, facts.now_us, tuple(reasons), starts_us)


def _reasons(facts: Facts) -> Iterator[Reason]:
    job = facts.job
    if job.state in FINAL:
        yield _ended(job)
    elif job.state == "running":
        yield _running(facts)
    elif job.state == "parked":
        yield _parked(facts)
    elif job.state == "ready":
        held = [*_held(facts), *_staffing(facts)]
        yield from held
        yield from _turn(facts, is_free=not held)
    else:
        later = _later(facts)
        yield later
        yield from _lasting(_held(facts), later.until_us)
        yield from _staffing(facts)


def _starts_us(reasons: list[Reason], now_us: int) -> int | None:
    ends = [reason.until_us for reason in reasons if reason.kind not in HARMLESS]
    known = [end for end in ends if end is not None]
    return max([now_us, *known]) if len(known) == len(ends) else None


# --- by its own state ---------------------------------------------------------------------------------------------


def _ended(job: JobRecord) -> Reason:
    cause = _cause(job) if job.state != "succeeded" else ""
    when = "" if job.finished_us is None else f" at {shown_moment(job.finished_us)}"
    how = "it was cancelled" if job.state == "cancelled" else f"it has {job.state}"
    remedy = f"holdfast retry {job.id}  runs it again" if job.state in RETRIABLE else None
    return Reason(job.state, f"{how}{when}{cause}", remedy=remedy)


def _running(facts: Facts) -> Reason:
    job = facts.job
    since = "" if job.claimed_us is None else f" since {shown_moment(job.claimed_us)}"
    run = f"run {job.deliveries}{since}, on worker {job.worker}"
    if job.worker in {worker.id for worker in facts.workers}:
        asked = "; it was asked to stop" if job.cancel_asked else ""
        return Reason("running", f"it is running: {run}{asked}")
    remedy = None if facts.workers else "start a worker: it looks for such jobs by itself"
    silent = "which has fallen silent: another worker takes the job within seconds, charged with a crash"
    return Reason("lost", f"it was running: {run}, {silent}", remedy=remedy)


def _parked(facts: Facts) -> Reason:
    job = facts.job
    sentence = f"it is parked: {job.reason or 'set aside'}{_quoted(job.error)}"
    if job.reason == UNKNOWN_TASK:
        knowing = [worker.id for worker in _serving(facts) if job.task in worker.tasks]
        if knowing:
            return Reason("parked", f"{sentence}; worker {knowing[0]} knows it by now, and takes the job up")
        return Reason(
            "parked", sentence, remedy=f"start a worker whose app has the task {job.task}; it takes the job up"
        )
    if job.reason == BAD_SEAL:
        return Reason("parked", sentence, remedy=f"holdfast unpark {job.id} --reseal  if you know where it comes from")
    return Reason("parked", sentence, remedy=f"mend the cause, then: holdfast unpark {job.id}")


def _later(facts: Facts) -> Reason:
    job = facts.job
    if job.state == "waiting":
        return _waiting(facts)
    if job.state == "spilled":
        return Reason("spilled", f"queue {job.queue} is full: it enters when there is room")
    when = shown_moment(job.due_us)
    if job.failures and job.error:
        return Reason("retrying", f"it is tried again at {when}, after failure {job.failures}{_cause(job)}", job.due_us)
    if job.deliveries and job.reason:
        return Reason("snoozed", f"it has run, and runs again at {when}{_cause(job)}", job.due_us)
    return Reason("scheduled", f"it is due at {when}", job.due_us)


def _waiting(facts: Facts) -> Reason:
    job, holder = facts.job, facts.holder
    if job.key is None:
        return Reason("waiting", "it waits for other jobs to end")
    if holder is None:
        return Reason("waiting", f"it waits for the job that has its key {job.key!r} to end")
    return Reason(
        "waiting",
        f"it waits for job {holder.id} of the same key {job.key!r} to end, which is {holder.state}",
        remedy=None if holder.state == "running" else f"holdfast why {holder.id}",
    )


def _expiry(job: JobRecord, starts_us: int | None) -> Reason | None:
    if job.expires_us is None or job.state in (*FINAL, "running"):
        return None
    when = shown_moment(job.expires_us)
    if starts_us is not None and starts_us >= job.expires_us:
        return Reason("expires", f"it expires at {when}, before it may start", job.expires_us)
    return Reason("expires", f"it expires at {when}, unless it has started by then", job.expires_us)


# --- by its surroundings ------------------------------------------------------------------------------------------


def _held(facts: Facts) -> list[Reason]:
    if facts.queue is None:
        return []
    return [*held_by_queue(facts.queue), *(held_by_lane(facts.queue, facts.lane) if facts.lane else ())]


def _lasting(held: list[Reason], due_us: int | None) -> Iterator[Reason]:
    """Choose what will still hold a job back when its time comes; what passes with the runs of others need not."""
    for reason in held:
        is_for_good = reason.until_us is None and not reason.kind.endswith(("_full", "_probing"))
        is_longer = reason.until_us is not None and due_us is not None and reason.until_us > due_us
        if is_for_good or is_longer:
            yield reason


def _staffing(facts: Facts) -> Iterator[Reason]:
    job, serving = facts.job, _serving(facts)
    if not serving:
        is_over = any(_serves(worker, job.queue) for worker in facts.workers)
        yield Reason(
            "no_worker",
            f"no live worker serves queue {job.queue}" + (" any more: those that did are stopping" if is_over else ""),
            remedy=f"holdfast worker MODULE:APP --queues {job.queue}, or without --queues",
        )
    elif not any(_may_know(worker, job.task) for worker in serving):
        yield Reason(
            "unknown_task",
            f"no live worker that serves queue {job.queue} knows the task {job.task}: the first to take it will park it",
            remedy=f"start a worker whose app has the task {job.task}",
        )


def _turn(facts: Facts, *, is_free: bool) -> Iterator[Reason]:
    """Tell about the jobs beside it. How many of them go first is not counted: that would take a walk over all."""
    lane, queue = facts.lane, facts.queue
    if queue is not None and lane is not None and lane.ready > 1:
        beside = f"it is one of {lane.ready:,} ready jobs of {scope(queue.name, lane.name)}"
        yield Reason("queued", f"{beside}: {_order(queue.policy)}")
    elif is_free:
        yield Reason("next", "nothing holds it back: it goes as soon as a worker has room for it")


def _order(policy: QueuePolicy) -> str:
    if policy.ageing_us is not None:
        point = f"each {shown_time(policy.ageing_us)} that a job has been due count as a point of it"
        return f"the highest priority goes first, and {point}"
    first = "newest" if policy.order == "lifo" else "oldest"
    return f"the highest priority goes first, then the {first}"


def _serving(facts: Facts) -> list[WorkerRecord]:
    return [worker for worker in facts.workers if _serves(worker, facts.job.queue) and not worker.is_leaving]


def _serves(worker: WorkerRecord, queue: str) -> bool:
    return not worker.queues or queue in worker.queues


def _may_know(worker: WorkerRecord, task: str) -> bool:
    return not worker.tasks or task in worker.tasks  # who names none is a consumer, which takes them all


def _cause(job: JobRecord) -> str:
    return _quoted(job.error or job.reason)


def _quoted(text: str | None) -> str:
    """Give the first line of an error, cut to what a sentence can hold."""
    line = next(iter((text or "").strip().splitlines()), "")
    return f": {line[: _LONGEST_ERROR - 1]}…" if len(line) > _LONGEST_ERROR else f": {line}" if line else ""
