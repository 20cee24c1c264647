"""Handing out jobs: expire, promote, bring back, claim; queue by queue.

A look comes first. It takes no lock, so asking an empty store for work writes nothing. What it tells are hints; whether
a job is handed out is decided by who locks its row. Ready jobs are found by their index, or, while that is long with dead
entries, by a shelf (see `shelves`).
"""

import os
from collections.abc import Sequence
from typing import Any, Final

from holdfast.errors import LeaseLost
from holdfast.model.claim import Claim
from holdfast.model.verdict import UNKNOWN_TASK
from holdfast.store.postgres.schema import Connection, Statements
from holdfast.store.postgres.shelves import Shelves
from holdfast.store.protocol import PROMOTE_LIMIT

_ABOVE_ALL: Final = 2**63 - 1


class Look:
    """What one queue has for a claim."""

    def __init__(self, row: tuple[Any, ...]) -> None:
        self.queue, self.is_lifo, self.has_expired, self.has_due, self.has_parked, self.has_ready = row
        self.is_shelved = False

    @property
    def has_any(self) -> bool:
        return bool(self.has_expired or self.has_due or self.has_parked or self.has_ready)


class Handout:
    """Hands out the jobs of one namespace."""

    def __init__(self, statements: Statements, shelves: Shelves) -> None:
        self._statements = statements
        self._shelves = shelves

    def look(self, connection: Connection, queues: Sequence[str], now_us: int | None) -> list[Look]:
        """Tell which of the queues, in the order given, have something for a claim."""
        names = list(dict.fromkeys(queues))
        shelved = names if self._shelves.is_used(connection) else []
        values = {"queues": names, "now": now_us, "shelved": shelved}
        looks = [Look(row) for row in connection.execute(self._statements["look"], values)]
        for one in looks:
            one.is_shelved = bool(shelved) and not one.is_lifo
            one.has_ready = one.has_ready and (not one.is_shelved or self._shelves.has_any(connection, one.queue))
        return [one for one in looks if one.has_any]

    def take(self, connection: Connection, worker: str, looks: Sequence[Look], limit: int, now_us: int) -> list[Claim]:
        """Hand out up to `limit` jobs inside a transaction that holds the worker's lease."""
        claims: list[Claim] = []
        nonce = os.urandom(8).hex()
        for one in looks:
            left = limit - len(claims)
            if left <= 0:
                break
            values = {"queue": one.queue, "now": now_us, "limit": PROMOTE_LIMIT, "worker": worker, "nonce": nonce}
            self._make_ready(connection, one, values, left)
            values["limit"] = left
            claims += self._take(connection, one, values)
        return claims

    def _make_ready(self, connection: Connection, one: Look, values: dict[str, object], wanted: int) -> None:
        if one.has_expired:
            connection.execute(self._statements["expire"], values)
        if one.has_due:
            connection.execute(self._statements["promote"], values)
        if one.has_parked:
            known = {**values, "reason": UNKNOWN_TASK, "limit": wanted}
            connection.execute(self._statements["unpark_known"], known)

    def _take(self, connection: Connection, one: Look, values: dict[str, Any]) -> list[Claim]:
        if one.is_lifo:
            return self._take_last(connection, values)
        if one.is_shelved:
            rows = self._shelves.take(connection, values)
        else:
            rows = connection.execute(self._statements["claim_fifo"], values, binary=True).fetchall()
        # RETURNING promises no order.
        rows.sort(key=lambda row: (-row[0], row[1], row[2]))
        return [Claim(*row[3:]) for row in rows]

    def _take_last(self, connection: Connection, values: dict[str, Any]) -> list[Claim]:
        claims: list[Claim] = []
        wanted, below = values["limit"], _ABOVE_ALL
        while len(claims) < wanted:
            best = connection.execute(self._statements["best_priority"], {**values, "below": below}).fetchone()
            if best is None or best[0] is None:
                break
            below = best[0]  # what is left of it now is locked by others
            values |= {"priority": below, "limit": wanted - len(claims)}
            rows = connection.execute(self._statements["claim_lifo"], values, binary=True).fetchall()
            rows.sort(key=lambda row: (row[1], row[2]), reverse=True)
            claims += [Claim(*row[3:]) for row in rows]
        return claims


def living(row: tuple[Any, ...] | None, worker: str) -> int:
    """Give the time, if the lease that a statement has read is alive; else raise LeaseLost."""
    if row is not None:
        is_ended, until_us, now_us = row
        if not is_ended and until_us >= now_us:
            return int(now_us)
    raise LeaseLost(f"worker {worker} holds no live lease: it was rescued, has left, or never enlisted")
