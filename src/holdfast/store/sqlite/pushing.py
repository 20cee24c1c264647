"""Storing jobs: rows of their own, with their tags, in a transaction that the caller began."""

import json
import sqlite3
from collections.abc import Sequence

from holdfast.model.job import NewJob, Pushed, decided
from holdfast.store.sqlite.schema import Statements


def push(connection: sqlite3.Connection, statements: Statements, jobs: Sequence[NewJob], now_us: int) -> list[Pushed]:
    """Store the jobs, and tell what became of each, in the order given. The write lock must be held already."""
    before = connection.total_changes
    last = connection.execute(statements.of("select max(seq) from ns_job")).fetchone()[0] or 0
    connection.executemany(statements["push"], [_values(job, now_us) for job in jobs])
    if connection.total_changes - before == len(jobs):
        pushed = [Pushed(job.id, "created") for job in jobs]
    else:
        # The write lock is ours, so the rows above `last` are exactly those of this batch.
        fresh = connection.execute(statements.of("select id from ns_job where seq > ?"), (last,))
        pushed = decided(jobs, {row[0] for row in fresh})
    tagged = [job for job, answer in zip(jobs, pushed, strict=True) if job.tags and answer.decision == "created"]
    tags = [(tag, job.id) for job in tagged for tag in job.tags]
    if tags:
        connection.executemany(
            statements.of("insert or ignore into ns_tag (tag, job) select ?, seq from ns_job where id = ?"),
            tags,
        )
    return pushed


def _values(job: NewJob, now_us: int) -> tuple[object, ...]:
    due_us = max(now_us, now_us + job.delay_us if job.at_us is None else job.at_us)
    return (
        job.id, job.queue, job.task, "scheduled" if due_us > now_us else "ready", job.priority, due_us, now_us,
        job.expires_us, job.crash_budget, job.keep_done_s, job.keep_dead_s, job.result_ttl_s,
        json.dumps(job.tags) if job.tags else None, job.seal, job.envelope,
    )  # fmt: skip
