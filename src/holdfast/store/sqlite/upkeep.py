"""One slice of upkeep: end what has expired, drop what is past its retention. Bounded, so that no claim waits long."""

import sqlite3
from typing import Final

from holdfast.model.query import Tidied
from holdfast.model.states import FINAL
from holdfast.policy.moments import SECOND
from holdfast.store.flowing.acts import forget_idle
from holdfast.store.seenset import failures
from holdfast.store.sqlite import seensets
from holdfast.store.sqlite.bounds import recount
from holdfast.store.sqlite.deleting import delete
from holdfast.store.sqlite.keys import forget_old, let_go
from holdfast.store.sqlite.ledger import SqliteLedger
from holdfast.store.sqlite.schema import Statements

SLICE: Final = 1000
_KEEP_WORKERS_US: Final = 30 * 86_400 * SECOND


def tidy(connection: sqlite3.Connection, statements: Statements, now_us: int) -> Tidied:
    """Do one slice, inside the caller's transaction."""
    names = [row[0] for row in connection.execute(statements.of("select name from ns_queue"))]
    expired = sum(_expire(connection, statements, name, now_us) for name in names)
    pruned = sum(_prune(connection, statements, name, now_us) for name in names)
    _drop_stale(connection, statements, now_us)
    forget_old(connection, statements, SLICE, now_us)
    seensets.forget_old(connection, statements, SLICE, now_us)
    rested = _forget_lanes(connection, statements, now_us)
    is_more = max(expired, pruned, rested) >= SLICE
    return Tidied(expired, pruned, is_more, _next_us(connection, statements, names))


def _expire(connection: sqlite3.Connection, statements: Statements, queue: str, now_us: int) -> int:
    values = {"queue": queue, "now": now_us, "limit": SLICE}
    freed = connection.execute(statements["expire"], values).fetchall()
    if freed:
        let_go(connection, statements, [(queue, key) for key, _ in freed])
        seensets.end(connection, statements, failures(queue, [digest for _, digest in freed]), now_us)
        recount(connection, statements, [queue])
    return len(freed)


def _prune(connection: sqlite3.Connection, statements: Statements, queue: str, now_us: int) -> int:
    pruned = 0
    for state in FINAL:
        ripe = connection.execute(
            statements.of("select seq from ns_job where queue = ? and state = ? and keep_until_us <= ? limit ?"),
            (queue, state, now_us, SLICE),
        )
        pruned += delete(connection, statements, [row[0] for row in ripe])
    return pruned


def _drop_stale(connection: sqlite3.Connection, statements: Statements, now_us: int) -> None:
    connection.execute(
        statements.of(
            "update ns_job set result = null where seq in (select seq from ns_job where result is not null "
            "and result_until_us < keep_until_us and result_until_us <= ? limit ?)"
        ),
        (now_us, SLICE),
    )
    connection.execute(statements.of("delete from ns_worker where ended_us < ?"), (now_us - _KEEP_WORKERS_US,))


def _forget_lanes(connection: sqlite3.Connection, statements: Statements, now_us: int) -> int:
    """Drop lanes that would be the same if they were made anew. Return the most that were looked at in one queue."""
    flowing = connection.execute(statements.of("select name from ns_queue where is_flowing")).fetchall()
    return max(
        (forget_idle(SqliteLedger(connection, statements, name, now_us), now_us) for (name,) in flowing), default=0
    )


def _next_us(connection: sqlite3.Connection, statements: Statements, names: list[str]) -> int | None:
    moments: list[int] = []
    expiry = statements.of(
        "select min(expires_us) from ns_job where queue = ? and expires_us is not null "
        "and state in ('waiting', 'scheduled', 'ready', 'parked', 'spilled')"
    )
    retention = statements.of("select min(keep_until_us) from ns_job where queue = ? and state = ? "
                              "and keep_until_us is not null")  # fmt: skip
    for name in names:
        moments += _found(connection.execute(expiry, (name,)))
        for state in FINAL:
            moments += _found(connection.execute(retention, (name, state)))
    return min(moments, default=None)


def _found(cursor: sqlite3.Cursor) -> list[int]:
    value = cursor.fetchone()[0]
    return [] if value is None else [value]
