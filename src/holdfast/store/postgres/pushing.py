"""Storing jobs: one statement, which inserts rows of its own and touches no others."""

import json
from collections.abc import Sequence

from holdfast.model.job import NewJob, Pushed, decided
from holdfast.store.flowing.ledger import NAMELESS
from holdfast.store.postgres.schema import Connection, Statements


def push(connection: Connection, statements: Statements, jobs: Sequence[NewJob], now_us: int | None) -> list[Pushed]:
    """Store the jobs, and tell what became of each, in the order given."""
    created = {row[0] for row in connection.execute(statements["push"], lists(jobs, now_us))}
    return decided(jobs, created)


def lists(jobs: Sequence[NewJob], now_us: int | None) -> dict[str, object]:
    """Give the parameters of the statement `push`."""
    return {
        "now": now_us,
        "ids": [job.id for job in jobs],
        "queues": [job.queue for job in jobs],
        "tasks": [job.task for job in jobs],
        "priorities": [job.priority for job in jobs],
        "delays": [job.delay_us for job in jobs],
        "ats": [job.at_us for job in jobs],
        "expiries": [job.expires_us for job in jobs],
        "budgets": [job.crash_budget for job in jobs],
        "keep_done": [job.keep_done_s for job in jobs],
        "keep_dead": [job.keep_dead_s for job in jobs],
        "result_ttls": [job.result_ttl_s for job in jobs],
        "tags": [json.dumps(job.tags) if job.tags else None for job in jobs],
        "seals": [job.seal for job in jobs],
        "envelopes": [job.envelope for job in jobs],
        "lanes": [job.lane or NAMELESS for job in jobs],
    }
