"""Seen-sets, in SQLite."""

import sqlite3
from collections.abc import Sequence
from typing import Final

import msgspec

from holdfast.model.seen import SeenRecord, Sketch
from holdfast.store.protocol import Clock
from holdfast.store.sqlite import seensets
from holdfast.store.sqlite.database import Database

_SLICE: Final = 5000
_BLOCKS: Final = 250
"""A megabyte."""


class SqliteSeen:
    """The `seen` door."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._db = database
        self._statements = database.statements
        self._now = clock

    def add(
        self, name: str, digests: Sequence[bytes], ttl_us: int | None = None, now_us: int | None = None
    ) -> list[bool]:
        with self._db.write() as connection:
            now = self._now() if now_us is None else now_us
            self._make(connection, name)
            if seensets.shape(connection, self._statements, name).sketch is None:
                new = seensets.mark(connection, self._statements, name, set(digests), ttl_us, now)
                return _told_once(digests, new)
            sets = seensets.load(connection, self._statements, {name: set(digests)}, now)
            are_new = [sets[name].add(digest, ttl_us) for digest in digests]
            seensets.save(connection, self._statements, sets, now)
        return are_new

    def has(self, name: str, digests: Sequence[bytes], now_us: int | None = None) -> list[bool]:
        now = self._now() if now_us is None else now_us
        with self._db.snapshot() as connection:
            known = seensets.load(connection, self._statements, {name: set(digests)}, now)[name]
        return [known.has(digest) for digest in digests]

    def discard(self, name: str, digests: Sequence[bytes], now_us: int | None = None) -> list[bool]:
        with self._db.write() as connection:
            now = self._now() if now_us is None else now_us
            found = seensets.forget(connection, self._statements, name, set(digests), now)
        return _told_once(digests, found)

    def clear(self, name: str) -> int:
        total = 0
        while True:
            with self._db.write() as connection:
                number = seensets.shape(connection, self._statements, name).number
                cleared = self._clear_some(connection, number) or self._clear_blocks(connection, number)
                if not cleared:
                    connection.execute(self._sql("update ns_queue set sketch = null where name = ?"), (name,))
                    return total
            total += sum(cleared)

    def shape(self, name: str, sketch: Sketch | None = None) -> Sketch | None:
        with self._db.read() as connection:
            known = seensets.shape(connection, self._statements, name).sketch
        if sketch is None or known is not None:
            return known
        with self._db.write() as connection:
            self._make(connection, name)
            number, known = seensets.shape(connection, self._statements, name)
            sql = self._sql("select 1 from ns_seen where seen_set = ? limit 1")
            if known is not None or connection.execute(sql, (number,)).fetchone():
                return known
            text = msgspec.json.encode(sketch).decode()
            connection.execute(self._sql("update ns_queue set sketch = ? where name = ?"), (text, name))
        return sketch

    def get(self, name: str, now_us: int | None = None) -> SeenRecord:
        now = self._now() if now_us is None else now_us
        with self._db.snapshot() as connection:
            number, sketch = seensets.shape(connection, self._statements, name)
            values = {"number": number, "now": now}
            (count,) = connection.execute(self._statements["count_seen"], values).fetchone()
        return SeenRecord(name, count, sketch)

    # --- inside -----------------------------------------------------------------------------------------

    def _make(self, connection: sqlite3.Connection, name: str) -> None:
        connection.execute(self._sql("insert or ignore into ns_queue (name) values (?)"), (name,))

    def _clear_some(self, connection: sqlite3.Connection, number: int | None) -> list[int]:
        """Drop a slice of an exact set. Give a 1 for each."""
        sql = (
            "delete from ns_seen where seen_set = :number and digest in "
            "(select digest from ns_seen where seen_set = :number order by digest limit :limit)"
        )
        values = {"number": number, "limit": _SLICE}
        return [1] * connection.execute(self._sql(sql), values).rowcount

    def _clear_blocks(self, connection: sqlite3.Connection, number: int | None) -> list[int]:
        """Drop a slice of an approximate set. Give how many keys each block had."""
        sql = (
            "delete from ns_seen_block where seen_set = :number and block in "
            "(select block from ns_seen_block where seen_set = :number order by block limit :limit) returning added"
        )
        values = {"number": number, "limit": _BLOCKS}
        return [row[0] for row in connection.execute(self._sql(sql), values)]

    def _sql(self, text: str) -> str:
        return self._statements.of(text)


def _told_once(digests: Sequence[bytes], chosen: set[bytes]) -> list[bool]:
    """Tell of each digest whether it is among the chosen ones, the first time that it comes."""
    answers: list[bool] = []
    for digest in digests:
        answers.append(digest in chosen)
        chosen.discard(digest)
    return answers
