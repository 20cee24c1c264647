"""Handing out jobs inside a write transaction: expire, promote, bring back, claim; queue by queue."""

import os
import sqlite3
from collections.abc import Sequence

from holdfast.model.claim import Claim
from holdfast.model.verdict import UNKNOWN_TASK
from holdfast.store.protocol import PROMOTE_LIMIT
from holdfast.store.sqlite.schema import Statements


def claim(
    connection: sqlite3.Connection,
    statements: Statements,
    worker: str,
    queues: Sequence[str],
    limit: int,
    now_us: int,
) -> list[Claim]:
    """Hand out up to `limit` jobs, serving the queues in the order given."""
    claims: list[Claim] = []
    nonce = os.urandom(8).hex()
    for queue in queues:
        left = limit - len(claims)
        if left <= 0:
            break
        look = connection.execute(statements["look"], {"queue": queue, "now": now_us}).fetchone()
        if look is None or look[1]:
            continue
        values = {"queue": queue, "now": now_us, "limit": PROMOTE_LIMIT, "worker": worker, "nonce": nonce}
        _make_ready(connection, statements, look, values, left)
        values["limit"] = left
        claims += _take(connection, statements, values, is_lifo=bool(look[0]))
    return claims


def _make_ready(
    connection: sqlite3.Connection,
    statements: Statements,
    look: tuple[int, ...],
    values: dict[str, object],
    wanted: int,
) -> None:
    _, _, has_expired, has_due, has_parked = look
    if has_expired:
        connection.execute(statements["expire"], values)
    if has_due:
        connection.execute(statements["promote"], values)
    if has_parked:
        connection.execute(statements["unpark_known"], {**values, "reason": UNKNOWN_TASK, "limit": wanted})


def _take(
    connection: sqlite3.Connection, statements: Statements, values: dict[str, object], *, is_lifo: bool
) -> list[Claim]:
    if is_lifo:
        return _take_last(connection, statements, values)
    rows = connection.execute(statements["claim_fifo"], values).fetchall()
    # RETURNING promises no order.
    rows.sort(key=lambda row: (-row[0], row[1], row[2]))
    return [Claim(*row[3:]) for row in rows]


def _take_last(connection: sqlite3.Connection, statements: Statements, values: dict[str, object]) -> list[Claim]:
    claims: list[Claim] = []
    wanted = values["limit"]
    assert isinstance(wanted, int)
    best = statements.of(
        "select max(priority) from ns_job where queue = :queue and state = 'ready'"
        " and (expires_us is null or expires_us > :now)"
    )
    while len(claims) < wanted:
        values["priority"] = connection.execute(best, values).fetchone()[0]
        if values["priority"] is None:
            break
        values["limit"] = wanted - len(claims)
        rows = connection.execute(statements["claim_lifo"], values).fetchall()
        rows.sort(key=lambda row: (row[1], row[2]), reverse=True)
        claims += [Claim(*row[3:]) for row in rows]
    return claims
