"""Who holds a lease: the rows that make a worker's death final, and the evidence beside the file."""

import json
import sqlite3
from collections.abc import Iterable

import msgspec

from holdfast.errors import LeaseLost
from holdfast.model.verdict import CRASHED, Outcome, Verdict
from holdfast.model.worker import Beat, Rescued, WorkerRecord
from holdfast.policy.names import check_job_id
from holdfast.store.sqlite import rows
from holdfast.store.sqlite.lease import Leases
from holdfast.store.sqlite.schema import Statements
from holdfast.store.sqlite.settling import Settled, settle


class Roster:
    """The workers of one database."""

    def __init__(self, statements: Statements, leases: Leases) -> None:
        self._statements = statements
        self._leases = leases

    def enlist(self, connection: sqlite3.Connection, worker: WorkerRecord, now_us: int, boot_us: int) -> None:
        check_job_id(worker.id)
        known = connection.execute(self._statements.of("select 1 from ns_worker where id = ?"), (worker.id,))
        if known.fetchone():
            raise LeaseLost(f"worker {worker.id} has enlisted before; every start needs a new id")
        # The lock comes before the row: whoever sees the row can judge by the lock.
        self._leases.begin(worker.id, boot_us)
        connection.execute(
            self._statements.of(
                "insert into ns_worker (id, host, pid, tasks, queues, lease_us, started_us) values (?, ?, ?, ?, ?, ?, ?)"
            ),
            (worker.id, worker.host, worker.pid, json.dumps(worker.tasks), json.dumps(worker.queues),
             worker.lease_us, now_us),
        )  # fmt: skip

    def is_alive(self, connection: sqlite3.Connection, worker: str, boot_us: int) -> bool:
        """Tell whether the worker may act: not dead by the rows, and alive by the evidence."""
        row = connection.execute(
            self._statements.of("select lease_us from ns_worker where id = ? and ended_us is null"), (worker,)
        ).fetchone()
        return row is not None and self._leases.is_alive(worker, row[0], boot_us)

    def live(self, connection: sqlite3.Connection, boot_us: int) -> list[WorkerRecord]:
        return [
            msgspec.structs.replace(worker, report=self._leases.report(worker.id))
            for worker in self._not_ended(connection)
            if self._seems_alive(worker, boot_us)
        ]

    def dismiss(self, connection: sqlite3.Connection, workers: Iterable[str], boot_us: int) -> list[str]:
        asked = [worker for worker in dict.fromkeys(workers) if self.is_alive(connection, worker, boot_us)]
        sql = self._statements.of("update ns_worker set is_leaving = 1 where id = ?")
        connection.executemany(sql, [(worker,) for worker in asked])
        return asked

    def wishes(self, connection: sqlite3.Connection, worker: str) -> Beat:
        """Tell a living worker what people want of it."""
        asked = connection.execute(
            self._statements.of(
                "select token from ns_job where state = 'running' and worker = ? and cancel_asked = 1 order by seq"
            ),
            (worker,),
        ).fetchall()
        leaving = connection.execute(self._statements.of("select is_leaving from ns_worker where id = ?"), (worker,))
        return Beat(True, tuple(row[0] for row in asked), bool(leaving.fetchone()[0]))

    def silent(self, connection: sqlite3.Connection, boot_us: int) -> list[WorkerRecord]:
        """List workers whose row says alive and whose evidence says dead."""
        return [worker for worker in self._not_ended(connection) if not self._seems_alive(worker, boot_us)]

    def rescue(self, connection: sqlite3.Connection, now_us: int, boot_us: int) -> tuple[list[Rescued], Settled]:
        """Make the silent workers dead for ever and land what they held, all in the caller's transaction."""
        rescued: list[Rescued] = []
        settled = Settled()
        for worker in self.silent(connection, boot_us):
            error = f"worker {worker.id} fell silent: its lease ended"
            verdicts = self._verdicts(connection, worker.id, "crashed", CRASHED, error)
            part = self.end(connection, worker.id, verdicts, now_us)
            settled.has_ended |= part.has_ended
            settled.has_made_room |= part.has_made_room
            rescued.append(Rescued(worker.id, tuple(verdict.id for verdict in verdicts)))
        return rescued, settled

    def leave(self, connection: sqlite3.Connection, worker: str, now_us: int) -> Settled:
        return self.end(connection, worker, self._verdicts(connection, worker, "released", None, None), now_us)

    def end(self, connection: sqlite3.Connection, worker: str, verdicts: list[Verdict], now_us: int) -> Settled:
        connection.execute(
            self._statements.of("update ns_worker set ended_us = ? where id = ? and ended_us is null"),
            (now_us, worker),
        )
        return settle(connection, self._statements, verdicts, now_us)

    def _verdicts(
        self, connection: sqlite3.Connection, worker: str, outcome: Outcome, reason: str | None, error: str | None
    ) -> list[Verdict]:
        held = connection.execute(
            self._statements.of(
                # Read from end to end, an index of what runs, whoever runs it: this is done once in a worker's life.
                "select id, token, queue from ns_job indexed by ns_job_running "
                "where state = 'running' and worker = ? order by seq"
            ),
            (worker,),
        )
        return [Verdict(row[0], row[1], row[2], outcome, reason=reason, error=error) for row in held]

    def _not_ended(self, connection: sqlite3.Connection) -> list[WorkerRecord]:
        found = connection.execute(self._statements.of(f"{rows.WORKER} where ended_us is null order by id"))
        return [rows.worker(row) for row in found]

    def _seems_alive(self, worker: WorkerRecord, boot_us: int) -> bool:
        return self._leases.is_alive(worker.id, worker.lease_us, boot_us)
