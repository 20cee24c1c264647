"""What `--json` prints: dictionaries with stable keys, moments in ISO 8601 UTC, no bytes."""

from msgspec import UNSET

from holdfast.cli.times import iso
from holdfast.model.job import JobRecord
from holdfast.model.queue import LaneRecord, QueueOverlay, QueuePolicy, QueueRecord, Rate
from holdfast.model.run import Run
from holdfast.model.seen import SeenRecord
from holdfast.model.why import Why
from holdfast.model.worker import WorkerRecord
from holdfast.policy.moments import SECOND
from holdfast.policy.rates import shown_breaker, shown_rate, shown_time

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
        "lane": job.lane,
        "key": job.key,
        "version": job.version,
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
        "standing": queue.standing,
        "until": iso(queue.until_us),
        "policy": settings_document(queue.policy),
        "overlay": overlay_document(queue),
        "refused": queue.refused,
        "drains": queue.drains,
    }


def settings_document(policy: QueuePolicy) -> Document:
    """Tell a policy as `queue set` takes it."""
    return {
        "order": policy.order,
        "ageing": None if policy.ageing_us is None else shown_time(policy.ageing_us),
        **_rate("", policy.limits.rate),
        "max_running": policy.limits.max_running,
        "breaker": shown_breaker(policy.limits.breaker),
        **_rate("lane_", policy.lane_limits.rate),
        "lane_max_running": policy.lane_limits.max_running,
        "lane_breaker": shown_breaker(policy.lane_limits.breaker),
        "weights": dict(sorted(policy.weights.items())),
        "max_size": policy.max_size,
        "on_full": policy.on_full,
    }


def overlay_document(queue: QueueRecord) -> Document:
    """Tell what of a queue's settings was set by hand; what was lifted is null."""
    names = [
        name.removesuffix("_us") for name in QueueOverlay.__struct_fields__ if getattr(queue.overlay, name) is not UNSET
    ]
    names += [name.replace("rate", "burst") for name in names if name.endswith("rate")]
    return {name: value for name, value in settings_document(queue.policy).items() if name in names}


def _rate(prefix: str, rate: Rate | None) -> Document:
    return {f"{prefix}rate": shown_rate(rate), f"{prefix}burst": None if rate is None else rate.burst}


def lane_document(lane: LaneRecord) -> Document:
    """Tell all of a lane."""
    return {
        "name": lane.name,
        "ready": lane.ready,
        "running": lane.running,
        "standing": lane.standing,
        "until": iso(lane.until_us),
    }


def seen_document(seen: SeenRecord) -> Document:
    """Tell all of a seen-set."""
    shape = seen.sketch
    return {
        "queue": seen.queue,
        "count": seen.count,
        "is_approximate": shape is not None,
        "capacity": None if shape is None else shape.capacity,
        "error": None if shape is None else shape.error,
        "error_now": seen.error_now,
        "most_bytes": seen.most_bytes,
    }


def why_document(job: JobRecord, answer: Why) -> Document:
    """Tell why a job does not run."""
    return {
        "id": job.id,
        "task": job.task,
        "queue": job.queue,
        "lane": job.lane,
        "key": job.key,
        "state": answer.state,
        "at": iso(answer.now_us),
        "starts": iso(answer.starts_us),
        "reasons": [
            {
                "kind": reason.kind,
                "sentence": reason.sentence,
                "until": iso(reason.until_us),
                "remedy": reason.remedy,
            }
            for reason in answer.reasons
        ],
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
