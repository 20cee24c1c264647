"""Seen-sets, in PostgreSQL."""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from holdfast.model.seen import SeenRecord, Sketch
from holdfast.store.postgres import seensets
from holdfast.store.postgres.clock import Moments
from holdfast.store.postgres.database import Database
from holdfast.store.postgres.schema import Connection
from holdfast.store.postgres.talk import Talk, put_to

_SLICE: Final = 5000
_BLOCKS: Final = 250
"""A megabyte."""


class PostgresSeen:
    """The `seen` door."""

    def __init__(self, database: Database, moments: Moments, make_queues: Callable[[set[str]], None]) -> None:
        self._db = database
        self._statements = database.statements
        self._moments = moments
        self._make_queues = make_queues

    def add(
        self, name: str, digests: Sequence[bytes], ttl_us: int | None = None, now_us: int | None = None
    ) -> list[bool]:
        self._make_queues({name})
        asked = {name: dict.fromkeys(digests, ttl_us)} if digests else {}
        now = self._moments.of(now_us)

        def add() -> Talk[list[bool]]:
            marking = yield from seensets.begin(self._statements, asked, now)
            are_new = [marking.sets[name].add(digest, ttl_us) for digest in digests]
            yield from seensets.finish(self._statements, marking, {}, now)
            return are_new

        return self._db.write(lambda connection: put_to(connection, add()))

    def has(self, name: str, digests: Sequence[bytes], now_us: int | None = None) -> list[bool]:
        now = self._moments.of(now_us)
        look = self._db.do(
            lambda connection: put_to(connection, seensets.look(self._statements, name, set(digests), now))
        )
        return [look.has(digest) for digest in digests]

    def discard(self, name: str, digests: Sequence[bytes], now_us: int | None = None) -> list[bool]:
        asked = sorted(set(digests))
        values = {"queues": [name] * len(asked), "digests": asked, "now": self._moments.of(now_us)}
        rows = self._db.do(lambda connection: connection.execute(self._statements["forget_seen"], values).fetchall())
        found = {digest for _, digest in rows}
        answers: list[bool] = []
        for digest in digests:
            answers.append(digest in found)
            found.discard(digest)
        return answers

    def clear(self, name: str) -> int:
        total = 0
        while True:
            cleared = self._db.write(lambda connection: self._clear_some(connection, name))
            total += sum(cleared)
            if not cleared and self._db.write(lambda connection: self._make_exact(connection, name)):
                return total

    def shape(self, name: str, sketch: Sketch | None = None) -> Sketch | None:
        known = self._db.do(lambda connection: put_to(connection, seensets.shape(self._statements, name)))
        if sketch is None or known is not None:
            return known
        self._make_queues({name})
        return self._db.write(lambda connection: self._take_on(connection, name, sketch))

    def get(self, name: str, now_us: int | None = None) -> SeenRecord:
        values = {"queue": name, "now": self._moments.of(now_us)}
        row = self._db.do(lambda connection: connection.execute(self._statements["count_seen"], values).fetchone())
        assert row is not None
        return SeenRecord(name, int(row[0]), None if row[1] is None else seensets.decoded(row[1]))

    # --- inside: each in one transaction ----------------------------------------------------------------

    def _clear_some(self, connection: Connection, name: str) -> list[int]:
        """Drop a slice. Give how many keys each row stood for."""
        values = {"queue": name, "keys": _SLICE, "blocks": _BLOCKS}
        return [row[0] for row in connection.execute(self._statements["clear_seen"], values)]

    def _make_exact(self, connection: Connection, name: str) -> bool:
        """Take the shape from a set that was cleared. Return whether it is empty still."""
        if put_to(connection, seensets.shape(self._statements, name)) is None:
            return True
        self._hold_still(connection)
        if self._is_empty(connection, name):
            connection.execute(self._statements.of("delete from ns_seen_shape where queue = %s"), (name,))
            return True
        return False

    def _take_on(self, connection: Connection, name: str, sketch: Sketch) -> Sketch | None:
        self._hold_still(connection)
        known = put_to(connection, seensets.shape(self._statements, name))
        if known is not None or not self._is_empty(connection, name):
            return known
        text = self._statements.of("insert into ns_seen_shape (queue, sketch) values (%s, %s)")
        connection.execute(text, (name, msgspec.json.encode(sketch).decode()))
        return sketch

    def _hold_still(self, connection: Connection) -> None:
        """Wait for all who are marking keys, and keep others from it: they have read what shape the sets have."""
        connection.execute(self._statements.of("lock table ns_seen in share row exclusive mode"))

    def _is_empty(self, connection: Connection, name: str) -> bool:
        text = (
            "select (select true from ns_seen where queue = %(queue)s limit 1) is null "
            "and (select true from ns_seen_block where queue = %(queue)s limit 1) is null"
        )
        row = connection.execute(self._statements.of(text), {"queue": name}).fetchone()
        return row is not None and bool(row[0])
