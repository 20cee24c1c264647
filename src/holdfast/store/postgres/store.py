"""The PostgreSQL store: the protocol over one schema of one database.

Every operation of the job path is one statement or one transaction (see `database`), so each happens whole or not at
all, whatever dies when. Others are told after the commit (see `doorbell`): a process that dies between the two has
stored everything and told nobody, and the waiters' slow look finds it within half a second.

The store's clock is the server's, read after the locks are held. The clocks of workers decide nothing.
"""

import time
from collections.abc import Sequence
from functools import partial
from typing import Self

import msgspec

from holdfast.errors import LeaseLost
from holdfast.model.claim import Claim, Progress
from holdfast.model.job import NewJob, Pushed
from holdfast.model.query import StoreInfo, Tidied
from holdfast.model.verdict import Lost, Verdict
from holdfast.model.worker import Beat, Rescued, WorkerRecord, WorkerReport
from holdfast.store.guest import LateRinger
from holdfast.store.postgres import address, claiming, rows, settling, upkeep, workers
from holdfast.store.postgres.bounds import has_room
from holdfast.store.postgres.clock import Moments
from holdfast.store.postgres.database import Database
from holdfast.store.postgres.doorbell import LOOK_S, Doorbell
from holdfast.store.postgres.guest import PostgresGuest
from holdfast.store.postgres.inspector import PostgresInspector
from holdfast.store.postgres.ledger import lock_queues
from holdfast.store.postgres.notices import NEWS, WAKE
from holdfast.store.postgres.operator import PostgresOperator
from holdfast.store.postgres.pushing import Push
from holdfast.store.postgres.queues import PostgresQueues
from holdfast.store.postgres.schema import Connection, finish
from holdfast.store.postgres.seen import PostgresSeen
from holdfast.store.postgres.shelves import Shelves
from holdfast.store.postgres.sweeper import Sweeper
from holdfast.store.protocol import Clock


