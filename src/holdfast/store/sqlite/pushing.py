"""Storing jobs: rows of their own, with their tags, in a transaction that the caller began."""

import json
import sqlite3
from collections.abc import Sequence

from holdfast.model.job import NewJob, Pushed, decided
from holdfast.store.flowing.news import of_arrivals
from holdfast.store.sqlite.ledger import begin_to_flow, leave_news
from holdfast.store.sqlite.schema import Statements


def push(connection: sqlite3.Connection, statements: Statements, jobs: Sequence[NewJob], now_us: int) -> list[Pushed]:
    """Store the jobs, and tell what became of each, in the order given. The write lock must be held already."""
    before = connection.total_changes
    last, flowing = _look(connection, statements, {job.queue for job in jobs})
    connection.executemany(statements["push"], [_values(job, now_us) for job in jobs])
    if connection.total_changes - before == len(jobs):
        created: Sequence[NewJob] = jobs
        pushed = [Pushed(job.id, "created") for job in jobs]
    else:
        # The write lock is ours, so the rows above `last` are exactly those of this batch.
        fresh = connection.execute(statements.of("select id from ns_job where seq > ?"), (last,))
        pushed = decided(jobs, {row[0] for row in fresh})
        created = [job for job, answer in zip(jobs, pushed, strict=True) if answer.decision == "created"]
    _tag(connection, statements, created)
    _tell_claims(connection, statements, created, flowing, now_us)
    return pushed


def _look(connection: sqlite3.Connection, statements: Statements, queues: set[str]) -> tuple[int, set[str]]:
    """Give the last seq, and which of these queues flow."""
    if len(queues) == 1:
        last, is_flowing = connection.execute(statements["before_push"], tuple(queues)).fetchone()
        return last or 0, queues if is_flowing else set()
    last, flowing = connection.execute(statements["before_mixed_push"], (json.dumps(list(queues)),)).fetchone()
    return last or 0, set(json.loads(flowing))


def _tag(connection: sqlite3.Connection, statements: Statements, created: Sequence[NewJob]) -> None:
    tags = [(tag, job.id) for job in created if job.tags for tag in job.tags]
    if tags:
        connection.executemany(
            statements.of("insert or ignore into ns_tag (tag, job) select ?, seq from ns_job where id = ?"),
            tags,
        )


def _tell_claims(
    connection: sqlite3.Connection,
    statements: Statements,
    created: Sequence[NewJob],
    flowing: set[str],
    now_us: int,
) -> None:
    """Leave news of the jobs in queues that flow. A queue begins to with its first job that has a lane."""
    laned = {job.queue for job in created if job.lane}
    if not flowing and not laned:
        return
    begin_to_flow(connection, statements, sorted(laned - flowing), now_us)
    told = flowing | laned
    arrivals = [(job.queue, job.lane) for job in created if job.queue in told and _due_us(job, now_us) <= now_us]
    leave_news(connection, statements, of_arrivals(arrivals, now_us))


def _values(job: NewJob, now_us: int) -> tuple[object, ...]:
    due_us = _due_us(job, now_us)
    return (
        job.id, job.queue, job.task, "scheduled" if due_us > now_us else "ready", job.priority, due_us, now_us,
        job.expires_us, job.crash_budget, job.keep_done_s, job.keep_dead_s, job.result_ttl_s,
        json.dumps(job.tags) if job.tags else None, job.seal, job.envelope, job.lane or None,
    )  # fmt: skip


def _due_us(job: NewJob, now_us: int) -> int:
    return max(now_us, now_us + job.delay_us if job.at_us is None else job.at_us)
