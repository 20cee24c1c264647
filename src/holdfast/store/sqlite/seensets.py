"""Seen-sets: which keys came to a queue before. All of it is called inside a transaction.

An exact set is a row for each digest, under the number of the set, which it gets with its first key: a name in each row
would cost as much as the rest of it. An approximate set is its blocks, each a row with the number of keys it took for new.

Digests lie in their order, and so they are asked for and written: those on one page come together.
"""

import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from holdfast.model.seen import Sketch
from holdfast.store.seenset import Ending, SeenSet, blocks_of, replayed, succeeded
from holdfast.store.sqlite.schema import Statements

_MARK: Final = (
    "insert into ns_seen (seen_set, digest, until_us) values %s on conflict (seen_set, digest) do update "
    "set until_us = excluded.until_us where ns_seen.until_us <= ?3 returning digest"
)
_FEW: Final = 8
_MANY: Final = 500
"""Numbers of values that a statement is asked with: with two of them there are two statements to prepare."""


class Shape(NamedTuple):
    """The number of a set, None before its first key, and how it is shaped."""

    number: int | None = None
    sketch: Sketch | None = None


def shape(connection: sqlite3.Connection, statements: Statements, queue: str) -> Shape:
    sql = statements.of("select seen_set, sketch from ns_queue where name = ?")
    row = connection.execute(sql, (queue,)).fetchone()
    if row is None:
        return Shape()
    return Shape(row[0], None if row[1] is None else msgspec.json.decode(row[1], type=Sketch))


def load(
    connection: sqlite3.Connection, statements: Statements, asked: Mapping[str, Collection[bytes]], now_us: int
) -> dict[str, SeenSet]:
    """Read what the sets of some queues hold of these digests."""
    return {queue: _load(connection, statements, queue, digests, now_us) for queue, digests in asked.items()}


def save(connection: sqlite3.Connection, statements: Statements, sets: Mapping[str, SeenSet], now_us: int) -> None:
    """Write what was added to these sets. Their queues are there."""
    for queue, one in sets.items():
        if one.fresh or one.added:
            number = _number(connection, statements, queue)
            rows = [
                (number, digest, None if ttl_us is None else now_us + ttl_us)
                for digest, ttl_us in sorted(one.fresh.items())
            ]
            connection.executemany(
                statements.of("insert or replace into ns_seen (seen_set, digest, until_us) values (?, ?, ?)"), rows
            )
            blocks = [(number, block, added, one.blocks[block]) for block, added in sorted(one.added.items())]
            connection.executemany(statements["save_seen_block"], blocks)


def mark(
    connection: sqlite3.Connection,
    statements: Statements,
    queue: str,
    digests: Collection[bytes],
    ttl_us: int | None,
    now_us: int,
) -> set[bytes]:
    """Add digests to an exact set, in one go with asking for them. Return those that are new."""
    given = (_number(connection, statements, queue), None if ttl_us is None else now_us + ttl_us, now_us)
    return {row[0] for row in _found(connection, statements, _MARK, given, sorted(digests), "(?1, ?{}, ?2)")}


def forget(
    connection: sqlite3.Connection, statements: Statements, queue: str, digests: Collection[bytes], now_us: int
) -> set[bytes]:
    """Drop digests from an exact set. Return those that were there."""
    known = _load(connection, statements, queue, digests, now_us)
    number = shape(connection, statements, queue).number
    found = {digest for digest in digests if known.sketch is None and known.has(digest)}
    sql = statements.of("delete from ns_seen where seen_set = ? and digest = ?")
    connection.executemany(sql, [(number, digest) for digest in sorted(found)])
    return found


def end(connection: sqlite3.Connection, statements: Statements, ends: Sequence[Ending], now_us: int) -> None:
    """Mark the keys of jobs that have succeeded, and forget those of jobs that have not."""
    sets = load(connection, statements, succeeded(ends), now_us)
    for queue, digests in replayed(ends, sets).items():
        forget(connection, statements, queue, digests, now_us)
    save(connection, statements, sets, now_us)


def forget_old(connection: sqlite3.Connection, statements: Statements, limit: int, now_us: int) -> None:
    """Drop up to `limit` digests that are past their term."""
    connection.execute(statements["forget_seen"], {"now": now_us, "limit": limit})


def _load(
    connection: sqlite3.Connection, statements: Statements, queue: str, digests: Collection[bytes], now_us: int
) -> SeenSet:
    number, sketch = shape(connection, statements, queue)
    if number is None:
        return SeenSet(sketch)
    if sketch is not None:
        sql = "select block, bits from ns_seen_block where seen_set = ? and block in (%s)"
        blocks = blocks_of(digests, sketch)
        return SeenSet(sketch, blocks=dict(_found(connection, statements, sql, (number,), blocks)))
    sql = "select digest from ns_seen where seen_set = ? and (until_us is null or until_us > ?) and digest in (%s)"
    return SeenSet(None, [row[0] for row in _found(connection, statements, sql, (number, now_us), sorted(digests))])


def _found(
    connection: sqlite3.Connection,
    statements: Statements,
    sql: str,
    given: tuple[object, ...],
    values: Sequence[object],
    place: str = "?{}",
) -> Iterator[Any]:
    """Ask for some values at a time. The last one is asked for again to make up the number."""
    size = _FEW if len(values) <= _FEW else _MANY
    first = len(given) + 1
    text = statements.of(sql % ", ".join(place.format(number) for number in range(first, first + size)))
    for at in range(0, len(values), size):
        some = values[at : at + size]
        yield from connection.execute(text, (*given, *some, *[some[-1]] * (size - len(some))))


def _number(connection: sqlite3.Connection, statements: Statements, queue: str) -> int:
    number = shape(connection, statements, queue).number
    if number is None:
        sql = (
            "update ns_queue set seen_set = (select ifnull(max(seen_set), 0) + 1 from ns_queue) where name = ? "
            "returning seen_set"
        )
        ((number,),) = connection.execute(statements.of(sql), (queue,)).fetchall()
    return int(number)
