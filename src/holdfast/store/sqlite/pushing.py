"""Storing jobs: rows of their own, with their tags, in a transaction that the caller began.

Jobs without keys, in queues without bounds, are stored by one statement each that leaves a known id alone. Where a key, a
bound or a seen-set has a say, what is known is looked up first, and `store.admission` decides.
"""

import json
import sqlite3
from collections.abc import Sequence

from holdfast.model.job import NewJob, Pushed, decided
from holdfast.policy.overlay import unpacked
from holdfast.store.admission import Admission, Arrival, Known, Plan, due_us, places
from holdfast.store.flowing.news import of_arrivals
from holdfast.store.seenset import asked, remembered
from holdfast.store.sqlite import bounds, keys, seensets
from holdfast.store.sqlite.ledger import begin_to_flow, leave_news
from holdfast.store.sqlite.schema import Statements


class Push:
    """One push. The write lock must be held already."""

    def __init__(self, connection: sqlite3.Connection, statements: Statements, now_us: int) -> None:
        self._connection = connection
        self._statements = statements
        self._now_us = now_us
        self.has_ended = False
        """Whether jobs were cancelled to make way for others."""
        self.has_asked = False
        """Whether running jobs were asked to stop."""

    def push(self, jobs: Sequence[NewJob]) -> list[Pushed]:
        """Store the jobs, and tell what became of each, in the order given."""
        queues = {job.queue for job in jobs}
        last, flowing, has_bound = self._look(queues)
        if has_bound or any(job.key is not None or job.seen is not None for job in jobs):
            return self._admit(jobs, queues, flowing)
        return self._insert(jobs, last, flowing)

    def _look(self, queues: set[str]) -> tuple[int, set[str], bool]:
        """Give the last seq, which of these queues flow, and whether any has a bound."""
        if len(queues) == 1:
            sql = self._statements["before_push"]
            last, is_flowing, has_bound = self._connection.execute(sql, tuple(queues)).fetchone()
            return last or 0, queues if is_flowing else set(), bool(has_bound)
        sql = self._statements["before_mixed_push"]
        last, flowing, has_bound = self._connection.execute(sql, (json.dumps(list(queues)),)).fetchone()
        return last or 0, set(json.loads(flowing)), bool(has_bound)

    # --- where nothing has to be asked ------------------------------------------------------------------

    def _insert(self, jobs: Sequence[NewJob], last: int, flowing: set[str]) -> list[Pushed]:
        before = self._connection.total_changes
        now_us = self._now_us
        self._connection.executemany(self._statements["push"], [_values(job, now_us) for job in jobs])
        created: Sequence[NewJob] = jobs
        if self._connection.total_changes - before == len(jobs):
            pushed = [Pushed(job.id, "created") for job in jobs]
        else:
            # The write lock is ours, so the rows above `last` are exactly those of this batch.
            fresh = self._connection.execute(self._statements.of("select id from ns_job where seq > ?"), (last,))
            pushed = decided(jobs, {row[0] for row in fresh})
            created = [job for job, answer in zip(jobs, pushed, strict=True) if answer.decision == "created"]
        self._tag(created)
        laned = {job.queue for job in created if job.lane}
        if flowing or laned:
            self._tell_claims(laned, flowing, [job for job in created if due_us(job, now_us) <= now_us])
        return pushed

    # --- where keys, bounds or seen-sets have a say ----------------------------------------------------------------

    def _admit(self, jobs: Sequence[NewJob], queues: set[str], flowing: set[str]) -> list[Pushed]:
        admission = Admission(self._known(jobs, queues), self._now_us)
        pushed = [admission.take_in(job) for job in jobs]
        self._carry_out(admission.plan)
        stored = [arrival.new for arrival in admission.plan.arrivals]
        self._tag(stored)
        ready = [arrival.new for arrival in admission.plan.arrivals if arrival.state == "ready"]
        self._tell_claims({job.queue for job in stored if job.lane}, flowing, ready)
        return pushed

    def _known(self, jobs: Sequence[NewJob], queues: set[str]) -> Known:
        ids = self._connection.execute(
            self._statements.of("select id from ns_job where id in (select value from json_each(?))"),
            (json.dumps([job.id for job in jobs]),),
        )
        bounded = self._connection.execute(
            self._statements.of(
                "select name, declared, overlay, size from ns_queue "
                "where max_size is not null and name in (select value from json_each(?))"
            ),
            (json.dumps(list(queues)),),
        )
        named = places(jobs)
        return Known(
            {row[0] for row in ids},
            keys.holders(self._connection, self._statements, named) if named else (),
            keys.successes(self._connection, self._statements, named) if named else (),
            {name: (unpacked(declared, overlay)[0], size) for name, declared, overlay, size in bounded},
            seensets.load(self._connection, self._statements, asked(jobs), self._now_us),
        )

    def _carry_out(self, plan: Plan) -> None:
        now_us, do = self._now_us, self._connection.executemany
        do(self._statements["replace"], [(now_us, now_us, reason, job_id) for job_id, reason in plan.cancels])
        do(self._statements.of("update ns_job set cancel_asked = 1 where id = ?"), [(job_id,) for job_id in plan.asks])
        do(self._statements["merge"], [(priority, due, job_id) for job_id, priority, due in plan.merges])
        do(self._statements["insert_arrival"], [_arrived(arrival, now_us) for arrival in plan.arrivals])
        for queue, digests in plan.forgotten.items():
            seensets.forget(self._connection, self._statements, queue, digests, now_us)
        seensets.save(self._connection, self._statements, plan.seen, now_us)
        do(
            self._statements.of("update ns_queue set refused = refused + ? where name = ?"),
            [(number, queue) for queue, number in plan.refused.items()],
        )
        bounds.grow(self._connection, self._statements, plan.growth)
        for queue in plan.growth:
            bounds.let_in(self._connection, self._statements, queue)
        self.has_ended = bool(plan.cancels) or any(arrival.finished_us for arrival in plan.arrivals)
        self.has_asked = bool(plan.asks)

    # --- both -------------------------------------------------------------------------------------------

    def _tag(self, created: Sequence[NewJob]) -> None:
        tags = [(tag, job.id) for job in created if job.tags for tag in job.tags]
        if tags:
            self._connection.executemany(
                self._statements.of("insert or ignore into ns_tag (tag, job) select ?, seq from ns_job where id = ?"),
                tags,
            )

    def _tell_claims(self, laned: set[str], flowing: set[str], ready: Sequence[NewJob]) -> None:
        """Leave news of the jobs in queues that flow. A queue begins to with its first job that has a lane."""
        begin_to_flow(self._connection, self._statements, sorted(laned - flowing), self._now_us)
        told = flowing | laned
        arrivals = [(job.queue, job.lane) for job in ready if job.queue in told]
        if arrivals:
            leave_news(self._connection, self._statements, of_arrivals(arrivals, self._now_us))


def _values(job: NewJob, now_us: int) -> tuple[object, ...]:
    due = due_us(job, now_us)
    return (
        job.id, job.queue, job.task, "scheduled" if due > now_us else "ready", job.priority, due, now_us,
        job.expires_us, job.crash_budget, job.keep_done_s, job.keep_dead_s, job.result_ttl_s,
        json.dumps(job.tags) if job.tags else None, job.seal, job.envelope, job.lane or None,
    )  # fmt: skip


def _arrived(arrival: Arrival, now_us: int) -> tuple[object, ...]:
    job = arrival.new
    return (
        job.id, job.queue, job.task, arrival.state, arrival.priority, arrival.due_us, now_us,
        arrival.expires_us, job.crash_budget, job.keep_done_s, job.keep_dead_s, job.result_ttl_s,
        json.dumps(job.tags) if job.tags else None, job.seal, job.envelope, job.lane or None,
        job.key, job.version, job.fresh_for_us, job.expires_us if arrival.state == "spilled" else None,
        arrival.finished_us, arrival.keep_until_us, arrival.reason, *remembered(job.seen),
    )  # fmt: skip
