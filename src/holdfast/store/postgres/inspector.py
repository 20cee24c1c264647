"""Reading for people and tools, in PostgreSQL."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.model.finding import Finding
from holdfast.model.job import JobRecord
from holdfast.model.query import Query
from holdfast.model.run import Run
from holdfast.model.worker import WorkerRecord
from holdfast.store.conditions import Conditions
from holdfast.store.postgres import rows, workers
from holdfast.store.postgres.clock import Moments
from holdfast.store.postgres.database import Database
from holdfast.store.postgres.doorbell import LOOK_S, Doorbell
from holdfast.store.postgres.examining import examine
from holdfast.store.postgres.notices import WAKE
from holdfast.store.postgres.schema import Connection
from holdfast.store.postgres.shelves import Shelves


class PostgresInspector:
    """The `inspector` door."""

    def __init__(self, database: Database, bells: Doorbell, moments: Moments, shelves: Shelves) -> None:
        self._db = database
        self._shelves = shelves
        self._bells = bells
        self._moments = moments

    def get(self, job_id: str, now_us: int | None = None) -> JobRecord | None:
        found = self._rows(f"{rows.RECORD} where id = %(id)s", {"id": job_id, "now": self._moments.of(now_us)})
        return rows.record(found[0]) if found else None

    def find(self, query: Query, now_us: int | None = None) -> list[JobRecord]:
        where, values = _CONDITIONS.of(query, self._moments.of(now_us))
        if query.after is not None:
            where += " and seq < coalesce((select seq from ns_job where id = %(after)s), 0)"
        found = self._rows(f"{rows.RECORD} where {where} order by seq desc limit %(limit)s", values)
        return [rows.record(row) for row in found]

    def count(self, query: Query, now_us: int | None = None) -> int:
        where, values = _CONDITIONS.of(query, self._moments.of(now_us))
        return int(self._rows(f"{_COUNT} where {where}", values)[0][0])

    def history(self, job_id: str) -> list[Run]:
        return [
            rows.run(row) for row in self._rows(f"{rows.RUN} where job.id = %(id)s order by number", {"id": job_id})
        ]

    def next_due(self, queues: Sequence[str] | None = None) -> int | None:
        values = {"queues": None if queues is None else list(queues)}
        moment: int | None = self._rows(self._db.statements["next_due"], values)[0][0]
        return moment

    def wake_at(self, queues: Sequence[str] | None) -> float | None:
        """Tell a waiter in how many seconds something may be claimable: None for not before something happens."""
        values = {"queues": None if queues is None else list(queues), "now": self._moments.of(None)}

        def look(connection: Connection) -> tuple[Any, ...]:
            shelved = self._shelves.among(connection, queues)
            asked = connection.execute(self._db.statements["wake_at"], {**values, "shelved": shelved}, binary=True)
            due_us, now_us, unpaused = asked.fetchall()[0]
            has_ready = any(self._shelves.has_any(connection, name) for name in unpaused)
            return 0 if has_ready else due_us, now_us

        due_us, now_us = self._db.do(look)
        return None if due_us is None else (due_us - now_us) / 1e6

    def watch(self, ids: Sequence[str], timeout_s: float) -> list[str]:
        bell = self._bells.lend("done")
        if bell is None:
            return self._ended(ids)
        try:
            deadline = time.monotonic() + timeout_s
            rung = ""
            while True:
                ended = self._ended(ids)
                left_s = deadline - time.monotonic()
                if ended or left_s <= 0 or rung == WAKE:
                    return ended
                rung = bell.listen(min(left_s, LOOK_S))
                if self._db.is_closed:
                    return []
        finally:
            self._bells.give_back(bell)

    def workers(self, now_us: int | None = None) -> list[WorkerRecord]:
        now = self._moments.of(now_us)
        return self._db.do(lambda connection: workers.live(connection, self._db.statements, now))

    def examine(self) -> list[Finding]:
        return self._db.do(lambda connection: list(examine(connection, self._db)))

    def _ended(self, ids: Sequence[str]) -> list[str]:
        found = self._rows(
            "select id from ns_job where id = any (%(ids)s::text[]) and keep_until_us is null", {"ids": list(ids)}
        )
        unfinished = {row[0] for row in found}
        return [job_id for job_id in ids if job_id not in unfinished]

    def _rows(self, text: str, values: Mapping[str, object]) -> list[tuple[Any, ...]]:
        statement = self._db.statements.of(text)
        return self._db.do(lambda connection: connection.execute(statement, values, binary=True).fetchall())


_COUNT = "select count(*) from ns_job"
_CONDITIONS = Conditions("%({})s", "ns_now(%(now)s)", no_lane="lane = ''", has_lane="lane <> ''")
