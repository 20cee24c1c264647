"""Storing jobs.

Jobs without keys, in queues without bounds, are stored by one statement, which inserts rows of its own and touches no
others. It does nothing if it meets a bound. Where a key, a bound or a seen-set has a say, locks are taken (queues with a
bound by name, then keys, then the jobs that have them, then what is new to seen-sets), what is known is read, and
`store.admission` decides.

A push is told as questions and answers, so that it can be put through any connection: ours, or a user's, sync or async.
"""

import json
from collections.abc import Sequence, Set
from typing import Final

from holdfast.model.job import NewJob, Pushed, decided
from holdfast.policy.overlay import unpacked
from holdfast.store.admission import Admission, Arrival, KeyRow, Known, Plan, SuccessRow, places
from holdfast.store.flowing.ledger import NAMELESS
from holdfast.store.postgres import seensets
from holdfast.store.postgres.keys import columns
from holdfast.store.postgres.schema import Connection, Statements
from holdfast.store.postgres.talk import Question, Talk, put_to
from holdfast.store.seenset import asked, remembered

_STORED: Final = frozenset(("created", "spilled"))


class Push:
    """One push."""

    def __init__(self, statements: Statements, jobs: Sequence[NewJob], now_us: int | None) -> None:
        self._statements = statements
        self._jobs = jobs
        self._now_us = now_us
        self.has_ended = False
        """Whether jobs were cancelled to make way for others."""
        self.has_asked = False
        """Whether running jobs were asked to stop."""
        self.new_flows: set[str] = set()
        """Queues that flow from now on."""

    @property
    def is_keyed(self) -> bool:
        """Whether it takes more than one statement for sure."""
        return any(job.key is not None or job.seen is not None for job in self._jobs)

    def plainly(self, connection: Connection) -> list[Pushed] | None:
        """Store the jobs by one statement. None, and nothing stored, if a queue has a bound."""
        return put_to(connection, self._insert())

    def whole(self, connection: Connection, plain: Set[str] = frozenset()) -> list[Pushed]:
        """Store the jobs inside the caller's transaction. `plain` are queues that flow once a job with a lane is stored."""
        pushed = put_to(connection, self.talk())
        stored = (job for job, answer in zip(self._jobs, pushed, strict=True) if answer.decision in _STORED)
        self.new_flows = {job.queue for job in stored if job.lane and job.queue in plain}
        if self.new_flows:
            values = {"queues": sorted(self.new_flows), "now": self._now_us}
            connection.execute(self._statements["begin_to_flow"], values)
        return pushed

    def talk(self) -> Talk[list[Pushed]]:
        """Store the jobs, and tell what became of each, in the order given."""
        pushed = None if self.is_keyed else (yield from self._insert())
        return (yield from self._admit()) if pushed is None else pushed

    def _insert(self) -> Talk[list[Pushed] | None]:
        rows = yield self._statements["push"], _lists(self._jobs, self._now_us)
        has_bound = any(row[0] is None for row in rows)
        return None if has_bound else decided(self._jobs, {row[0] for row in rows})

    # --- where keys, bounds or seen-sets have a say ----------------------------------------------------------------

    def _admit(self) -> Talk[list[Pushed]]:
        named = columns(places(self._jobs))
        known, marking, now_us = yield from self._look_up(named)
        admission = Admission(known, now_us)
        pushed = [admission.take_in(job) for job in self._jobs]
        doings = self._doings(admission.plan, now_us)
        if named["keys"]:
            doings.append((self._statements["unlock_keys"], named))
        yield doings
        for queue, by in admission.plan.growth.items():
            yield from self._grow(queue, by)
        yield from seensets.finish(self._statements, marking, admission.plan.forgotten, now_us)
        return pushed

    def _look_up(self, named: dict[str, object]) -> Talk[tuple[Known, seensets.Marking, int]]:
        queues = list({job.queue for job in self._jobs})
        values = {"queues": queues, "bounded": queues, "now": self._now_us}
        locks: list[Question] = [(self._statements["lock_queues"], values)]
        if named["keys"]:
            locks += [(self._statements["lock_keys"], named), (self._statements["holders"], named)]
        rest = {**named, "ids": [job.id for job in self._jobs], "now": self._now_us}
        last = self._statements["before_admission"], rest
        marks = asked(self._jobs)
        if marks:
            answers = yield locks
            # Last: whoever ends a job marks or forgets its key, and must not be waited for by who holds that.
            marking = yield from seensets.begin(self._statements, marks, self._now_us)
            ((now_us, ids, successes),) = yield last
        else:
            *answers, ((now_us, ids, successes),) = yield [*locks, last]
            marking = seensets.Marking({}, {})
        bounded, holders = answers[0], answers[-1] if named["keys"] else []
        sizes = {row[0]: (unpacked(row[1], row[2])[0], row[6]) for row in bounded}
        keys = [KeyRow(*row) for row in holders]
        known = Known(set(ids), keys, [SuccessRow(*row) for row in successes], sizes, marking.sets)
        return known, marking, now_us

    def _doings(self, plan: Plan, now_us: int) -> list[Question]:
        """Give the statements that carry out a plan, but for the sizes of queues, in their order."""
        doings: list[Question] = []
        if plan.cancels:
            ids, reasons = zip(*plan.cancels, strict=True)
            values = {"ids": list(ids), "reasons": list(reasons), "now": now_us}
            doings.append((self._statements["replace"], values))
        if plan.asks:
            text = "update ns_job set cancel_asked = true where id = any (%(ids)s::text[])"
            doings.append((self._statements.of(text), {"ids": plan.asks}))
        if plan.merges:
            ids, priorities, dues = zip(*plan.merges, strict=True)
            values = {"ids": list(ids), "priorities": list(priorities), "dues": list(dues)}
            doings.append((self._statements["merge"], values))
        if plan.arrivals:
            doings.append((self._statements["arrive"], _arrivals(plan.arrivals, now_us)))
        for queue, number in plan.refused.items():
            text = "update ns_queue set refused = refused + %(number)s where name = %(queue)s"
            doings.append((self._statements.of(text), {"queue": queue, "number": number}))
        self.has_ended = bool(plan.cancels) or any(arrival.finished_us for arrival in plan.arrivals)
        self.has_asked = bool(plan.asks)
        return doings

    def _grow(self, queue: str, by: int) -> Talk[None]:
        """Move on the size of a bounded queue. If it shrank, what was spilled may enter."""
        rows = yield self._statements["grow"], {"queue": queue, "by": by}
        room, has_spilled = rows[0] if rows else (0, False)
        if has_spilled and room > 0:
            entered = yield self._statements["let_in"], {"queue": queue, "limit": room}
            yield self._statements["grow"], {"queue": queue, "by": len(entered)}


