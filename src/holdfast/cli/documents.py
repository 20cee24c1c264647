"""What `--json` prints: dictionaries with stable keys, moments in ISO 8601 UTC, no bytes."""

from holdfast.cli.times import iso
from holdfast.model.job import JobRecord
from holdfast.model.queue import QueueRecord
from holdfast.model.run import Run
from holdfast.model.worker import WorkerRecord
from holdfast.policy.moments import SECOND

Document = dict[str, object]


def job_document(job: JobRecord) -> Document:
    """Tell all of a job but its arguments and its result."""
    return {
        "id": job.id,
        "task": job.task,
        "queue": job.queue,
        "state": job.state,
        "reason": job.reason,
        "priority": job.priority,
        "tags": list(job.tags),
        **_moments(job),
        **_counters(job),
        "worker": job.worker,
        "progress": job.progress,
        "progress_note": job.progress_note,
        "cancel_asked": job.cancel_asked,
        "is_signed": job.seal is not None,
        "error": job.error,
        "traceback": job.traceback,
    }


def _moments(job: JobRecord) -> Document:
    return {
        "created": iso(job.created_us),
        "due": iso(job.due_us),
        "claimed": iso(job.claimed_us),
        "finished": iso(job.finished_us),
        "expires": iso(job.expires_us),
        "kept_until": iso(job.keep_until_us),
        "result_until": iso(job.result_until_us),
    }


def _counters(job: JobRecord) -> Document:
    return {
        "generation": job.generation,
        "deliveries": job.deliveries,
        "failures": job.failures,
        "crashes": job.crashes,
        "crash_budget": job.crash_budget,
    }


def run_document(run: Run) -> Document:
    """Tell all of a run but its token."""
    return {
        "number": run.number,
        "generation": run.generation,
        "outcome": run.outcome,
        "worker": run.worker,
        "claimed": iso(run.claimed_us),
        "ended": iso(run.ended_us),
        "took_s": run.took_us / SECOND,
        "reason": run.reason,
        "error": run.error,
        "traceback": run.traceback,
    }


def queue_document(queue: QueueRecord) -> Document:
    """Tell all of a queue."""
    return {
        "name": queue.name,
        "is_paused": queue.is_paused,
        "order": queue.policy.order,
        "size": queue.size,
        "counts": dict(sorted(queue.counts.items())),
        "oldest_ready": iso(queue.oldest_ready_us),
        "next_due": iso(queue.next_due_us),
    }


def worker_document(worker: WorkerRecord) -> Document:
    """Tell who a worker is, what it serves (no queues means all of them) and in which processes it runs jobs."""
    children = () if worker.report is None else worker.report.children
    return {
        "id": worker.id,
        "host": worker.host,
        "pid": worker.pid,
        "queues": list(worker.queues),
        "tasks": list(worker.tasks),
        "lease_s": worker.lease_us / SECOND,
        "started": iso(worker.started_us),
        "is_leaving": worker.is_leaving,
        "children": [
            {"pid": child.pid, "rss_bytes": child.rss_bytes, "runs": child.runs, "running": list(child.running)}
            for child in children
        ],
    }


def running_document(job: JobRecord, now_us: int) -> Document:
    """Tell what there is to see of a job while it runs."""
    return {
        "id": job.id,
        "task": job.task,
        "queue": job.queue,
        "worker": job.worker,
        "claimed": iso(job.claimed_us),
        "for_s": None if job.claimed_us is None else max(0, now_us - job.claimed_us) / SECOND,
        "progress": job.progress,
        "progress_note": job.progress_note,
        "cancel_asked": job.cancel_asked,
    }
