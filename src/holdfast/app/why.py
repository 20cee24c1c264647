"""Why a job does not run: what has to be known is looked up here, what it means is told by `policy.why`."""

from typing import Final

from holdfast.errors import JobNotFound
from holdfast.model.job import JobRecord
from holdfast.model.query import Query
from holdfast.model.queue import LaneRecord
from holdfast.model.states import FINAL, State
from holdfast.model.why import Why
from holdfast.policy.why import Facts, why
from holdfast.store.protocol import Store

_HOLDING: Final[tuple[State, ...]] = ("running", "scheduled", "ready", "parked", "spilled")


def explain(store: Store, job_id: str) -> Why:
    """Tell why a job does not run now. A few reads; nothing is changed."""
    job = store.inspector.get(job_id)
    if job is None:
        raise JobNotFound(
            f"no job {job_id} is in the store: it was never enqueued, is past its retention, or was merged into another "
            "job of its key, whose id `enqueue` has given"
        )
    if job.state in FINAL:
        return why(Facts(job, store.now()))
    workers = tuple(store.inspector.workers())
    if job.state == "running" and _holding(store, job_id) != job.worker:
        # Its run has ended since we looked, and its worker may have left: only a job that is still held can be lost.
        return explain(store, job_id)
    return why(
        Facts(job, store.now(), store.queues.get(job.queue), _lane(store, job), _holder(store, job), workers=workers)
    )


def _holding(store: Store, job_id: str) -> str | None:
    found = store.inspector.get(job_id)
    return found.worker if found and found.state == "running" else None


def _lane(store: Store, job: JobRecord) -> LaneRecord | None:
    return next((lane for lane in store.queues.lanes(job.queue) if lane.name == (job.lane or "")), None)


def _holder(store: Store, job: JobRecord) -> JobRecord | None:
    """Find the job whose key this one waits for: at most one has it and has yet to end."""
    if job.state != "waiting" or job.key is None:
        return None
    return next(iter(store.inspector.find(Query(_HOLDING, job.queue, limit=1, key=job.key))), None)
