"""Deleting jobs with all that belongs to them."""

import sqlite3
from collections.abc import Sequence

from holdfast.store.sqlite.rows import tags_of
from holdfast.store.sqlite.schema import Statements


def delete(connection: sqlite3.Connection, statements: Statements, jobs: Sequence[int]) -> int:
    """Delete jobs by their seq, with runs and tags, inside the caller's transaction. Return how many."""
    keys = [(seq,) for seq in jobs]
    for (seq,) in keys:
        (text,) = connection.execute(statements.of("select tags from ns_job where seq = ?"), (seq,)).fetchone()
        for tag in tags_of(text):
            connection.execute(statements.of("delete from ns_tag where tag = ? and job = ?"), (tag, seq))
    connection.executemany(statements.of("delete from ns_run where job = ?"), keys)
    connection.executemany(statements.of("delete from ns_job where seq = ?"), keys)
    return len(keys)