def _lists(jobs: Sequence[NewJob], now_us: int | None) -> dict[str, object]:
    """Give the parameters of the statement `push`."""
    return {
        "now": now_us,
        **_common(jobs),
        "priorities": [job.priority for job in jobs],
        "delays": [job.delay_us for job in jobs],
        "ats": [job.at_us for job in jobs],
        "expiries": [job.expires_us for job in jobs],
    }


def _arrivals(arrivals: Sequence[Arrival], now_us: int) -> dict[str, object]:
    """Give the parameters of the statement `arrive`."""
    jobs = [arrival.new for arrival in arrivals]
    return {
        "now": now_us,
        **_common(jobs),
        "states": [arrival.state for arrival in arrivals],
        "priorities": [arrival.priority for arrival in arrivals],
        "dues": [arrival.due_us for arrival in arrivals],
        "expiries": [arrival.expires_us for arrival in arrivals],
        "keys": [job.key for job in jobs],
        "versions": [job.version for job in jobs],
        "fresh_for": [job.fresh_for_us for job in jobs],
        "own_expiries": [one.new.expires_us if one.state == "spilled" else None for one in arrivals],
        "finished": [arrival.finished_us for arrival in arrivals],
        "kept": [arrival.keep_until_us for arrival in arrivals],
        "reasons": [arrival.reason for arrival in arrivals],
        "seen_digests": [remembered(job.seen)[0] for job in jobs],
        "seen_ttls": [remembered(job.seen)[1] for job in jobs],
    }


def _common(jobs: Sequence[NewJob]) -> dict[str, object]:
    return {
        "ids": [job.id for job in jobs],
        "queues": [job.queue for job in jobs],
        "tasks": [job.task for job in jobs],
        "budgets": [job.crash_budget for job in jobs],
        "keep_done": [job.keep_done_s for job in jobs],
        "keep_dead": [job.keep_dead_s for job in jobs],
        "result_ttls": [job.result_ttl_s for job in jobs],
        "tags": [json.dumps(job.tags) if job.tags else None for job in jobs],
        "seals": [job.seal for job in jobs],
        "envelopes": [job.envelope for job in jobs],
        "lanes": [job.lane or NAMELESS for job in jobs],
    }
