"""Handing out jobs inside a write transaction: expire, promote, bring back, claim; queue by queue."""

import json
import os
import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from holdfast.model.claim import Claim
from holdfast.model.verdict import UNKNOWN_TASK
from holdfast.store.flowing.handout import Handout
from holdfast.store.flowing.ledger import NAMELESS
from holdfast.store.flowing.round import Round
from holdfast.store.protocol import PROMOTE_LIMIT
from holdfast.store.seenset import failures
from holdfast.store.sqlite.bounds import grow, let_in, recount
from holdfast.store.sqlite.keys import let_go
from holdfast.store.sqlite.ledger import SqliteLedger
from holdfast.store.sqlite.schema import Statements
from holdfast.store.sqlite.seensets import end


class Look(NamedTuple):
    """What a claim on one queue has to do. Truths are 1 and 0."""

    is_lifo: bool
    is_paused: bool
    has_expired: bool
    has_due: bool
    has_parked: bool
    is_flowing: bool
    has_bound: bool


class Claiming:
    """One claim of one worker."""

    def __init__(self, connection: sqlite3.Connection, statements: Statements, worker: str, now_us: int) -> None:
        self._connection = connection
        self._statements = statements
        self._worker = worker
        self._now_us = now_us
        self._nonce = os.urandom(8).hex()
        self.has_made_room = False
        """Whether a queue that has a bound may have room now."""
        self.has_let_in = False
        """Whether jobs that were spilled have entered."""
        self._unparked = 0
        """How many parked jobs the queue that is being served has got back."""

    def claim(self, queues: Sequence[str], limit: int, ahead: int) -> list[Claim]:
        """Hand out up to `limit` jobs, and `ahead` more where nothing limits them, serving the queues in the order given."""
        claims: list[Claim] = []
        for queue in dict.fromkeys(queues):
            left = limit - len(claims)
            if left + ahead <= 0:
                break
            self._unparked = 0
            values = {"queue": queue, "now": self._now_us}
            row = self._connection.execute(self._statements["look"], values).fetchone()
            if row is None or (look := Look(*row)).is_paused:
                continue
            taken = self._serve(queue, look, left, ahead) if look.is_flowing else self._take(queue, look, left + ahead)
            claims += taken
            if look.has_bound:
                self._make_room(queue, len(taken), has_expired=look.has_expired)
        return claims

    # --- queues that do not flow ------------------------------------------------------------------------

    def _take(self, queue: str, look: Look, limit: int) -> list[Claim]:
        values = self._values(queue)
        self._make_ready(look, values, limit)
        values["limit"] = limit
        if look.is_lifo:
            return self._take_last(values, limit)
        rows = self._connection.execute(self._statements["claim_fifo"], values).fetchall()
        # RETURNING promises no order.
        rows.sort(key=lambda row: (-row[0], row[1], row[2]))
        return [Claim(*row[3:]) for row in rows]

    def _take_last(self, values: dict[str, object], limit: int) -> list[Claim]:
        claims: list[Claim] = []
        best = self._statements.of(
            "select max(priority) from ns_job where queue = :queue and lane is null and state = 'ready'"
            " and (expires_us is null or expires_us > :now)"
        )
        while len(claims) < limit:
            values["priority"] = self._connection.execute(best, values).fetchone()[0]
            if values["priority"] is None:
                break
            values["limit"] = limit - len(claims)
            rows = self._connection.execute(self._statements["claim_lifo"], values).fetchall()
            rows.sort(key=lambda row: (row[1], row[2]), reverse=True)
            claims += [Claim(*row[3:]) for row in rows]
        return claims

    # --- queues that flow -------------------------------------------------------------------------------

    def _serve(self, queue: str, look: Look, left: int, ahead: int) -> list[Claim]:
        ledger = SqliteLedger(self._connection, self._statements, queue, self._now_us)
        round_ = Round(ledger, self._now_us, is_claim=True)
        limit = left if round_.policy.is_limited else left + ahead
        if limit <= 0:
            return []
        round_.read_news(self._make_ready(look, self._values(queue), limit, returning=" returning lane"))
        seqs = Handout(round_).take(limit)
        round_.save()
        return self._hand_over(seqs, round_.policy.is_limited)

    def _hand_over(self, seqs: list[int], is_limited: bool) -> list[Claim]:
        if not seqs:
            return []
        values = {"seqs": json.dumps(seqs), "worker": self._worker, "nonce": self._nonce, "now": self._now_us}
        rows = {row[0]: row for row in self._connection.execute(self._statements["take"], values)}
        return [Claim(*(*rows[seq][1:], is_limited)) for seq in seqs]

    # --- all -------------------------------------------------------------------------------------------

    def _make_ready(self, look: Look, values: dict[str, object], wanted: int, returning: str = "") -> list[str]:
        """End what has expired, wake what is due, bring back what was parked. Give the lanes, if they are returned."""
        woken: list[tuple[str | None]] = []
        has_due = look.has_due
        if look.has_expired:
            freed, queue = self._connection.execute(self._statements["expire"], values).fetchall(), str(values["queue"])
            has_due |= let_go(self._connection, self._statements, [(queue, key) for key, _ in freed])
            end(self._connection, self._statements, failures(queue, [digest for _, digest in freed]), self._now_us)
        if has_due:
            woken += self._connection.execute(self._statements["promote"] + returning, values).fetchall()
        if look.has_parked:
            known = {**values, "reason": UNKNOWN_TASK, "limit": wanted}
            unparked = self._connection.execute(self._statements["unpark_known"] + returning, known)
            woken += unparked.fetchall()
            self._unparked = unparked.rowcount
        return [lane or NAMELESS for (lane,) in woken]

    def _make_room(self, queue: str, started: int, *, has_expired: bool) -> None:
        """Tell the size of a queue that has a bound what has happened, and let in what was spilled."""
        if has_expired:
            self.has_let_in |= recount(self._connection, self._statements, [queue])
        else:
            grow(self._connection, self._statements, {queue: self._unparked - started})
            self.has_let_in |= let_in(self._connection, self._statements, queue)
        self.has_made_room = True

    def _values(self, queue: str) -> dict[str, object]:
        return {
            "queue": queue, "now": self._now_us, "limit": PROMOTE_LIMIT, "worker": self._worker, "nonce": self._nonce,
        }  # fmt: skip
