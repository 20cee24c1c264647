"""Carrying out verdicts inside a write transaction: check the token, land the job, keep the run."""

import json
import sqlite3
from collections import Counter
from collections.abc import Sequence
from typing import Any

from holdfast.model.states import FINAL, is_move
from holdfast.model.verdict import Lost, Verdict
from holdfast.policy.identity import remembered_until_us
from holdfast.policy.landing import KEEP_RUNS, Landing, land, story, why_refused
from holdfast.policy.moments import SECOND
from holdfast.store.admission import SIZED
from holdfast.store.flowing.news import Line, merged, of_verdict
from holdfast.store.seenset import Ending
from holdfast.store.sqlite import bounds, keys, seensets
from holdfast.store.sqlite.ledger import begin_to_flow, leave_news
from holdfast.store.sqlite.schema import Statements


class Settled:
    """What a batch of verdicts brought about: the refused ones, and who should hear of the rest."""

    def __init__(self) -> None:
        self.lost: list[Lost] = []
        self.has_ended = False
        self.has_made_room = False
        """Whether something may be claimable now that was not."""
        self.landings: list[tuple[Any, ...]] = []
        self.runs: list[tuple[Any, ...]] = []
        self.old_runs: list[tuple[int, int, int]] = []
        self.news: list[Line] = []
        self.new_flows: set[str] = set()
        """Queues that flow from now on."""
        self.growth: Counter[str] = Counter()
        """How many jobs have come back, to queues that have a bound."""
        self.freed: list[tuple[str, str]] = []
        """Queues and keys of jobs that have ended."""
        self.successes: list[keys.SuccessLine] = []
        self.ends: list[Ending] = []
        """Of jobs that remember what they have marked."""


def settle(connection: sqlite3.Connection, statements: Statements, verdicts: Sequence[Verdict], now_us: int) -> Settled:
    """Carry out the verdicts whose token is the job's current one; report the others. Changes nothing else."""
    settled = Settled()
    ids = json.dumps([verdict.id for verdict in verdicts])
    held = {row[0]: row for row in connection.execute(statements["held"], (ids,))}
    for verdict in verdicts:
        row = held.get(verdict.id)
        if row is None or row[2] != "running" or row[3] != verdict.token:
            settled.lost.append(
                Lost(verdict.id, verdict.token, why_refused(verdict, *((row[2], row[11]) if row else (None, None))))
            )
            continue
        del held[verdict.id]  # a second verdict on the same claim is one too many
        _settle_one(settled, verdict, row, now_us)
    connection.executemany(statements["land"], settled.landings)
    connection.executemany(statements["record_run"], settled.runs)
    if settled.old_runs:
        connection.executemany(statements["forget_runs"], settled.old_runs)
    if settled.news:
        begin_to_flow(connection, statements, settled.new_flows, now_us)
        leave_news(connection, statements, merged(settled.news))
    if settled.growth:
        bounds.grow(connection, statements, settled.growth)
    if settled.successes:
        keys.remember(connection, statements, settled.successes)
    if settled.freed:
        settled.has_made_room |= keys.let_go(connection, statements, settled.freed)
    if settled.ends:
        seensets.end(connection, statements, settled.ends, now_us)
    return settled


def _settle_one(settled: Settled, verdict: Verdict, row: tuple[Any, ...], now_us: int) -> None:
    (_, seq, _, token, due_us, failures, crashes, budget, cancel_asked, number, generation, worker, claimed_us,
     keep_done_s, keep_dead_s, result_ttl_s, expires_us, *_) = row  # fmt: skip
    landing = land(
        verdict, due_us=due_us, failures=failures, crashes=crashes, crash_budget=budget,
        cancel_asked=bool(cancel_asked), now_us=now_us,
    )  # fmt: skip
    assert is_move("running", landing.state), landing
    ended = landing.state in FINAL
    kept_s = keep_done_s if landing.state == "succeeded" else keep_dead_s
    reason, error, traceback = story(verdict, landing, row[17:20])
    settled.landings.append((
        landing.state, landing.due_us, generation + landing.begins_anew, landing.failures, landing.crashes,
        None if landing.forgets_expiry else expires_us,
        now_us if ended else None, now_us + kept_s * SECOND if ended else None,
        verdict.result if landing.state == "succeeded" else None,
        now_us + result_ttl_s * SECOND if landing.state == "succeeded" else None,
        reason, error, traceback, seq,
    ))  # fmt: skip
    if verdict.is_of_a_run:
        settled.runs.append((
            seq, number, generation, worker, token, claimed_us, now_us, verdict.took_us,
            verdict.outcome, verdict.reason, verdict.error, verdict.traceback,
        ))  # fmt: skip
        if number > KEEP_RUNS:
            settled.old_runs.append((seq, seq, KEEP_RUNS))
    if row[-1] or verdict.slows_us:
        _tell_queue(settled, verdict, landing, row, now_us)
    if row[22] is not None:
        _tell_key(settled, verdict, row, now_us, ended=ended)
    if row[25] is not None and ended:
        settled.ends.append(Ending(row[20], row[25], row[26], landing.state == "succeeded"))
    settled.has_ended |= ended
    settled.has_made_room |= not ended


def _tell_queue(settled: Settled, verdict: Verdict, landing: Landing, row: tuple[Any, ...], now_us: int) -> None:
    queue, lane, flags = row[20], row[21], row[27]
    if flags & 2 and landing.state in SIZED:
        settled.growth[queue] += 1
    if flags & 1 or verdict.slows_us:
        settled.news += of_verdict(verdict, queue, lane, now_us)
        settled.has_made_room = True
    if not flags & 1 and verdict.slows_us:
        settled.new_flows.add(queue)


def _tell_key(settled: Settled, verdict: Verdict, row: tuple[Any, ...], now_us: int, *, ended: bool) -> None:
    queue, _, key, version, fresh_for_us = row[20:25]
    if verdict.outcome == "done":
        until_us = remembered_until_us(row[13], fresh_for_us, now_us)
        settled.successes.append((queue, key, verdict.id, now_us, until_us, version))
    if ended:
        settled.freed.append((queue, key))
