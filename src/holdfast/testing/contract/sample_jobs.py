"""Jobs, workers and verdicts for tests: everything has a default, a test names only what it is about."""

from itertools import count
from typing import Any
from uuid import uuid4

from holdfast.model.claim import Claim, Progress
from holdfast.model.job import JobRecord, NewJob
from holdfast.model.verdict import (
    BAD_SEAL,
    UNKNOWN_TASK,
    Outcome,
    Verdict,
    crashed,
    done,
    parked,
    released,
)
from holdfast.model.worker import WorkerRecord
from holdfast.policy.moments import SECOND
from holdfast.store.protocol import Store

QUEUE = "default"
TASK = "shop.send"

_numbers = count(1)


def job(queue: str = QUEUE, **options: Any) -> NewJob:
    """Make a job with a fresh id."""
    given = {"id": uuid4().hex, "task": TASK, "envelope": b"payload"} | options
    return NewJob(queue=queue, **given)


def jobs(number: int, queue: str = QUEUE, **options: Any) -> list[NewJob]:
    return [job(queue, **options) for _ in range(number)]


def pushed(store: Store, queue: str = QUEUE, **options: Any) -> str:
    """Push one job and give its id."""
    new = job(queue, **options)
    assert store.push([new])[0].decision == "created"
    return new.id


def enlisted(store: Store, *, tasks: tuple[str, ...] = (TASK,), lease_s: float = 10) -> str:
    """Enlist a worker under a fresh id, and give the id."""
    worker = f"w{next(_numbers)}"
    store.enlist(WorkerRecord(worker, "host", 1, tasks, lease_us=round(lease_s * SECOND)))
    return worker


def claimed(store: Store, worker: str | None = None, queue: str = QUEUE) -> Claim:
    """Claim one job, which must be there."""
    claims = store.claim(worker or enlisted(store), [queue], 1)
    assert len(claims) == 1, f"expected a job to claim in {queue}"
    return claims[0]


def claimed_ids(store: Store, worker: str, *queues: str, limit: int = 1000) -> list[str]:
    return [claim.id for claim in store.claim(worker, queues or (QUEUE,), limit)]


def record(store: Store, job_id: str) -> JobRecord:
    """Give the job's record, which must be there."""
    found = store.inspector.get(job_id)
    assert found is not None, f"job {job_id} is not in the store"
    return found


def state(store: Store, job_id: str) -> str:
    return record(store, job_id).state


# --- verdicts -----------------------------------------------------------------------------------------------


def verdict(claim: Claim, outcome: Outcome, **options: Any) -> Verdict:
    return Verdict(claim.id, claim.token, claim.queue, outcome, **options)


def retry(claim: Claim, delay_s: float = 0, error: str = "it broke") -> Verdict:
    return verdict(claim, "retry", delay_us=round(delay_s * SECOND), reason="raised", error=error, traceback="tb")


def snoozed(claim: Claim, delay_s: float = 0) -> Verdict:
    return verdict(claim, "snoozed", delay_us=round(delay_s * SECOND))


def failed(claim: Claim, error: str = "it broke") -> Verdict:
    return verdict(claim, "failed", reason="raised", error=error, traceback="tb")


def cancelled(claim: Claim) -> Verdict:
    return verdict(claim, "cancelled", reason="the task cancelled itself")


def unknown_task(claim: Claim) -> Verdict:
    return parked(claim, UNKNOWN_TASK, f"no task {claim.task} here")


def bad_seal(claim: Claim) -> Verdict:
    return parked(claim, BAD_SEAL, "signed by nobody we know")


def progress(claim: Claim, fraction: float | None = 0.5, note: str | None = "half way") -> Progress:
    return Progress(claim.id, claim.token, claim.queue, fraction, note)


# --- jobs brought to a state --------------------------------------------------------------------------------


def run_to(store: Store, outcome: str, **options: Any) -> str:
    """Push a job, run it once to this outcome, and give its id."""
    job_id = pushed(store, **options)
    worker = enlisted(store)
    claim = next(claim for claim in store.claim(worker, [options.get("queue", QUEUE)], 1000) if claim.id == job_id)
    endings = {
        "succeeded": done(claim, b"result"),
        "failed": failed(claim),
        "cancelled": cancelled(claim),
        "parked": unknown_task(claim),
        "released": released(claim),
        "crashed": crashed(claim, "the process died"),
    }
    assert store.settle([endings[outcome]]) == []
    return job_id
