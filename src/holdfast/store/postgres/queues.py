"""Queues and their policies, in PostgreSQL."""

from typing import Any, Final

from holdfast.model.queue import QueuePolicy, QueueRecord
from holdfast.store.postgres.clock import Moments
from holdfast.store.postgres.database import Database
from holdfast.store.postgres.doorbell import Doorbell
from holdfast.store.postgres.schema import Connection

_COUNTED: Final = ("ready", "scheduled", "running", "parked", "succeeded", "failed", "cancelled", "expired")
"""The states that `queue.sql` counts, in its order."""


class PostgresQueues:
    """The `queues` door."""

    def __init__(self, database: Database, bells: Doorbell, moments: Moments) -> None:
        self._db = database
        self._bells = bells
        self._moments = moments

    def names(self) -> list[str]:
        return [row[0] for row in self._rows("select name from ns_queue order by name")]

    def set_policy(self, name: str, policy: QueuePolicy) -> bool:
        changed = self._rows(
            "insert into ns_queue as old (name, is_lifo) values (%(name)s, %(is_lifo)s) on conflict (name) do update "
            "set is_lifo = excluded.is_lifo where old.is_lifo <> excluded.is_lifo returning 1",
            name=name,
            is_lifo=policy.order == "lifo",
        )
        return bool(changed)

    def get(self, name: str, now_us: int | None = None) -> QueueRecord | None:
        values = {"queue": name, "now": self._moments.of(now_us)}
        row = self._db.do(lambda connection: connection.execute(self._db.statements["queue"], values).fetchone())
        if row is None:
            return None
        is_lifo, is_paused, *counts, oldest_us, next_us = row
        shown = {state: count for state, count in zip(_COUNTED, counts, strict=True) if count}
        return QueueRecord(name, QueuePolicy("lifo" if is_lifo else "fifo"), is_paused, shown, oldest_us, next_us)

    def pause(self, name: str) -> bool:
        # A queue may be paused before its first job.
        changed = self._rows(
            "insert into ns_queue as old (name, is_paused) values (%(name)s, true) on conflict (name) do update "
            "set is_paused = true where not old.is_paused returning 1",
            name=name,
        )
        return bool(changed)

    def resume(self, name: str) -> bool:
        changed = self._rows(
            "update ns_queue set is_paused = false where name = %(name)s and is_paused returning 1", name=name
        )
        self._bells.ring("work")
        return bool(changed)

    def purge(self, name: str, now_us: int | None = None) -> int:
        purged = self._db.write(lambda connection: self._purge(connection, name))
        self._bells.ring("done")
        return purged

    def _purge(self, connection: Connection, name: str) -> int:
        found = connection.execute(
            self._db.statements.of(
                "select seq from ns_job where queue = %s "
                "and state in ('waiting', 'scheduled', 'ready', 'parked', 'spilled') order by seq for update"
            ),
            (name,),
        )
        jobs = [row[0] for row in found]
        return connection.execute(self._db.statements["delete"], {"jobs": jobs}).rowcount

    def _rows(self, text: str, **values: object) -> list[tuple[Any, ...]]:
        return self._db.do(lambda connection: connection.execute(self._db.statements.of(text), values).fetchall())