class PostgresStore:
    """Jobs in a PostgreSQL database. Safe to use from many threads and, after a fork, from the child."""

    def __init__(self, database: Database, clock: Clock | None) -> None:
        self._db = database
        self._statements = database.statements
        self._clock = clock
        self._moments = Moments(clock)
        self._bells = Doorbell(database)
        self._sweeper = Sweeper(database)
        self._shelves = Shelves(database.statements)
        self._handout = claiming.Handout(database.statements, self._shelves)
        self._known_queues: frozenset[str] = frozenset()
        self._flowing_queues: frozenset[str] = frozenset()
        self.queues = PostgresQueues(database, self._bells, self._moments)
        self.seen = PostgresSeen(database, self._moments, self._make_queues)
        self.operator = PostgresOperator(database, self._bells, self._moments)
        self.inspector = PostgresInspector(database, self._bells, self._moments, self._shelves)
        self.guest = PostgresGuest(database, self._moments, self._prepare, LateRinger(self._ring_work).begin)

    @classmethod
    def open(cls, url: str, *, namespace: str = "holdfast", clock: Clock | None = None) -> Self:
        """Open the database, making the schema if need be, or refuse with the reason and the remedy."""
        return cls(Database(address.read(url), namespace), clock)

    # --- the job path -----------------------------------------------------------------------------------

    def push(self, jobs: Sequence[NewJob], now_us: int | None = None) -> list[Pushed]:
        if not jobs:
            return []
        self._make_queues({job.queue for job in jobs})
        now = self._moments.of(now_us)
        push = Push(self._statements, jobs, now)
        laned = {job.queue for job in jobs if job.lane} - self._flowing_queues
        pushed = None if push.is_keyed or laned else self._db.do(push.plainly)
        if pushed is None:
            pushed = self._db.write(lambda connection: push.whole(connection, laned))
            self._flowing_queues |= push.new_flows  # for ever
        self._bells.ring("work", WAKE if push.has_asked else NEWS)  # whoever was asked to stop learns of it by a beat
        if push.has_ended:
            self._bells.ring("done")
        return pushed

    def claim(
        self, worker: str, queues: Sequence[str], limit: int, now_us: int | None = None, *, ahead: int = 0
    ) -> list[Claim]:
        now = self._moments.of(now_us)
        with self._shelves.kept_if_done():
            looks = self._db.do(partial(self._look, worker, queues, limit + ahead, now))
            claims = self._db.write(partial(self._take, worker, looks, limit, ahead, now)) if looks else []
        self._tell_producers(looks)
        return claims

    def settle(self, verdicts: Sequence[Verdict], now_us: int | None = None) -> list[Lost]:
        if not verdicts:
            return []
        now = self._moments.of(now_us)
        slowed, returning = settling.slowed(verdicts), settling.returning(verdicts)

        def settle(connection: Connection) -> settling.Settled:
            ledgers = lock_queues(connection, self._statements, slowed, now, bounded=returning)
            return settling.settle(connection, self._statements, verdicts, now, ledgers)

        settled = self._db.write(settle)
        self._tell(settled)
        return settled.lost

    def exchange(
        self,
        verdicts: Sequence[Verdict],
        worker: str,
        queues: Sequence[str],
        limit: int,
        now_us: int | None = None,
        *,
        ahead: int = 0,
    ) -> tuple[list[Lost], list[Claim]]:
        now = self._moments.of(now_us)

        def exchange(connection: Connection) -> tuple[settling.Settled, list[Claim], list[claiming.Look]]:
            # The lease before the queues before the jobs, as everyone locks; it is the claim alone that hangs on it.
            named = [*(queues if wants_any else ()), *returning]
            moment, locked = self._held_until_commit(connection, worker, named, now)
            bounded = returning if moment is None else ()
            ledgers = lock_queues(connection, self._statements, {*locked, *slowed}, now, bounded=bounded)
            # Settle before claiming: what a verdict frees or brings back can be handed out in the same step.
            settled = settling.settle(connection, self._statements, verdicts, now, ledgers)
            if moment is None or not wants_any:
                return settled, [], []
            looks = self._handout.look(connection, queues, now)
            wish = claiming.Wish(worker, limit, ahead, max(moment, settled.moment_us))
            with self._shelves.kept_if_done():
                return settled, self._handout.take(connection, wish, looks, ledgers), looks

        slowed, returning = settling.slowed(verdicts), settling.returning(verdicts)
        wants_any = limit + ahead > 0
        if not verdicts:
            try:
                return [], self.claim(worker, queues, limit, now_us, ahead=ahead)
            except LeaseLost:
                return [], []
        with self._shelves.kept_if_done():
            settled, claims, looks = self._db.write(exchange)
        self._tell(settled)
        self._tell_producers(looks)
        return settled.lost, claims

    def wait(self, queues: Sequence[str] | None, timeout_s: float) -> None:
        bell = self._bells.lend("work")
        if bell is None:
            return
        try:
            deadline = time.monotonic() + timeout_s
            rung = ""
            while rung != WAKE:
                due_s = self.inspector.wake_at(queues)
                left_s = deadline - time.monotonic()
                if left_s <= 0 or (due_s is not None and due_s <= 0):
                    return
                rung = bell.listen(min(left_s, LOOK_S if due_s is None else due_s, LOOK_S))
                # A push is no reason to look here: who waits is about to look for itself, by a claim.
                if self._db.is_closed or (rung == NEWS and queues != ()):
                    return
        finally:
            self._bells.give_back(bell)

    def wait_for_room(self, queue: str, timeout_s: float) -> bool:
        bell = self._bells.lend("room")
        if bell is None:
            return self._has_room(queue)
        try:
            deadline = time.monotonic() + timeout_s
            rung = ""
            while not (has_room := self._has_room(queue)) and rung != WAKE:
                left_s = deadline - time.monotonic()
                if left_s <= 0:
                    break
                rung = bell.listen(min(left_s, LOOK_S))
                if self._db.is_closed:
                    break
            return has_room
        finally:
            self._bells.give_back(bell)

    def wake(self) -> None:
        self._bells.wake()

    def note(self, notes: Sequence[Progress], now_us: int | None = None) -> list[Lost]:
        values = {
            "ids": [note.id for note in notes],
            "tokens": [note.token for note in notes],
            "fractions": [note.fraction for note in notes],
            "notes": [rows.text(note.note) for note in notes],
        }
        found = self._db.do(lambda connection: connection.execute(self._statements["note"], values).fetchall())
        taken = set(found)
        return [
            Lost(note.id, note.token, f"job {note.id} is not running under this token")
            for note in notes
            if (note.id, note.token) not in taken
        ]

    # --- leases -----------------------------------------------------------------------------------------

    def enlist(self, worker: WorkerRecord, now_us: int | None = None) -> None:
        now = self._moments.of(now_us)
        self._db.do(lambda connection: workers.enlist(connection, self._statements, worker, now))

    def beat(self, worker: str, now_us: int | None = None, report: WorkerReport | None = None) -> Beat:
        now = self._moments.of(now_us)
        return self._db.do(lambda connection: workers.beat(connection, self._statements, worker, now, report))

    def leave(self, worker: str, now_us: int | None = None) -> None:
        now = self._moments.of(now_us)
        self._tell(self._db.write(lambda connection: workers.leave(connection, self._statements, worker, now)))

    def rescue(self, now_us: int | None = None) -> list[Rescued]:
        now = self._moments.of(now_us)
        rescued, settled = self._db.write(lambda connection: workers.rescue(connection, self._statements, now))
        self._tell(settled)
        return rescued

    # --- the house --------------------------------------------------------------------------------------

    def tidy(self, now_us: int | None = None) -> Tidied:
        now = self._moments.of(now_us)
        is_more = self._forget_lanes(now)
        tidied = self._db.write(lambda connection: upkeep.tidy(connection, self._statements, now))
        tidied = msgspec.structs.replace(tidied, is_more=tidied.is_more or is_more)
        if tidied.expired:
            self._bells.ring("done")
            self._bells.ring("work")  # for those who waited for the key, or for room
            self._bells.ring("room")
        self._sweeper.consider()
        return tidied

    def now(self) -> int:
        if self._clock is not None:
            return self._clock()
        row = self._db.do(lambda connection: connection.execute(self._statements.of("select ns_now(null)")).fetchone())
        assert row is not None
        return int(row[0])

    def describe(self) -> StoreInfo:
        return StoreInfo("postgres", self._db.where, "durable")

    def migrate(self) -> list[str]:
        """Do the second steps of migrations. For `holdfast migrate`; opening has done the first."""
        return self._db.do(lambda connection: finish(connection, self._statements, self._db.where))

    def close(self) -> None:
        self._sweeper.finish()
        self._bells.flush()
        self._db.close()
        self._bells.close()  # last: it sends the waiters home, and they must find the database closed

    # --- inside -----------------------------------------------------------------------------------------

    def _make_queues(self, names: set[str]) -> None:
        """Make the queues that are not there, in a commit of their own: a push that is held open then blocks nobody."""
        new = sorted(names - self._known_queues)
        if new:
            text = self._statements.of(
                "insert into ns_queue (name) select unnest(%s::text[]) on conflict (name) do nothing"
            )
            self._db.do(lambda connection: connection.execute(text, (new,)))
            self._known_queues |= names  # only now: queues, once committed, are never deleted

    def _prepare(self, jobs: Sequence[NewJob]) -> None:
        """Do, in commits of its own, all by which a push in a transaction of the caller's would hold up others."""
        self._make_queues({job.queue for job in jobs})
        laned = {job.queue for job in jobs if job.lane} - self._flowing_queues
        if laned:
            values = {"queues": sorted(laned), "now": self._moments.of(None)}
            self._db.do(lambda connection: connection.execute(self._statements["begin_to_flow"], values))
            self._flowing_queues |= laned

    def _look(
        self, worker: str, queues: Sequence[str], limit: int, now_us: int | None, connection: Connection
    ) -> list[claiming.Look]:
        """See whether there is anything to take. If not, the worker still learns if its lease is over."""
        looks = self._handout.look(connection, queues, now_us) if limit > 0 else []
        if not looks:
            lease = connection.execute(self._statements["lease"], {"worker": worker, "now": now_us}).fetchone()
            claiming.living(lease, worker)
        return looks

    def _take(
        self,
        worker: str,
        looks: Sequence[claiming.Look],
        limit: int,
        ahead: int,
        now_us: int | None,
        connection: Connection,
    ) -> list[Claim]:
        moment, _ = self._hold_lease(connection, worker, (), now_us)
        locked = [one.queue for one in looks if one.needs_lock]
        ledgers = lock_queues(connection, self._statements, locked, now_us)
        wish = claiming.Wish(worker, limit, ahead, max((one.now_us for one in ledgers.values()), default=moment))
        with self._shelves.kept_if_done():
            return self._handout.take(connection, wish, looks, ledgers)

    def _held_until_commit(
        self, connection: Connection, worker: str, queues: Sequence[str], now_us: int | None
    ) -> tuple[int | None, list[str]]:
        try:
            return self._hold_lease(connection, worker, queues, now_us)
        except LeaseLost:
            return None, []

    def _hold_lease(
        self, connection: Connection, worker: str, queues: Sequence[str], now_us: int | None
    ) -> tuple[int, list[str]]:
        """Give the time, and which queues are to be locked, if the lease is alive: it is then held until the end."""
        values = {"worker": worker, "now": now_us, "queues": list(queues)}
        return claiming.living(connection.execute(self._statements["hold_lease"], values).fetchone(), worker)

    def _forget_lanes(self, now_us: int | None) -> bool:
        """Queue by queue: upkeep of one must not hold up the claims of all."""
        names = self._db.do(lambda connection: upkeep.restless(connection, self._statements, now_us))
        forget = upkeep.forget_lanes
        more = [
            self._db.write(partial(forget, statements=self._statements, queue=name, now_us=now_us)) for name in names
        ]
        return any(more)

    def _has_room(self, queue: str) -> bool:
        return self._db.do(lambda connection: has_room(connection, self._statements, queue))

    def _tell_producers(self, looks: Sequence[claiming.Look]) -> None:
        if any(one.has_bound for one in looks):
            self._bells.ring("room")

    def _ring_work(self) -> None:
        self._bells.ring("work")

    def _tell(self, settled: settling.Settled) -> None:
        if settled.has_ended:
            self._bells.ring("done")
        if settled.has_made_room:
            self._bells.ring("work")
