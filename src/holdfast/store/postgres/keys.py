"""Who has which key: the jobs themselves say, by two unique indexes. Successes have a table, for they outlive the job.

A key is given to a job by whoever holds the key's lock: a push, or a person who opens a job again. It is taken from a job by
whoever holds the job and ends it, and goes to the successor in the same transaction.
"""

from collections.abc import Iterable, Sequence

from holdfast.store.admission import Place
from holdfast.store.postgres.schema import Connection, Statements

SuccessLine = tuple[str, str, str, int, str | None]
"""A row to be: queue, key, job, term, version."""


def columns(places: Iterable[Place]) -> dict[str, object]:
    """Give queues and keys as statements take them."""
    pairs = list(dict.fromkeys(places))
    return {"queues": [queue for queue, _ in pairs], "keys": [key for _, key in pairs]}


def let_go(connection: Connection, statements: Statements, places: Iterable[tuple[str, str | None]]) -> bool:
    """Have the successors take over those of these keys that nobody has any more. Return whether there were any."""
    freed = [(queue, key) for queue, key in places if key is not None]
    return bool(freed) and connection.execute(statements["let_go"], columns(freed)).rowcount > 0


def remember(connection: Connection, statements: Statements, lines: Sequence[SuccessLine], now_us: int) -> None:
    names = ("queues", "keys", "jobs", "untils", "versions")
    lists = dict(zip(names, map(list, zip(*lines, strict=True)), strict=True))
    connection.execute(statements["remember_successes"], {**lists, "now": now_us})
