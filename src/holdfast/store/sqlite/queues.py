"""Queues and their policies, in SQLite."""

from holdfast.model.queue import QueuePolicy, QueueRecord
from holdfast.store.protocol import Clock
from holdfast.store.sqlite.database import Database
from holdfast.store.sqlite.deleting import delete
from holdfast.store.sqlite.doorbell import Doorbell


class SqliteQueues:
    """The `queues` door."""

    def __init__(self, database: Database, bells: Doorbell, clock: Clock) -> None:
        self._db = database
        self._bells = bells
        self._now = clock

    def names(self) -> list[str]:
        with self._db.read() as connection:
            return [row[0] for row in connection.execute(self._sql("select name from ns_queue order by name"))]

    def set_policy(self, name: str, policy: QueuePolicy) -> bool:
        is_lifo = int(policy.order == "lifo")
        with self._db.read() as connection:
            row = connection.execute(self._sql("select is_lifo from ns_queue where name = ?"), (name,)).fetchone()
        if row is not None and row[0] == is_lifo:
            return False
        with self._db.write() as connection:
            connection.execute(
                self._sql(
                    "insert into ns_queue (name, is_lifo) values (?, ?) "
                    "on conflict (name) do update set is_lifo = excluded.is_lifo"
                ),
                (name, is_lifo),
            )
        return True

    def get(self, name: str, now_us: int | None = None) -> QueueRecord | None:
        now = self._now() if now_us is None else now_us
        with self._db.read() as connection:
            row = connection.execute(
                self._sql("select is_lifo, is_paused from ns_queue where name = ?"), (name,)
            ).fetchone()
            if row is None:
                return None
            counts = dict(connection.execute(self._db.statements["count_queue"], {"queue": name, "now": now}))
            moments = connection.execute(self._db.statements["moments"], {"queue": name, "now": now}).fetchone()
        shown = {state: count for state, count in counts.items() if count}
        return QueueRecord(name, QueuePolicy("lifo" if row[0] else "fifo"), bool(row[1]), shown, *moments)

    def pause(self, name: str) -> bool:
        return self._set_paused(name, 1)

    def resume(self, name: str) -> bool:
        changed = self._set_paused(name, 0)
        self._bells.ring("work")
        return changed

    def purge(self, name: str, now_us: int | None = None) -> int:
        with self._db.write() as connection:
            found = connection.execute(
                self._sql(
                    "select seq from ns_job where queue = ? "
                    "and state in ('waiting', 'scheduled', 'ready', 'parked', 'spilled')"
                ),
                (name,),
            ).fetchall()
            purged = delete(connection, self._db.statements, [row[0] for row in found])
        self._bells.ring("done")
        return purged

    def _set_paused(self, name: str, value: int) -> bool:
        with self._db.write() as connection:
            if value:  # a queue may be paused before its first job
                connection.execute(self._sql("insert or ignore into ns_queue (name) values (?)"), (name,))
            changed = connection.execute(
                self._sql("update ns_queue set is_paused = ? where name = ? and is_paused <> ?"),
                (value, name, value),
            )
            return changed.rowcount > 0

    def _sql(self, text: str) -> str:
        return self._db.statements.of(text)
