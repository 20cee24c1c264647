"""Queues and their policies, in PostgreSQL."""

from collections.abc import Iterable
from typing import Any, Final

from holdfast.model.queue import Drained, LaneRecord, QueueOverlay, QueuePolicy, QueueRecord
from holdfast.policy.overlay import unpacked
from holdfast.store.flowing import acts
from holdfast.store.flowing.ledger import Book, News
from holdfast.store.flowing.sight import drains, lane_records, may_have_drained, queue_standing
from holdfast.store.postgres.bounds import recount
from holdfast.store.postgres.clock import Moments
from holdfast.store.postgres.database import Database
from holdfast.store.postgres.doorbell import Doorbell
from holdfast.store.postgres.keys import let_go
from holdfast.store.postgres.ledger import PostgresLedger, lock_queues
from holdfast.store.postgres.schema import Connection

_COUNTED: Final = (
    "ready",
    "scheduled",
    "waiting",
    "spilled",
    "running",
    "parked",
    "succeeded",
    "failed",
    "cancelled",
    "expired",
)
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
        known = self._rows("select declared from ns_queue where name = %(name)s", name=name)
        if known and unpacked(known[0][0], None)[0] == policy:
            return False

        def set_policy(connection: Connection) -> None:
            ledger = self._made(connection, name)
            acts.set_policy(ledger, policy, ledger.now_us)

        self._db.write(set_policy)
        self._tell()
        return True

    def set_overlay(self, name: str, overlay: QueueOverlay) -> bool:
        def set_overlay(connection: Connection) -> bool:
            ledger = self._made(connection, name)
            if unpacked(None, ledger.load().overlay)[1] == overlay:
                return False
            acts.set_overlay(ledger, overlay, ledger.now_us)
            return True

        has_changed = self._db.write(set_overlay)
        if has_changed:
            self._tell()
        return has_changed

    def get(self, name: str, now_us: int | None = None) -> QueueRecord | None:
        row = self._one("queue", name, now_us)
        if row is None:
            return None
        now, news, is_paused, refused, *counts, oldest_us, next_us = row[4:]
        book = Book(*row[:4])
        shown = {state: count for state, count in zip(_COUNTED, counts, strict=True) if count}
        policy, overlay = unpacked(book.declared, book.overlay)
        standing, until_us = queue_standing(book, [News(*one) for one in news], shown.get("running", 0), now)
        return QueueRecord(
            name, policy, is_paused, shown, oldest_us, next_us, standing, until_us, overlay, refused, drains(book)
        )

    def pause(self, name: str, lane: str | None = None) -> bool:
        def pause(connection: Connection) -> bool:
            ledger = self._made(connection, name)  # a queue may be paused before its first job
            if lane is not None:
                return acts.pause_lane(ledger, lane, ledger.now_us)
            return self._set_paused(connection, name, is_paused=True)

        return self._db.write(pause)

    def resume(self, name: str, lane: str | None = None) -> bool:
        def resume(connection: Connection) -> bool:
            ledger = self._locked(connection, name)
            if ledger is None:
                return False
            has_changed = _release(ledger, lane) if ledger.load().is_flowing else False
            return (lane is None and self._set_paused(connection, name, is_paused=False)) or has_changed

        has_changed = self._db.write(resume)
        self._bells.ring("work")
        return has_changed

    def lanes(self, name: str, now_us: int | None = None) -> list[LaneRecord]:
        row = self._one("lanes", name, now_us)
        if row is None:
            return []
        now, kept, counts, news = row[4:]
        return lane_records(Book(*row[:4]), [News(*one) for one in news], kept, counts, now)

    def find_drained(self, names: Iterable[str]) -> list[Drained]:
        """Look without a lock first: a queue of which there is nothing to note or to tell holds up no claim."""
        asked = list(dict.fromkeys(names))
        text = self._db.statements["look_drained"]
        seen = self._db.do(lambda connection: connection.execute(text, {"queues": asked}).fetchall())
        candidates = {
            name
            for name, *kept, has_running, has_open in seen
            if may_have_drained(Book(*kept), has_running=has_running, has_open=has_open)
        }
        numbers = {name: self._find_drained(name) for name in asked if name in candidates}
        return [Drained(name, number) for name, number in numbers.items() if number is not None]

    def tell_drained(self, name: str, number: int) -> None:
        def tell(connection: Connection) -> None:
            ledger = self._locked(connection, name)
            if ledger is not None:
                acts.tell_drained(ledger, number)

        self._db.write(tell)

    def purge(self, name: str, now_us: int | None = None) -> int:
        purged = self._db.write(lambda connection: self._purge(connection, name))
        self._bells.ring("done")
        self._bells.ring("room")
        return purged

    # --- inside -----------------------------------------------------------------------------------------

    def _tell(self) -> None:
        """Ring for all that another policy may let go on: workers, and producers."""
        self._bells.ring("work")
        self._bells.ring("room")

    def _find_drained(self, name: str) -> int | None:
        def find(connection: Connection) -> int | None:
            ledger = self._locked(connection, name)
            return None if ledger is None else acts.find_drained(ledger)

        return self._db.write(find)

    def _made(self, connection: Connection, name: str) -> PostgresLedger:
        """Give the ledger of a queue, which is locked, and made if need be."""
        text = self._db.statements.of("insert into ns_queue (name) values (%s) on conflict (name) do nothing")
        connection.execute(text, (name,))
        ledger = self._locked(connection, name)
        assert ledger is not None, "queues are never deleted"
        return ledger

    def _locked(self, connection: Connection, name: str) -> PostgresLedger | None:
        return lock_queues(connection, self._db.statements, [name], self._moments.of(None)).get(name)

    def _set_paused(self, connection: Connection, name: str, *, is_paused: bool) -> bool:
        text = "update ns_queue set is_paused = %(value)s where name = %(name)s and is_paused <> %(value)s"
        return connection.execute(self._db.statements.of(text), {"name": name, "value": is_paused}).rowcount > 0

    def _purge(self, connection: Connection, name: str) -> int:
        lock_queues(connection, self._db.statements, (), None, bounded=[name])
        found = connection.execute(
            self._db.statements.of(
                "select seq from ns_job where queue = %s "
                "and state in ('waiting', 'scheduled', 'ready', 'parked', 'spilled') order by seq for update"
            ),
            (name,),
        )
        jobs = [row[0] for row in found]
        freed = connection.execute(self._db.statements["delete"], {"jobs": jobs}).fetchall()
        let_go(connection, self._db.statements, freed)
        recount(connection, self._db.statements, [name])
        return len(freed)

    def _one(self, statement: str, name: str, now_us: int | None) -> tuple[Any, ...] | None:
        values = {"queue": name, "now": self._moments.of(now_us)}
        return self._db.do(lambda connection: connection.execute(self._db.statements[statement], values).fetchone())

    def _rows(self, text: str, **values: object) -> list[tuple[Any, ...]]:
        return self._db.do(lambda connection: connection.execute(self._db.statements.of(text), values).fetchall())


def _release(ledger: PostgresLedger, lane: str | None) -> bool:
    if lane is None:
        return acts.release_queue(ledger, ledger.now_us)
    return acts.release_lane(ledger, lane, ledger.now_us)
