"""Deleting jobs with all that belongs to them. Their keys are free in the same step."""

import sqlite3
from collections.abc import Sequence

from holdfast.store.sqlite.keys import let_go
from holdfast.store.sqlite.rows import tags_of
from holdfast.store.sqlite.schema import Statements


def delete(connection: sqlite3.Connection, statements: Statements, jobs: Sequence[int]) -> int:
    """Delete jobs by their seq, with runs and tags, inside the caller's transaction. Return how many."""
    seqs = [(seq,) for seq in jobs]
    places: list[tuple[str, str | None]] = []
    for (seq,) in seqs:
        sql = statements.of("select tags, queue, key from ns_job where seq = ?")
        text, queue, key = connection.execute(sql, (seq,)).fetchone()
        places.append((queue, key))
        for tag in tags_of(text):
            connection.execute(statements.of("delete from ns_tag where tag = ? and job = ?"), (tag, seq))
    connection.executemany(statements.of("delete from ns_run where job = ?"), seqs)
    connection.executemany(statements.of("delete from ns_job where seq = ?"), seqs)
    let_go(connection, statements, places)
    return len(seqs)
