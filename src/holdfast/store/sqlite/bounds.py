"""The size of a queue that has a bound, and the jobs that were spilled because it was full.

The size is kept with the queue while there is a bound. Pushes, claims and verdicts move it on; whatever else takes jobs out
or brings them back has it counted anew. Every step that may have made room ends with `let_in`. All of it is called inside
a write transaction.
"""

import sqlite3
from collections.abc import Iterable, Mapping

from holdfast.store.sqlite.schema import Statements


def grow(connection: sqlite3.Connection, statements: Statements, growth: Mapping[str, int]) -> None:
    """Move on the size of queues that have a bound."""
    sql = statements.of("update ns_queue set size = size + ? where name = ?")
    connection.executemany(sql, [(by, queue) for queue, by in growth.items() if by])


def recount(connection: sqlite3.Connection, statements: Statements, queues: Iterable[str]) -> bool:
    """Count the size of those queues that have a bound, and let in what was spilled. Return whether anything entered."""
    has_entered = False
    for queue in queues:
        connection.execute(statements["recount"], {"queue": queue})
        has_entered |= let_in(connection, statements, queue)
    return has_entered


def let_in(connection: sqlite3.Connection, statements: Statements, queue: str) -> bool:
    """Let spilled jobs into the queue, as far as there is room. Return whether any entered."""
    room = connection.execute(statements["room"], {"queue": queue}).fetchone()
    if room is None or not room[0]:
        return False
    entered = connection.execute(statements["let_in"], {"queue": queue, "limit": room[0]}).rowcount
    grow(connection, statements, {queue: entered})
    return entered > 0


def has_room(connection: sqlite3.Connection, statements: Statements, queue: str) -> bool:
    sql = statements.of("select max_size is null or size < max_size from ns_queue where name = ?")
    found = connection.execute(sql, (queue,)).fetchone()
    return found is None or bool(found[0])
