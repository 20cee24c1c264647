"""Carrying out verdicts inside a transaction: lock, check the token, land the job, keep the run."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from holdfast.model.states import FINAL, is_move
from holdfast.model.verdict import Lost, Verdict
from holdfast.policy.identity import remembered_until_us
from holdfast.policy.landing import KEEP_RUNS, Landing, land, story, why_refused
from holdfast.policy.moments import SECOND
from holdfast.store.admission import SIZED, Place
from holdfast.store.flowing.news import Line, merged, of_verdict
from holdfast.store.postgres import bounds, keys, seensets
from holdfast.store.postgres.ledger import PostgresLedger, leave_news
from holdfast.store.postgres.rows import text
from holdfast.store.postgres.schema import Connection, Statements
from holdfast.store.postgres.talk import put_to
from holdfast.store.seenset import Ending

_COLUMNS: Final = (
    "seqs", "states", "dues", "failures", "crashes", "expiries", "finished", "kept", "results", "result_untils",
    "reasons", "errors", "tracebacks", "are_runs", "took", "outcomes", "run_reasons", "run_errors", "run_tracebacks",
    "steps",
)  # fmt: skip
"""The lists that `land` takes, in the order in which `_settle_one` gives their values."""


_RETURNING: Final = frozenset(("retry", "snoozed", "released", "crashed"))
"""Outcomes after which a job may have yet to start."""


class Settled:
    """What a batch of verdicts brought about: the refused ones, and who should hear of the rest."""

    def __init__(self) -> None:
        self.lost: list[Lost] = []
        self.has_ended = False
        self.has_made_room = False
        """Whether something may be claimable now that was not."""
        self.moment_us = 0
        self.landings: list[tuple[Any, ...]] = []
        self.long_lived: list[int] = []
        """Jobs, by seq, that may have more runs than are kept."""
        self.news: list[Line] = []
        self.new_flows: set[str] = set()
        """Queues that flow from now on."""
        self.growth: Counter[str] = Counter()
        """How many jobs have come back, to queues that have a bound."""
        self.freed: list[Place] = []
        """Queues and keys of jobs that have ended."""
        self.successes: list[keys.SuccessLine] = []
        self.ends: list[Ending] = []
        """Of jobs that remember what they have marked."""


def slowed(verdicts: Iterable[Verdict]) -> set[str]:
    """Tell which queues must be locked before these verdicts are carried out: a task asked for them to be left alone."""
    return {verdict.queue for verdict in verdicts if verdict.slows_us}


def returning(verdicts: Iterable[Verdict]) -> set[str]:
    """Tell which queues must be locked before, if they have a bound: they may get jobs back."""
    return {verdict.queue for verdict in verdicts if verdict.again_us or verdict.outcome in _RETURNING}


def settle(
    connection: Connection,
    statements: Statements,
    verdicts: Sequence[Verdict],
    now_us: int | None,
    ledgers: Mapping[str, PostgresLedger] = MappingProxyType({}),
) -> Settled:
    """Carry out the verdicts whose token is the job's current one; report the others. Changes nothing else.

    `ledgers` has those of the `slowed` queues, and of the `returning` ones that have a bound. Their locks are held.
    """
    settled = Settled()
    ids = [verdict.id for verdict in verdicts]
    rows = connection.execute(statements["held"], {"ids": ids, "now": now_us}).fetchall() if ids else []
    moment_us = settled.moment_us = rows[-1][-1] if rows else 0  # read when the last of them was locked
    held = {row[0]: row for row in rows}
    for verdict in verdicts:
        row = held.get(verdict.id)
        if row is None or row[2] != "running" or row[3] != verdict.token:
            settled.lost.append(
                Lost(verdict.id, verdict.token, why_refused(verdict, *((row[2], row[10]) if row else (None, None))))
            )
            continue
        # A second verdict on the same claim is one too many.
        held[verdict.id] = (*row[:2], "settled", *row[3:])
        _settle_one(settled, verdict, row, moment_us)
    _write(connection, statements, settled, moment_us)
    for queue in sorted(settled.new_flows):
        ledgers[queue].begin_to_flow(moment_us)
    if settled.news:
        leave_news(connection, statements, merged(settled.news))
    _let_go(connection, statements, settled, ledgers)
    return settled


def _settle_one(settled: Settled, verdict: Verdict, row: tuple[Any, ...], now_us: int) -> None:
    (_, seq, _, _, due_us, failures, crashes, budget, cancel_asked, number, _,
     keep_done_s, keep_dead_s, result_ttl_s, expires_us, *_) = row  # fmt: skip
    landing = land(
        verdict, due_us=due_us, failures=failures, crashes=crashes, crash_budget=budget,
        cancel_asked=cancel_asked, now_us=now_us,
    )  # fmt: skip
    assert is_move("running", landing.state), landing
    ended = landing.state in FINAL
    succeeded = landing.state == "succeeded"
    kept_s = keep_done_s if succeeded else keep_dead_s
    reason, error, traceback = story(verdict, landing, row[15:18])
    settled.landings.append((
        seq, landing.state, landing.due_us, landing.failures, landing.crashes,
        None if landing.forgets_expiry else expires_us,
        now_us if ended else None, now_us + kept_s * SECOND if ended else None,
        verdict.result if succeeded else None, now_us + result_ttl_s * SECOND if succeeded else None,
        text(reason), text(error), text(traceback),
        verdict.is_of_a_run, verdict.took_us, verdict.outcome,
        text(verdict.reason), text(verdict.error), text(verdict.traceback),
        int(landing.begins_anew),
    ))  # fmt: skip
    if verdict.is_of_a_run and number > KEEP_RUNS:
        settled.long_lived.append(seq)
    settled.has_ended |= ended
    settled.has_made_room |= not ended
    _tell_queue(settled, verdict, landing, row, now_us)
    if row[22] is not None:
        _tell_key(settled, verdict, row, now_us, ended=ended)
    if row[25] is not None and ended:
        settled.ends.append(Ending(row[18], row[25], row[26], succeeded))


def _tell_queue(settled: Settled, verdict: Verdict, landing: Landing, row: tuple[Any, ...], now_us: int) -> None:
    queue, lane, is_flowing, has_bound = row[18:22]
    if has_bound and landing.state in SIZED:
        settled.growth[queue] += 1
    if is_flowing or verdict.slows_us:
        settled.news += of_verdict(verdict, queue, lane, now_us)
        settled.has_made_room = True
    if not is_flowing and verdict.slows_us:
        settled.new_flows.add(queue)


def _tell_key(settled: Settled, verdict: Verdict, row: tuple[Any, ...], now_us: int, *, ended: bool) -> None:
    queue, (key, version, fresh_for_us) = row[18], row[22:25]
    if verdict.outcome == "done":
        until_us = remembered_until_us(row[11], fresh_for_us, now_us)
        settled.successes.append((queue, key, verdict.id, until_us, version))
    if ended:
        settled.freed.append((queue, key))


def _let_go(
    connection: Connection, statements: Statements, settled: Settled, ledgers: Mapping[str, PostgresLedger]
) -> None:
    """Tell bounds, keys and seen-sets what has happened."""
    # A queue that got its bound after the locks were taken is not ours to change; see `bounds`.
    bounds.grow(connection, statements, {queue: by for queue, by in settled.growth.items() if queue in ledgers})
    if settled.successes:
        keys.remember(connection, statements, settled.successes, settled.moment_us)
    if settled.freed:
        settled.has_made_room |= keys.let_go(connection, statements, settled.freed)
    put_to(connection, seensets.end(statements, settled.ends, settled.moment_us))


def _write(connection: Connection, statements: Statements, settled: Settled, now_us: int) -> None:
    if settled.landings:
        lists = dict(zip(_COLUMNS, map(list, zip(*settled.landings, strict=True)), strict=True))
        connection.execute(statements["land"], {**lists, "now": now_us})
    if settled.long_lived:
        connection.execute(statements["forget_runs"], {"jobs": settled.long_lived, "keep": KEEP_RUNS})
