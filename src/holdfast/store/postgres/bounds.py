"""The size of a queue that has a bound, and the jobs that were spilled because it was full.

The size is kept with the queue while there is a bound, under the queue's lock. Pushes, claims and verdicts move it on;
whatever else takes jobs out or brings them back has it counted anew. Every step that may have made room lets in what was
spilled.

Steps that were under way when the queue got its bound, and programs of the version before, know nothing of it, and the
number is wrong by what they did. Upkeep counts again what seems to be full, so that is over within seconds.
"""

from collections.abc import Iterable, Mapping

from holdfast.store.postgres.schema import Connection, Statements


def grow(connection: Connection, statements: Statements, growth: Mapping[str, int]) -> None:
    """Move on the size of queues that have a bound, and let in what was spilled, as far as there is room."""
    for queue, by in growth.items():
        _change(connection, statements, "grow", {"queue": queue, "by": by})


def recount(connection: Connection, statements: Statements, queues: Iterable[str]) -> None:
    """Count the size of those queues that have a bound, and let in what was spilled, as far as there is room."""
    for queue in queues:
        _change(connection, statements, "recount", {"queue": queue})


def let_all_in(connection: Connection, statements: Statements, queue: str) -> None:
    """Let all spilled jobs into a queue that has no bound any more."""
    connection.execute(statements["let_in"], {"queue": queue, "limit": None})


def has_room(connection: Connection, statements: Statements, queue: str) -> bool:
    text = statements.of("select max_size is null or size < max_size from ns_queue where name = %s")
    found = connection.execute(text, (queue,)).fetchone()
    return found is None or bool(found[0])


def _change(connection: Connection, statements: Statements, statement: str, values: dict[str, object]) -> None:
    row = connection.execute(statements[statement], values).fetchone()
    if row is None:
        return
    room, has_spilled = row
    if has_spilled and room > 0:
        queue = values["queue"]
        entered = connection.execute(statements["let_in"], {"queue": queue, "limit": room}).rowcount
        connection.execute(statements["grow"], {"queue": queue, "by": entered})
