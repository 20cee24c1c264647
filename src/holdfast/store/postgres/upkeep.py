"""One slice of upkeep: end what has expired, drop what is past its retention. Bounded, so that no claim waits long."""

from typing import Any, Final

from holdfast.model.query import Tidied
from holdfast.model.states import FINAL
from holdfast.policy.moments import SECOND
from holdfast.store.postgres.schema import Connection, Statements

SLICE: Final = 1000
_KEEP_WORKERS_US: Final = 30 * 86_400 * SECOND


def tidy(connection: Connection, statements: Statements, now_us: int | None) -> Tidied:
    """Do one slice, inside the caller's transaction."""
    now = _one(connection, statements.of("select ns_now(%s)"), (now_us,))
    names = [row[0] for row in connection.execute(statements.of("select name from ns_queue order by name"))]
    expired = sum(_expire(connection, statements, name, now) for name in names)
    pruned = sum(_prune(connection, statements, name, now) for name in names)
    connection.execute(statements["drop_results"], {"now": now, "limit": SLICE})
    connection.execute(statements.of("delete from ns_worker where ended_us < %s"), (now - _KEEP_WORKERS_US,))
    next_us: int | None = _one(connection, statements["next_upkeep"], ())
    return Tidied(expired, pruned, expired >= SLICE or pruned >= SLICE, next_us)


def _expire(connection: Connection, statements: Statements, queue: str, now_us: int) -> int:
    return connection.execute(statements["expire"], {"queue": queue, "now": now_us, "limit": SLICE}).rowcount


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
