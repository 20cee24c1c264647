"""Who holds a lease: rows with beats. The row is what makes a worker's death final.

Locks are taken worker first, then jobs, by everyone: who claims holds the lease while it does (`for key share`), who
ends it waits for that (`for update`), and a beat is in nobody's way.
"""

from collections.abc import Iterable
from itertools import chain

import msgspec

from holdfast.errors import LeaseLost
from holdfast.model.verdict import CRASHED, Outcome, Verdict
from holdfast.model.worker import Beat, Rescued, WorkerRecord, WorkerReport
from holdfast.policy.names import check_job_id
from holdfast.store.postgres import rows
from holdfast.store.postgres.ledger import lock_queues
from holdfast.store.postgres.schema import Connection, Statements
from holdfast.store.postgres.settling import Settled, returning, settle


def enlist(connection: Connection, statements: Statements, worker: WorkerRecord, now_us: int | None) -> None:
    values = {
        "id": check_job_id(worker.id), "host": rows.text(worker.host), "pid": worker.pid, "tasks": list(worker.tasks),
        "queues": list(worker.queues), "lease": worker.lease_us, "now": now_us,
    }  # fmt: skip
    if connection.execute(statements["enlist"], values).fetchone() is None:
        raise LeaseLost(f"worker {worker.id} has enlisted before; every start needs a new id")


def beat(
    connection: Connection, statements: Statements, worker: str, now_us: int | None, report: WorkerReport | None
) -> Beat:
    told = None if report is None else msgspec.json.encode(report)
    row = connection.execute(statements["beat"], {"worker": worker, "now": now_us, "report": told}).fetchone()
    return Beat(False) if row is None else Beat(True, tuple(row[0]), row[1])


def leave(connection: Connection, statements: Statements, worker: str, now_us: int | None) -> Settled:
    connection.execute(statements["end_lease"], {"worker": worker, "now": now_us})
    verdicts = _verdicts(connection, statements, worker, "released", None, None)
    ledgers = lock_queues(connection, statements, (), now_us, bounded=returning(verdicts))
    return settle(connection, statements, verdicts, now_us, ledgers)


def rescue(connection: Connection, statements: Statements, now_us: int | None) -> tuple[list[Rescued], Settled]:
    """Make the silent workers dead for ever and land what they held, all in the caller's transaction."""
    silent = connection.execute(statements["silent"], {"now": now_us}).fetchall()
    held: dict[str, list[Verdict]] = {}
    for (worker,) in silent:
        connection.execute(statements["end_lease"], {"worker": worker, "now": now_us})
        error = f"worker {worker} fell silent: its lease ended"
        held[worker] = _verdicts(connection, statements, worker, "crashed", CRASHED, error)
    ledgers = lock_queues(connection, statements, (), now_us, bounded=returning(chain(*held.values())))
    # All of them at once: jobs are locked before keys are marked or forgotten.
    settled = settle(connection, statements, list(chain(*held.values())), now_us, ledgers)
    late = {lost.id for lost in settled.lost}  # settled by the worker itself, at the last moment
    rescued = [
        Rescued(worker, tuple(verdict.id for verdict in verdicts if verdict.id not in late))
        for worker, verdicts in held.items()
    ]
    return rescued, settled


def live(connection: Connection, statements: Statements, now_us: int | None) -> list[WorkerRecord]:
    found = connection.execute(
        statements.of(f"{rows.WORKER} where ended_us is null and beat_us + lease_us >= ns_now(%(now)s) order by id"),
        {"now": now_us},
    )
    return [rows.worker(row) for row in found]


def dismiss(connection: Connection, statements: Statements, workers: Iterable[str], now_us: int | None) -> list[str]:
    asked = list(dict.fromkeys(workers))
    found = connection.execute(
        statements.of(
            "update ns_worker set is_leaving = true "
            "where id = any (%(ids)s::text[]) and ended_us is null and beat_us + lease_us >= ns_now(%(now)s) "
            "returning id"
        ),
        {"ids": asked, "now": now_us},
    )
    live_ids = {row[0] for row in found}
    return [worker for worker in asked if worker in live_ids]


def _verdicts(
    connection: Connection, statements: Statements, worker: str, outcome: Outcome, reason: str | None, error: str | None
) -> list[Verdict]:
    held = connection.execute(
        statements.of("select id, token, queue from ns_job where state = 'running' and worker = %s order by seq"),
        (worker,),
    )
    return [Verdict(row[0], row[1], row[2], outcome, reason=reason, error=error) for row in held]
