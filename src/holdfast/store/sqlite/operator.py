"""What people do to jobs, in SQLite."""

import json
import sqlite3
from collections.abc import Callable, Iterable

from holdfast.store.protocol import Clock
from holdfast.store.seenset import Ending, failures
from holdfast.store.sqlite.bounds import recount
from holdfast.store.sqlite.database import Database
from holdfast.store.sqlite.deleting import delete
from holdfast.store.sqlite.doorbell import WAKE, Doorbell
from holdfast.store.sqlite.keys import let_go
from holdfast.store.sqlite.seensets import end
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
        queues: set[str] = set()
        ends: list[Ending] = []
        with self._db.write() as connection:
            now = self._now() if now_us is None else now_us
            for job_id in dict.fromkeys(ids):
                row = connection.execute(self._db.statements["cancel"], {"now": now, "id": job_id}).fetchone()
                answers[job_id] = row[0] if row else self._why_not(connection, job_id)
                if row and row[0] == "cancelled":
                    queues.add(row[1])
                    let_go(connection, self._db.statements, [row[1:3]])
                    ends += failures(row[1], [row[3]])
            recount(connection, self._db.statements, queues)
            end(connection, self._db.statements, ends, now)
        self._bells.ring("done")
        self._tell_of_room(queues)
        if "asked" in answers.values():
            self._bells.ring("work", WAKE)  # its worker should beat now, and so learn of it
        return answers

    def retry(self, ids: Iterable[str], now_us: int | None = None) -> list[str]:
        retried: list[str] = []
        queues: set[str] = set()
        with self._db.write() as connection:
            now = self._now() if now_us is None else now_us
            for job_id in dict.fromkeys(ids):
                for row in connection.execute(self._db.statements["again"], (now, job_id)).fetchall():
                    retried.append(row[0])
                    queues.add(row[1])
            self._tell_claims(connection, retried, now)
            recount(connection, self._db.statements, queues)
        self._bells.ring("work")
        return retried

    def unpark(self, seals: dict[str, bytes | None], now_us: int | None = None) -> list[str]:
        unparked: list[str] = []
        queues: set[str] = set()
        with self._db.write() as connection:
            for job_id, seal in seals.items():
                rows = connection.execute(
                    self._sql(
                        "update ns_job set state = 'ready', reason = null, error = null, traceback = null, "
                        "seal = coalesce(?, seal) where id = ? and state = 'parked' returning id, queue"
                    ),
                    (seal, job_id),
                )
                for row in rows.fetchall():
                    unparked.append(row[0])
                    queues.add(row[1])
            self._tell_claims(connection, unparked, self._now() if now_us is None else now_us)
            recount(connection, self._db.statements, queues)
        self._bells.ring("work")
        return unparked

    def delete(self, ids: Iterable[str], now_us: int | None = None) -> list[str]:
        deleted: list[str] = []
        queues: set[str] = set()
        with self._db.write() as connection:
            for job_id in dict.fromkeys(ids):
                row = connection.execute(
                    self._sql("select seq, queue from ns_job where id = ? and state <> 'running'"), (job_id,)
                ).fetchone()
                if row is not None:
                    delete(connection, self._db.statements, [row[0]])
                    deleted.append(job_id)
                    queues.add(row[1])
            recount(connection, self._db.statements, queues)
        self._bells.ring("done")
        self._tell_of_room(queues)
        return deleted

    def dismiss(self, workers: Iterable[str], now_us: int | None = None) -> list[str]:
        with self._db.write() as connection:
            asked = self._roster.dismiss(connection, workers, self._lease_now(now_us))
        self._bells.ring("work", WAKE)  # they should beat now, and so learn of it
        return asked

    def _why_not(self, connection: sqlite3.Connection, job_id: str) -> str:
        found = connection.execute(self._sql("select 1 from ns_job where id = ?"), (job_id,)).fetchone()
        return "final" if found else "unknown"

    def _tell_of_room(self, queues: set[str]) -> None:
        """Ring for those who wait for what is made room for: jobs that wait for a key or for room, and producers."""
        if queues:
            self._bells.ring("work")
            self._bells.ring("room")

    def _tell_claims(self, connection: sqlite3.Connection, ids: list[str], now_us: int) -> None:
        if ids:
            connection.execute(self._db.statements["stir_jobs"], {"ids": json.dumps(ids), "now": now_us})

    def _sql(self, text: str) -> str:
        return self._db.statements.of(text)
