"""Queues and their policies, in SQLite."""

import json
import sqlite3
from collections.abc import Iterable, Sequence

from holdfast.model.queue import Drained, LaneRecord, QueueOverlay, QueuePolicy, QueueRecord
from holdfast.policy.overlay import unpacked
from holdfast.store.flowing import acts
from holdfast.store.flowing.ledger import Book, News
from holdfast.store.flowing.sight import drains, lane_records, may_have_drained, queue_standing
from holdfast.store.protocol import Clock
from holdfast.store.sqlite.bounds import recount
from holdfast.store.sqlite.database import Database
from holdfast.store.sqlite.deleting import delete
from holdfast.store.sqlite.doorbell import Doorbell
from holdfast.store.sqlite.ledger import SqliteLedger, read_book


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
        with self._db.read() as connection:
            known = self._book(connection, name)
        if known and unpacked(known.declared, None)[0] == policy:
            return False
        with self._db.write() as connection:
            acts.set_policy(self._ledger(connection, name), policy, self._now())
        self._tell()
        return True

    def set_overlay(self, name: str, overlay: QueueOverlay) -> bool:
        with self._db.write() as connection:
            ledger = self._ledger(connection, name)
            if unpacked(None, ledger.load().overlay)[1] == overlay:
                return False
            acts.set_overlay(ledger, overlay, self._now())
        self._tell()
        return True

    def get(self, name: str, now_us: int | None = None) -> QueueRecord | None:
        now = self._now() if now_us is None else now_us
        with self._db.snapshot() as connection:
            book = self._book(connection, name)
            if book is None:
                return None
            values = {"queue": name, "now": now}
            counts = dict(connection.execute(self._db.statements["count_queue"], values))
            oldest_us, next_us, is_paused, refused = connection.execute(
                self._db.statements["moments"], values
            ).fetchone()
            news = self._endings(connection, name)
        policy, overlay = unpacked(book.declared, book.overlay)
        standing, until_us = queue_standing(book, news, counts["running"], now)
        return QueueRecord(
            name=name,
            policy=policy,
            is_paused=bool(is_paused),
            counts={state: count for state, count in counts.items() if count},
            oldest_ready_us=oldest_us,
            next_due_us=next_us,
            standing=standing,
            until_us=until_us,
            overlay=overlay,
            refused=refused,
            drains=drains(book),
        )

    def pause(self, name: str, lane: str | None = None) -> bool:
        with self._db.write() as connection:
            ledger = self._ledger(connection, name)  # a queue may be paused before its first job
            if lane is not None:
                return acts.pause_lane(ledger, lane, self._now())
            return self._set_paused(connection, name, 1)

    def resume(self, name: str, lane: str | None = None) -> bool:
        with self._db.write() as connection:
            book = self._book(connection, name)
            if book is None:
                return False
            has_changed = self._release(connection, name, lane) if book.is_flowing else False
            has_changed |= lane is None and self._set_paused(connection, name, 0)
        self._bells.ring("work")
        return has_changed

    def lanes(self, name: str, now_us: int | None = None) -> list[LaneRecord]:
        now = self._now() if now_us is None else now_us
        with self._db.snapshot() as connection:
            book = self._book(connection, name)
            if book is None:
                return []
            kept = connection.execute(self._sql("select lane, flow from ns_lane where queue = ?"), (name,)).fetchall()
            counts = connection.execute(self._db.statements["count_lanes"], {"queue": name}).fetchall()
            news = self._endings(connection, name)
        return lane_records(book, news, kept, counts, now)

    def find_drained(self, names: Iterable[str]) -> list[Drained]:
        """Look without the lock first: a queue of which there is nothing to note or to tell costs nobody a write."""
        asked = list(dict.fromkeys(names))
        candidates = self._may_have_drained(asked)
        if not candidates:
            return []
        with self._db.write() as connection:
            numbers = {
                name: acts.find_drained(SqliteLedger(connection, self._db.statements, name, self._now()))
                for name in asked
                if name in candidates
            }
        return [Drained(name, number) for name, number in numbers.items() if number is not None]

    def tell_drained(self, name: str, number: int) -> None:
        with self._db.write() as connection:
            if self._book(connection, name) is not None:
                acts.tell_drained(SqliteLedger(connection, self._db.statements, name, self._now()), number)

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
            recount(connection, self._db.statements, [name])
        self._bells.ring("done")
        self._bells.ring("room")
        return purged

    # --- inside -----------------------------------------------------------------------------------------

    def _may_have_drained(self, names: Sequence[str]) -> set[str]:
        with self._db.read() as connection:
            found = connection.execute(self._db.statements["look_drained"], {"queues": json.dumps(names)}).fetchall()
        return {
            name
            for name, *kept, has_running, has_open in found
            if may_have_drained(Book(*kept), has_running=bool(has_running), has_open=bool(has_open))
        }

    def _tell(self) -> None:
        """Ring for all that another policy may let go on: workers, and producers."""
        self._bells.ring("work")
        self._bells.ring("room")

    def _ledger(self, connection: sqlite3.Connection, name: str) -> SqliteLedger:
        """Give the ledger of a queue, which is made if need be."""
        connection.execute(self._sql("insert or ignore into ns_queue (name) values (?)"), (name,))
        return SqliteLedger(connection, self._db.statements, name, self._now())

    def _book(self, connection: sqlite3.Connection, name: str) -> Book | None:
        return read_book(connection, self._db.statements, name)

    def _endings(self, connection: sqlite3.Connection, name: str) -> list[News]:
        found = connection.execute(self._db.statements["read_endings"], {"queue": name})
        return [News(*row) for row in found]

    def _release(self, connection: sqlite3.Connection, name: str, lane: str | None) -> bool:
        ledger = SqliteLedger(connection, self._db.statements, name, self._now())
        if lane is None:
            return acts.release_queue(ledger, self._now())
        return acts.release_lane(ledger, lane, self._now())

    def _set_paused(self, connection: sqlite3.Connection, name: str, value: int) -> bool:
        sql = self._sql("update ns_queue set is_paused = ? where name = ? and is_paused <> ?")
        return connection.execute(sql, (value, name, value)).rowcount > 0

    def _sql(self, text: str) -> str:
        return self._db.statements.of(text)
