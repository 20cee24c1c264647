"""Rows as the rest of the house knows them."""

import json
from typing import Any, Final

from holdfast.model.job import JobRecord
from holdfast.model.run import Run
from holdfast.model.states import seen_as
from holdfast.model.worker import WorkerRecord

RECORD: Final = """
select id, queue, task, state, priority, due_us, created_us, envelope, seal, expires_us, generation, deliveries,
       failures, crashes, crash_budget, worker, claimed_us, finished_us, keep_until_us, reason, error, traceback,
       result, result_until_us, cancel_asked, progress, progress_note, tags, lane, key,
       version
  from ns_job
"""
RUN: Final = """
select ns_job.id, number, ns_run.generation, ns_run.worker, ns_run.token, ns_run.claimed_us, ended_us, took_us, outcome,
       ns_run.reason, ns_run.error, ns_run.traceback
  from ns_run join ns_job on ns_job.seq = ns_run.job
"""
WORKER: Final = "select id, host, pid, tasks, queues, lease_us, started_us, is_leaving from ns_worker"


def record(row: tuple[Any, ...], now_us: int) -> JobRecord:
    """Make a record of a row of RECORD. A result past its time to live does not show."""
    values = list(row)
    values[3] = seen_as(values[3], values[5], now_us)
    if values[23] is not None and values[23] <= now_us:
        values[22] = None
    values[24] = bool(values[24])
    values[27] = tags_of(values[27])
    return JobRecord(*values)


def tags_of(text: str | None) -> tuple[str, ...]:
    return tuple(json.loads(text)) if text else ()


def run(row: tuple[Any, ...]) -> Run:
    return Run(*row)


def worker(row: tuple[Any, ...]) -> WorkerRecord:
    name, host, pid, tasks, queues, lease_us, started_us, is_leaving = row
    known = tuple(json.loads(tasks)), tuple(json.loads(queues))
    return WorkerRecord(name, host, pid, *known, lease_us, started_us, bool(is_leaving))
