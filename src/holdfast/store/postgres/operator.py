"""What people do to jobs, in PostgreSQL."""

from collections.abc import Iterable
from typing import Any

from holdfast.store.postgres import seensets
from holdfast.store.postgres import workers as roster
from holdfast.store.postgres.bounds import recount
from holdfast.store.postgres.clock import Moments
from holdfast.store.postgres.database import Database
from holdfast.store.postgres.doorbell import Doorbell
from holdfast.store.postgres.keys import columns, let_go
from holdfast.store.postgres.ledger import lock_queues
from holdfast.store.postgres.notices import WAKE
from holdfast.store.postgres.schema import Connection
from holdfast.store.postgres.talk import put_to
from holdfast.store.seenset import failures


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
        self._tell_of_room(is_any="cancelled" in answers.values())
        if "asked" in answers.values():
            self._bells.ring("work", WAKE)  # its worker should beat now, and so learn of it
        return answers

    def retry(self, ids: Iterable[str], now_us: int | None = None) -> list[str]:
        asked = list(dict.fromkeys(ids))
        retried = self._db.write(lambda connection: self._retry(connection, asked, self._moments.of(now_us)))
        self._bells.ring("work")
        return retried

    def unpark(self, seals: dict[str, bytes | None], now_us: int | None = None) -> list[str]:
        values = {"ids": list(seals), "seals": list(seals.values()), "now": self._moments.of(now_us)}
        unparked = self._db.write(lambda connection: self._unpark(connection, values))
        self._bells.ring("work")
        return unparked

    def delete(self, ids: Iterable[str], now_us: int | None = None) -> list[str]:
        asked = list(dict.fromkeys(ids))
        deleted = self._db.write(lambda connection: self._delete(connection, asked))
        self._bells.ring("done")
        self._tell_of_room(is_any=bool(deleted))
        return [job_id for job_id in asked if job_id in deleted]

    def dismiss(self, workers: Iterable[str], now_us: int | None = None) -> list[str]:
        named, now = list(workers), self._moments.of(now_us)
        asked = self._db.do(lambda connection: roster.dismiss(connection, self._db.statements, named, now))
        self._bells.ring("work", WAKE)  # they should beat now, and so learn of it
        return asked

    # --- inside: each in one transaction ----------------------------------------------------------------

    def _cancel(self, connection: Connection, ids: list[str], now_us: int | None) -> dict[str, str]:
        bounded = self._lock_bounded(connection, ids)
        found = connection.execute(self._db.statements["cancel"], {"ids": ids, "now": now_us}).fetchall()
        cancelled = {job_id: answer for job_id, answer, *_ in found}
        ended = [row[2:] for row in found if row[1] == "cancelled"]
        let_go(connection, self._db.statements, [(queue, key) for queue, key, _ in ended])
        recount(connection, self._db.statements, bounded)
        ends = [end for queue, _, digest in ended for end in failures(queue, [digest])]
        put_to(connection, seensets.end(self._db.statements, ends, now_us))
        rest = connection.execute(
            self._db.statements.of("select id, 'final' from ns_job where id = any (%s::text[])"), (ids,)
        )
        return dict(rest.fetchall()) | cancelled

    def _retry(self, connection: Connection, ids: list[str], now_us: int | None) -> list[str]:
        bounded = self._lock_bounded(connection, ids)
        text = "select id, queue, key from ns_job where id = any (%s::text[]) and key is not null"
        keyed = {row[0]: row[1:] for row in connection.execute(self._db.statements.of(text), (ids,))}
        locked = columns(keyed.values())
        if keyed:
            connection.execute(self._db.statements["lock_keys"], locked)
        # One by one, where one may get the key that the next one would have.
        batches = [[job_id for job_id in ids if job_id not in keyed], *([job_id] for job_id in ids if job_id in keyed)]
        retried: set[str] = set()
        for batch in filter(None, batches):
            found = connection.execute(self._db.statements["again"], {"ids": batch, "now": now_us})
            retried.update(row[0] for row in found)
        if keyed:
            connection.execute(self._db.statements["unlock_keys"], locked)
        recount(connection, self._db.statements, bounded)
        return [job_id for job_id in ids if job_id in retried]

    def _unpark(self, connection: Connection, values: dict[str, Any]) -> list[str]:
        bounded = self._lock_bounded(connection, values["ids"])
        unparked = {row[0] for row in connection.execute(self._db.statements["unpark"], values)}
        recount(connection, self._db.statements, bounded)
        return [job_id for job_id in values["ids"] if job_id in unparked]

    def _delete(self, connection: Connection, ids: list[str]) -> set[str]:
        bounded = self._lock_bounded(connection, ids)
        found = connection.execute(
            self._db.statements.of(
                "select seq, id from ns_job where id = any (%s::text[]) and state <> 'running' order by seq for update"
            ),
            (ids,),
        ).fetchall()
        freed = connection.execute(self._db.statements["delete"], {"jobs": [seq for seq, _ in found]}).fetchall()
        let_go(connection, self._db.statements, freed)
        recount(connection, self._db.statements, bounded)
        return {job_id for _, job_id in found}

    def _lock_bounded(self, connection: Connection, ids: list[str]) -> list[str]:
        """Lock the queues of these jobs that have a bound, before the jobs."""
        text = self._db.statements.of("select distinct queue from ns_job where id = any (%s::text[])")
        queues = [row[0] for row in connection.execute(text, (ids,))]
        return list(lock_queues(connection, self._db.statements, (), None, bounded=queues))

    def _tell_of_room(self, *, is_any: bool) -> None:
        """Ring for those who wait for what is made room for: jobs that wait for a key or for room, and producers."""
        if is_any:
            self._bells.ring("work")
            self._bells.ring("room")
