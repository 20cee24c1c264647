"""What people do to jobs, in PostgreSQL."""

from collections.abc import Iterable

from holdfast.store.postgres import workers as roster
from holdfast.store.postgres.clock import Moments
from holdfast.store.postgres.database import Database
from holdfast.store.postgres.doorbell import Doorbell
from holdfast.store.postgres.notices import WAKE
from holdfast.store.postgres.schema import Connection


class PostgresOperator:
    """The `operator` door."""

    def __init__(self, database: Database, bells: Doorbell, moments: Moments) -> None:
        self._db = database
        self._bells = bells
        self._moments = moments

    def cancel(self, ids: Iterable[str], now_us: int | None = None) -> dict[str, str]:
        asked = list(dict.fromkeys(ids))
        known = self._db.write(lambda connection: self._cancel(connection, asked, self._moments.of(now_us)))
        answers = {job_id: known.get(job_id, "unknown") for job_id in asked}
        self._bells.ring("done")
        if "asked" in answers.values():
            self._bells.ring("work", WAKE)  # its worker should beat now, and so learn of it
        return answers

    def retry(self, ids: Iterable[str], now_us: int | None = None) -> list[str]:
        asked = list(dict.fromkeys(ids))
        retried = self._touched("again", asked, {"ids": asked, "now": self._moments.of(now_us)})
        self._bells.ring("work")
        return retried

    def unpark(self, seals: dict[str, bytes | None], now_us: int | None = None) -> list[str]:
        unparked = self._touched(
            "unpark",
            list(seals),
            {"ids": list(seals), "seals": list(seals.values()), "now": self._moments.of(now_us)},
        )
        self._bells.ring("work")
        return unparked

    def delete(self, ids: Iterable[str], now_us: int | None = None) -> list[str]:
        asked = list(dict.fromkeys(ids))
        deleted = self._db.write(lambda connection: self._delete(connection, asked))
        self._bells.ring("done")
        return [job_id for job_id in asked if job_id in deleted]

    def dismiss(self, workers: Iterable[str], now_us: int | None = None) -> list[str]:
        named, now = list(workers), self._moments.of(now_us)
        asked = self._db.do(lambda connection: roster.dismiss(connection, self._db.statements, named, now))
        self._bells.ring("work", WAKE)  # they should beat now, and so learn of it
        return asked

    def _cancel(self, connection: Connection, ids: list[str], now_us: int | None) -> dict[str, str]:
        cancelled = connection.execute(self._db.statements["cancel"], {"ids": ids, "now": now_us}).fetchall()
        rest = connection.execute(
            self._db.statements.of("select id, 'final' from ns_job where id = any (%s::text[])"), (ids,)
        )
        return dict(rest.fetchall()) | dict(cancelled)

    def _delete(self, connection: Connection, ids: list[str]) -> set[str]:
        found = connection.execute(
            self._db.statements.of(
                "select seq, id from ns_job where id = any (%s::text[]) and state <> 'running' order by seq for update"
            ),
            (ids,),
        ).fetchall()
        connection.execute(self._db.statements["delete"], {"jobs": [seq for seq, _ in found]})
        return {job_id for _, job_id in found}

    def _touched(self, statement: str, asked: list[str], values: dict[str, object]) -> list[str]:
        found = self._db.do(lambda connection: connection.execute(self._db.statements[statement], values).fetchall())
        touched = {row[0] for row in found}
        return [job_id for job_id in asked if job_id in touched]
