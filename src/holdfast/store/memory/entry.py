"""A job as this store keeps it: one mutable entry, changed only while its shelf's lock is held."""

import msgspec

from holdfast.model.job import JobRecord, NewJob
from holdfast.model.run import Run
from holdfast.model.states import State, seen_as
from holdfast.policy.moments import SECOND


class Entry(msgspec.Struct):
    """All that is known of one job. `new` is what the caller pushed and never changes; the seal alone may."""

    new: NewJob
    seq: int
    state: State
    due_us: int
    created_us: int
    seal: bytes | None
    expires_us: int | None
    priority: int
    generation: int = 1
    deliveries: int = 0
    failures: int = 0
    crashes: int = 0
    worker: str | None = None
    token: str | None = None
    claimed_us: int | None = None
    finished_us: int | None = None
    keep_until_us: int | None = None
    reason: str | None = None
    error: str | None = None
    traceback: str | None = None
    result: bytes | None = None
    result_until_us: int | None = None
    cancel_asked: bool = False
    progress: float | None = None
    progress_note: str | None = None
    runs: list[Run] = []

    @property
    def id(self) -> str:
        return self.new.id

    @property
    def lane(self) -> str:
        """The lane it stands in; without one, the lane without a name."""
        return self.new.lane or ""

    def is_expired(self, now_us: int) -> bool:
        return self.expires_us is not None and self.expires_us <= now_us


def admit(job: NewJob, seq: int, now_us: int, state: State | None = None) -> Entry:
    """Make the entry of a job that arrives now: in this state, or as its time says."""
    due = due_us(job, now_us)
    state = state or ("scheduled" if due > now_us else "ready")
    return Entry(job, seq, state, due, now_us, job.seal, job.expires_us, job.priority)


def due_us(job: NewJob, now_us: int) -> int:
    """Tell when a job that arrives now is due. A time in the past means now: it must not overtake others."""
    return max(now_us + job.delay_us if job.at_us is None else job.at_us, now_us)


def finish(entry: Entry, now_us: int, *, is_success: bool) -> None:
    """Note when the job ended and how long its record is to be kept."""
    keep_s = entry.new.keep_done_s if is_success else entry.new.keep_dead_s
    entry.finished_us = now_us
    entry.keep_until_us = now_us + keep_s * SECOND


def reopen(entry: Entry, now_us: int) -> None:
    """Begin the next generation: fresh budgets, nothing left of the last end. Deliveries go on counting,
    so that no token is ever made twice."""
    entry.generation += 1
    entry.due_us = now_us
    entry.failures = entry.crashes = 0
    entry.cancel_asked = False
    entry.expires_us = entry.finished_us = entry.keep_until_us = None
    entry.reason = entry.error = entry.traceback = None
    entry.result = entry.result_until_us = None
    entry.progress = entry.progress_note = None


def recorded(entry: Entry, now_us: int) -> JobRecord:
    """Give the entry as a reader may see it now."""
    new = entry.new
    return JobRecord(
        id=new.id,
        queue=new.queue,
        task=new.task,
        state=seen_as(entry.state, entry.due_us, now_us),
        priority=entry.priority,
        due_us=entry.due_us,
        created_us=entry.created_us,
        envelope=new.envelope,
        seal=entry.seal,
        expires_us=entry.expires_us,
        generation=entry.generation,
        deliveries=entry.deliveries,
        failures=entry.failures,
        crashes=entry.crashes,
        crash_budget=new.crash_budget,
        worker=entry.worker,
        claimed_us=entry.claimed_us,
        finished_us=entry.finished_us,
        keep_until_us=entry.keep_until_us,
        reason=entry.reason,
        error=entry.error,
        traceback=entry.traceback,
        result=_result(entry, now_us),
        result_until_us=entry.result_until_us,
        cancel_asked=entry.cancel_asked,
        progress=entry.progress,
        progress_note=entry.progress_note,
        tags=new.tags,
        lane=new.lane,
        key=new.key,
        version=new.version,
    )


def _result(entry: Entry, now_us: int) -> bytes | None:
    is_gone = entry.result_until_us is not None and entry.result_until_us <= now_us
    return None if is_gone else entry.result
