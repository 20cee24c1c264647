"""What people do to jobs, in SQLite."""

import json
import sqlite3
from collections.abc import Callable, Iterable

from holdfast.store.protocol import Clock
from holdfast.store.sqlite.database import Database
from holdfast.store.sqlite.deleting import delete
from holdfast.store.sqlite.doorbell import WAKE, Doorbell
from holdfast.store.sqlite.workers import Roster


class SqliteOperator:
    """The `operator` door."""

    def __init__(
        self,
        database: Database,
        bells: Doorbell,
        roster: Roster,
        clock: Clock,
        lease_now: Callable[[int | None], int],
    ) -> None:
        self._db = database
        self._bells = bells
        self._roster = roster
        self._now = clock
        self._lease_now = lease_now

    def cancel(self, ids: Iterable[str], now_us: int | None = None) -> dict[str, str]:
        answers: dict[str, str] = {}
        with self._db.write() as connection:
            now = self._now() if now_us is None else now_us
            for job_id in dict.fromkeys(ids):
                row = connection.execute(self._db.statements["cancel"], {"now": now, "id": job_id}).fetchone()
                known = (
                    row
                    or connection.execute(self._sql("select 'final' from ns_job where id = ?"), (job_id,)).fetchone()
                )
                answers[job_id] = known[0] if known else "unknown"
        self._bells.ring("done")
        if "asked" in answers.values():
            self._bells.ring("work", WAKE)  # its worker should beat now, and so learn of it
        return answers

    def retry(self, ids: Iterable[str], now_us: int | None = None) -> list[str]:
        retried: list[str] = []
        with self._db.write() as connection:
            now = self._now() if now_us is None else now_us
            for job_id in dict.fromkeys(ids):
                retried += [row[0] for row in connection.execute(self._db.statements["again"], (now, job_id))]
            self._tell_claims(connection, retried, now)
        self._bells.ring("work")
        return retried

    def unpark(self, seals: dict[str, bytes | None], now_us: int | None = None) -> list[str]:
        unparked: list[str] = []
        with self._db.write() as connection:
            for job_id, seal in seals.items():
                rows = connection.execute(
                    self._sql(
                        "update ns_job set state = 'ready', reason = null, error = null, traceback = null, "
                        "seal = coalesce(?, seal) where id = ? and state = 'parked' returning id"
                    ),
                    (seal, job_id),
                )
                unparked += [row[0] for row in rows]
            self._tell_claims(connection, unparked, self._now() if now_us is None else now_us)
        self._bells.ring("work")
        return unparked

    def delete(self, ids: Iterable[str], now_us: int | None = None) -> list[str]:
        deleted: list[str] = []
        with self._db.write() as connection:
            for job_id in dict.fromkeys(ids):
                row = connection.execute(
                    self._sql("select seq from ns_job where id = ? and state <> 'running'"), (job_id,)
                ).fetchone()
                if row is not None:
                    delete(connection, self._db.statements, [row[0]])
                    deleted.append(job_id)
        self._bells.ring("done")
        return deleted

    def dismiss(self, workers: Iterable[str], now_us: int | None = None) -> list[str]:
        with self._db.write() as connection:
            asked = self._roster.dismiss(connection, workers, self._lease_now(now_us))
        self._bells.ring("work", WAKE)  # they should beat now, and so learn of it
        return asked

    def _tell_claims(self, connection: sqlite3.Connection, ids: list[str], now_us: int) -> None:
        if ids:
            connection.execute(self._db.statements["stir_jobs"], {"ids": json.dumps(ids), "now": now_us})

    def _sql(self, text: str) -> str:
        return self._db.statements.of(text)
