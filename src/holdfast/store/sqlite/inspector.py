"""Reading for people and tools, in SQLite."""

import json
import time
from collections.abc import Callable, Iterator, Sequence

from holdfast.model.finding import Finding
from holdfast.model.job import JobRecord
from holdfast.model.query import Query
from holdfast.model.run import Run
from holdfast.model.worker import WorkerRecord
from holdfast.store.conditions import Conditions
from holdfast.store.protocol import Clock
from holdfast.store.sqlite import rows
from holdfast.store.sqlite.database import Database
from holdfast.store.sqlite.doorbell import WAKE, Doorbell
from holdfast.store.sqlite.workers import Roster

LOOK_S = 0.5


class SqliteInspector:
    """The `inspector` door."""

    def __init__(
        self,
        database: Database,
        bells: Doorbell,
        roster: Roster,
        clock: Clock,
        lease_clock: Callable[[int | None], int],
        examine: Callable[[], Iterator[Finding]],
    ) -> None:
        self._db = database
        self._bells = bells
        self._roster = roster
        self._now = clock
        self._lease_now = lease_clock
        self._examine = examine

    def get(self, job_id: str, now_us: int | None = None) -> JobRecord | None:
        now = self._now() if now_us is None else now_us
        with self._db.read() as connection:
            row = connection.execute(self._sql(f"{rows.RECORD} where id = ?"), (job_id,)).fetchone()
        return None if row is None else rows.record(row, now)

    def find(self, query: Query, now_us: int | None = None) -> list[JobRecord]:
        now = self._now() if now_us is None else now_us
        where, values = _CONDITIONS.of(query, now)
        if query.after is not None:
            where += " and seq < coalesce((select seq from ns_job where id = :after), 0)"
        with self._db.read() as connection:
            found = connection.execute(
                self._sql(f"{rows.RECORD} where {where} order by {_order(query)} limit :limit"), values
            ).fetchall()
        return [rows.record(row, now) for row in found]

    def count(self, query: Query, now_us: int | None = None) -> int:
        where, values = _CONDITIONS.of(query, self._now() if now_us is None else now_us)
        with self._db.read() as connection:
            row = connection.execute(self._sql(f"{_COUNT} where {where}"), values).fetchone()
        return int(row[0])

    def history(self, job_id: str) -> list[Run]:
        with self._db.read() as connection:
            found = connection.execute(self._sql(f"{rows.RUN} where ns_job.id = ? order by number"), (job_id,))
            return [rows.run(row) for row in found]

    def next_due(self, queues: Sequence[str] | None = None) -> int | None:
        return self._moment("next_due", queues)

    def wake_at(self, queues: Sequence[str] | None) -> int | None:
        """Tell a waiter when something may be claimable: 0 for now, None for not before something happens."""
        return self._moment("wake_at", queues)

    def watch(self, ids: Sequence[str], timeout_s: float) -> list[str]:
        bell = self._bells.lend("done")
        if bell is None:
            return self._ended(ids)
        try:
            deadline = time.monotonic() + timeout_s
            rung = bell.drain()
            while True:
                ended = self._ended(ids)
                left_s = deadline - time.monotonic()
                if ended or left_s <= 0 or WAKE in rung:
                    return ended
                rung = bell.listen(min(left_s, LOOK_S))
                if self._db.is_closed:
                    return []
        finally:
            self._bells.give_back("done", bell)

    def examine(self) -> list[Finding]:
        return list(self._examine())

    def workers(self, now_us: int | None = None) -> list[WorkerRecord]:
        with self._db.read() as connection:
            return self._roster.live(connection, self._lease_now(now_us))

    def _moment(self, statement: str, queues: Sequence[str] | None) -> int | None:
        names = None if queues is None else json.dumps(list(queues))
        with self._db.read() as connection:
            moment: int | None = connection.execute(self._db.statements[statement], {"queues": names}).fetchone()[0]
        return moment

    def _ended(self, ids: Sequence[str]) -> list[str]:
        with self._db.read() as connection:
            found = connection.execute(
                self._sql(
                    "select id from ns_job where id in (select value from json_each(?)) and keep_until_us is null"
                ),
                (json.dumps(list(ids)),),
            )
            unfinished = {row[0] for row in found}
        return [job_id for job_id in ids if job_id not in unfinished]

    def _sql(self, text: str) -> str:
        return self._db.statements.of(text)


_COUNT = "select count(*) from ns_job"
_CONDITIONS = Conditions(":{}", ":now", no_lane="lane is null", has_lane="lane is not null")


def _order(query: Query) -> str:
    """Newest first. Running jobs are few: found by their index and then sorted (`+`), not by a walk over all jobs."""
    return "+seq desc" if query.states == ("running",) else "seq desc"
