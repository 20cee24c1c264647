"""Who has which key: the jobs themselves say, by two unique indexes. Successes have a table, for they outlive the job.

All of it is called inside a write transaction.
"""

import json
import sqlite3
from collections.abc import Iterable, Sequence

from holdfast.store.admission import KeyRow, Place, SuccessRow
from holdfast.store.sqlite.schema import Statements

SuccessLine = tuple[str, str, str, int, int, str | None]
"""A row to be: queue, key, job, moment, term, version."""


def holders(connection: sqlite3.Connection, statements: Statements, places: Sequence[Place]) -> list[KeyRow]:
    """Find the unfinished jobs that have, or wait for, these keys."""
    found = connection.execute(statements["holders"], {"places": json.dumps(places)})
    return [KeyRow(*row) for row in found]


def successes(connection: sqlite3.Connection, statements: Statements, places: Sequence[Place]) -> list[SuccessRow]:
    """Find the last successes under these keys."""
    found = connection.execute(statements["successes"], {"places": json.dumps(places)})
    return [SuccessRow(queue, key, job, at, until, version) for queue, key, job, at, until, version in found]


def remember(connection: sqlite3.Connection, statements: Statements, lines: Iterable[SuccessLine]) -> None:
    connection.executemany(statements["remember_success"], lines)


def let_go(connection: sqlite3.Connection, statements: Statements, places: Iterable[tuple[str, str | None]]) -> bool:
    """Have the successors take over those of these keys that nobody has any more. Return whether there were any."""
    freed = [{"queue": queue, "key": key} for queue, key in places if key is not None]
    return bool(freed) and connection.executemany(statements["let_go"], freed).rowcount > 0


def forget_old(connection: sqlite3.Connection, statements: Statements, limit: int, now_us: int) -> None:
    """Drop up to `limit` successes that are past their term."""
    connection.execute(
        statements.of(
            "delete from ns_success where (queue, key) in "
            "(select queue, key from ns_success where until_us <= ? order by until_us limit ?)"
        ),
        (now_us, limit),
    )
