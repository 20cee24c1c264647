"""Rows as the rest of the house knows them."""

from typing import Any, Final

import msgspec

from holdfast.model.job import JobRecord
from holdfast.model.run import Run
from holdfast.model.states import seen_as
from holdfast.model.worker import WorkerRecord, WorkerReport

RECORD: Final = """
select id, queue, task, state, priority, due_us, created_us, envelope, seal, expires_us, generation, deliveries,
       failures, crashes, crash_budget, worker, claimed_us, finished_us, keep_until_us, reason, error, traceback,
       result, result_until_us, cancel_asked, progress, progress_note, tags,
       nullif(lane, ''), key, version, ns_now(%(now)s)
  from ns_job
"""
RUN: Final = """
select job.id, number, run.generation, run.worker, run.token, run.claimed_us, ended_us, took_us, outcome,
       run.reason, run.error, run.traceback
  from ns_run as run join ns_job as job on job.seq = run.job
"""
WORKER: Final = "select id, host, pid, tasks, queues, lease_us, started_us, is_leaving, report from ns_worker"


def record(row: tuple[Any, ...]) -> JobRecord:
    """Make a record of a row of RECORD. A result past its time to live does not show."""
    *values, now_us = row
    values[3] = seen_as(values[3], values[5], now_us)
    if values[23] is not None and values[23] <= now_us:
        values[22] = None
    values[27] = tuple(values[27] or ())
    return JobRecord(*values)


def run(row: tuple[Any, ...]) -> Run:
    return Run(*row)


def worker(row: tuple[Any, ...]) -> WorkerRecord:
    name, host, pid, tasks, queues, lease_us, started_us, is_leaving, told = row
    report = None if told is None else msgspec.json.decode(told, type=WorkerReport)
    return WorkerRecord(name, host, pid, tuple(tasks), tuple(queues), lease_us, started_us, is_leaving, report)


def text(value: str | None) -> str | None:
    """Give text that PostgreSQL can hold: what a task says of its failure may have a NUL or half a character in it."""
    if value is None or (value.isascii() and "\0" not in value):
        return value
    return value.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode("utf-8")
