"""Handing out jobs: expire, promote, bring back, claim; queue by queue.

A look comes first. It takes no lock, so asking an empty store for work writes nothing. What it tells are hints; whether
a job is handed out is decided by who locks its row. Ready jobs are found by their index, or, while that is long with dead
entries, by a shelf (see `shelves`).

A queue that flows is served under its lock, by one claim at a time (see `flowing`). Locks are taken lease first, then queues
by name, then jobs, by everyone.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from holdfast.errors import LeaseLost
from holdfast.model.claim import Claim
from holdfast.model.verdict import UNKNOWN_TASK
from holdfast.store.flowing.handout import Handout as FlowingHandout
from holdfast.store.flowing.ledger import NAMELESS
from holdfast.store.flowing.round import Round
from holdfast.store.postgres import bounds, seensets
from holdfast.store.postgres.keys import let_go
from holdfast.store.postgres.ledger import PostgresLedger
from holdfast.store.postgres.schema import Connection, Statements
from holdfast.store.postgres.shelves import Shelves
from holdfast.store.postgres.talk import put_to
from holdfast.store.protocol import PROMOTE_LIMIT
from holdfast.store.seenset import failures

_ABOVE_ALL: Final = 2**63 - 1


class Look:
    """What one queue has for a claim."""

    def __init__(self, row: tuple[Any, ...]) -> None:
        (self.queue, self.is_lifo, self.is_flowing, self.has_bound, self.has_expired, self.has_due, self.has_parked,
         self.has_ready, self.has_strays) = row  # fmt: skip
        self.is_shelved = False
        self.unparked = 0

    @property
    def needs_lock(self) -> bool:
        return bool(self.is_flowing or self.has_bound)

    @property
    def has_any(self) -> bool:
        return bool(self.has_expired or self.has_due or self.has_parked or self.has_ready or self.has_strays)


class Wish(NamedTuple):
    """Who claims, how many jobs, how many more where nothing limits them, and when: read with all locks held."""

    worker: str
    limit: int
    ahead: int
    now_us: int


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
            one.is_shelved = bool(shelved) and not one.is_lifo and not one.is_flowing
            one.has_ready = one.has_ready and (not one.is_shelved or self._shelves.has_any(connection, one.queue))
        return [one for one in looks if one.has_any]

    def take(
        self, connection: Connection, wish: Wish, looks: Sequence[Look], ledgers: Mapping[str, PostgresLedger]
    ) -> list[Claim]:
        """Hand out jobs inside a transaction that holds the worker's lease, and the locks of the queues with a ledger."""
        claims: list[Claim] = []
        nonce = os.urandom(8).hex()
        for one in looks:
            left = wish.limit - len(claims)
            if left + wish.ahead <= 0:
                break
            values = {
                "queue": one.queue, "now": wish.now_us, "limit": PROMOTE_LIMIT, "worker": wish.worker, "nonce": nonce,
            }  # fmt: skip
            if one.needs_lock and one.queue not in ledgers:
                continue  # it was plain when the locks were taken: the next claim serves it
            if one.is_flowing:
                round_ = Round(ledgers[one.queue], wish.now_us, is_claim=True)
                taken = self._serve(connection, one, values, round_, left, wish.ahead)
            else:
                self._make_ready(connection, one, values, left + wish.ahead)
                taken = self._take(connection, one, {**values, "limit": left + wish.ahead})
            claims += taken
            if one.has_bound:
                self._make_room(connection, one, len(taken))
        return claims

    def _make_ready(self, connection: Connection, one: Look, values: dict[str, Any], wanted: int) -> list[str]:
        """End what has expired, wake what is due, bring back what was parked. Give the lanes of what is ready now."""
        woken: list[tuple[Any, ...]] = []
        if one.has_expired:
            freed = connection.execute(self._statements["expire"], values).fetchall()
            one.has_due |= let_go(connection, self._statements, [(one.queue, key) for key, _ in freed])
            ends = failures(one.queue, [digest for _, digest in freed])
            put_to(connection, seensets.end(self._statements, ends, values["now"]))
        if one.has_due:
            woken += connection.execute(self._statements["promote"], values)
        if one.has_parked:
            known = {**values, "reason": UNKNOWN_TASK, "limit": wanted}
            unparked = connection.execute(self._statements["unpark_known"], known)
            one.unparked = unparked.rowcount
            woken += unparked
        return [lane for (lane,) in woken]

    def _make_room(self, connection: Connection, one: Look, started: int) -> None:
        """Tell the size of a queue that has a bound what has happened, and let in what was spilled."""
        if one.has_expired:
            bounds.recount(connection, self._statements, [one.queue])
        else:
            bounds.grow(connection, self._statements, {one.queue: one.unparked - started})

    # --- queues that flow -------------------------------------------------------------------------------

    def _serve(
        self, connection: Connection, one: Look, values: dict[str, Any], round_: Round, left: int, ahead: int
    ) -> list[Claim]:
        limit = left if round_.policy.is_limited else left + ahead
        if limit <= 0:
            return []
        woken = self._make_ready(connection, one, values, limit)
        round_.read_news([*woken, NAMELESS] if one.has_strays else woken)
        seqs = FlowingHandout(round_).take(limit)
        round_.save()
        if not seqs:
            return []
        found = connection.execute(self._statements["take"], {**values, "seqs": seqs}, binary=True)
        rows = {row[0]: row for row in found}
        return [Claim(*(*rows[seq][1:], round_.policy.is_limited)) for seq in seqs]

    # --- queues that do not -----------------------------------------------------------------------------

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


def living(row: tuple[Any, ...] | None, worker: str) -> tuple[int, list[str]]:
    """Give the time and the queues to be locked, if the lease that a statement has read is alive; else raise LeaseLost."""
    if row is not None:
        is_ended, until_us, now_us, locked = row
        if not is_ended and until_us >= now_us:
            return int(now_us), locked
    raise LeaseLost(f"worker {worker} holds no live lease: it was rescued, has left, or never enlisted")
