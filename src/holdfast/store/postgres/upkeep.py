"""One slice of upkeep: end what has expired, drop what is past its retention. Bounded, so that no claim waits long."""

from collections.abc import Iterable
from typing import Any, Final

from holdfast.model.query import Tidied
from holdfast.model.states import FINAL
from holdfast.policy.moments import SECOND
from holdfast.store.flowing.acts import forget_idle
from holdfast.store.postgres import bounds, seensets
from holdfast.store.postgres.keys import let_go
from holdfast.store.postgres.ledger import lock_queues
from holdfast.store.postgres.schema import Connection, Statements
from holdfast.store.postgres.talk import put_to
from holdfast.store.seenset import Ending, failures

SLICE: Final = 1000
_KEEP_WORKERS_US: Final = 30 * 86_400 * SECOND


def tidy(connection: Connection, statements: Statements, now_us: int | None) -> Tidied:
    """Do one slice of what is about jobs, inside the caller's transaction."""
    now = _one(connection, statements.of("select ns_now(%s)"), (now_us,))
    names = [row[0] for row in connection.execute(statements.of("select name from ns_queue order by name"))]
    bounded = lock_queues(connection, statements, (), now_us, bounded=names)
    ends: list[Ending] = []
    expired = sum(_expire(connection, statements, name, now, ends) for name in names)
    pruned = sum(_prune(connection, statements, name, now) for name in names)
    bounds.recount(connection, statements, _wrong(connection, statements, bounded, expired))
    connection.execute(statements["forget_successes"], {"now": now, "limit": SLICE})
    put_to(connection, seensets.end(statements, ends, now))  # after all jobs, as everyone locks
    connection.execute(statements["forget_old_seen"], {"now": now, "limit": SLICE})
    connection.execute(statements["drop_results"], {"now": now, "limit": SLICE})
    connection.execute(statements.of("delete from ns_worker where ended_us < %s"), (now - _KEEP_WORKERS_US,))
    next_us: int | None = _one(connection, statements["next_upkeep"], ())
    return Tidied(expired, pruned, expired >= SLICE or pruned >= SLICE, next_us)


def restless(connection: Connection, statements: Statements, now_us: int | None) -> list[str]:
    """List the queues that have lanes which may be forgotten."""
    return [row[0] for row in connection.execute(statements["restless"], {"now": now_us})]


def forget_lanes(connection: Connection, statements: Statements, queue: str, now_us: int | None) -> bool:
    """Drop, in a transaction of its own, a slice of a queue's lanes that would be the same if they were made anew.

    Tell whether there may be more.
    """
    ledger = lock_queues(connection, statements, [queue], now_us)[queue]
    return forget_idle(ledger, ledger.now_us) >= SLICE


def _expire(connection: Connection, statements: Statements, queue: str, now_us: int, ends: list[Ending]) -> int:
    freed = connection.execute(statements["expire"], {"queue": queue, "now": now_us, "limit": SLICE}).fetchall()
    let_go(connection, statements, [(queue, key) for key, _ in freed])
    ends += failures(queue, [digest for _, digest in freed])
    return len(freed)


def _wrong(connection: Connection, statements: Statements, bounded: Iterable[str], expired: int) -> list[str]:
    """List the queues whose size may be other than it is kept: all if something expired, else those that seem full."""
    if expired:
        return list(bounded)
    return [name for name in bounded if not bounds.has_room(connection, statements, name)]


def _prune(connection: Connection, statements: Statements, queue: str, now_us: int) -> int:
    pruned = 0
    for state in FINAL:
        values = {"queue": queue, "state": state, "now": now_us, "limit": SLICE}
        jobs = [row[0] for row in connection.execute(statements["ripe"], values)]
        if jobs:
            pruned += connection.execute(statements["delete"], {"jobs": jobs}).rowcount
    return pruned


def _one(connection: Connection, statement: str, values: tuple[object, ...]) -> Any:
    row = connection.execute(statement, values).fetchone()
    assert row is not None
    return row[0]
