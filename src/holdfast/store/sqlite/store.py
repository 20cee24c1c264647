"""The SQLite store: the protocol over one file.

Every operation of the job path is one write transaction (see `database`), so each happens whole or not at all, whatever
dies when. Bells ring after the commit (see `doorbell`): a process that dies between the two has stored everything and
told nobody, and the waiters' slow look finds it within half a second.

The store's clock is the machine's, read after the lock is held. Leases use the boot clock (see `lease`).
"""

import sqlite3
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, Self

from holdfast.errors import LeaseLost
from holdfast.model.claim import Claim, Progress
from holdfast.model.finding import Finding
from holdfast.model.job import NewJob, Pushed
from holdfast.model.query import StoreInfo, Tidied
from holdfast.model.verdict import Lost, Verdict
from holdfast.model.worker import Beat, Rescued, WorkerRecord, WorkerReport
from holdfast.store.guest import LateRinger
from holdfast.store.protocol import Clock
from holdfast.store.sqlite import settling
from holdfast.store.sqlite.bounds import has_room
from holdfast.store.sqlite.claiming import Claiming
from holdfast.store.sqlite.database import Database
from holdfast.store.sqlite.doorbell import NEWS, WAKE, Doorbell
from holdfast.store.sqlite.guest import SqliteGuest
from holdfast.store.sqlite.inspector import SqliteInspector
from holdfast.store.sqlite.lease import Leases, boot_us
from holdfast.store.sqlite.operator import SqliteOperator
from holdfast.store.sqlite.pushing import Push
from holdfast.store.sqlite.queues import SqliteQueues
from holdfast.store.sqlite.seen import SqliteSeen
from holdfast.store.sqlite.upkeep import tidy
from holdfast.store.sqlite.workers import Roster

LOOK_S: Final = 0.5
"""How long a waiter sleeps at most before it looks for itself: what bounds a push that rang no bell."""


class SqliteStore:
    """Jobs in one SQLite file. Safe to use from many threads and, after a fork, from the child."""

    def __init__(self, database: Database, folder: Path, clock: Clock | None) -> None:
        self._db = database
        self._statements = database.statements
        self._clock = clock
        self._folder = folder
        self._bells = Doorbell(folder)
        self._leases = Leases(folder)
        self._roster = Roster(self._statements, self._leases)
        self._known_queues: set[str] = set()
        self.queues = SqliteQueues(database, self._bells, self.now)
        self.seen = SqliteSeen(database, self.now)
        self.operator = SqliteOperator(database, self._bells, self._roster, self.now, self._lease_now)
        self.inspector = SqliteInspector(database, self._bells, self._roster, self.now, self._lease_now, self._examine)
        self.guest = SqliteGuest(database, self.now, LateRinger(self._ring_work).begin)

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        tier: str = "durable",
        namespace: str = "holdfast",
        clock: Clock | None = None,
        trust_filesystem: bool = False,
    ) -> Self:
        """Open the file, making it and its schema if need be, or refuse with the reason and the remedy."""
        path = Path(path).absolute()
        database = Database(path, tier=tier, namespace=namespace, trust_filesystem=trust_filesystem)
        folder = Path(f"{path}-{namespace}")
        folder.mkdir(mode=0o700, exist_ok=True)
        return cls(database, folder, clock)

    # --- the job path -----------------------------------------------------------------------------------

    def push(self, jobs: Sequence[NewJob], now_us: int | None = None) -> list[Pushed]:
        if not jobs:
            return []
        with self._db.write() as connection:
            now = self.now() if now_us is None else now_us
            names = self._make_queues(connection, jobs)
            push = Push(connection, self._statements, now)
            pushed = push.push(jobs)
        self._known_queues |= names  # only now: queues, once committed, are never deleted
        self._bells.ring("work", WAKE if push.has_asked else NEWS)  # whoever was asked to stop learns of it by a beat
        if push.has_ended:
            self._bells.ring("done")
        return pushed

    def claim(
        self, worker: str, queues: Sequence[str], limit: int, now_us: int | None = None, *, ahead: int = 0
    ) -> list[Claim]:
        with self._db.write() as connection:
            if not self._roster.is_alive(connection, worker, self._lease_now(now_us)):
                raise LeaseLost(f"worker {worker} holds no live lease: it was rescued, has left, or never enlisted")
            now = self.now() if now_us is None else now_us
            claiming = Claiming(connection, self._statements, worker, now)
            claims = claiming.claim(queues, limit, ahead)
        self._tell_of_room(claiming)
        return claims

    def settle(self, verdicts: Sequence[Verdict], now_us: int | None = None) -> list[Lost]:
        if not verdicts:
            return []
        with self._db.write() as connection:
            now = self.now() if now_us is None else now_us
            settled = settling.settle(connection, self._statements, verdicts, now)
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
        with self._db.write() as connection:
            now = self.now() if now_us is None else now_us
            # Settle before claiming: what a verdict frees or brings back can be handed out in the same step.
            settled = settling.settle(connection, self._statements, verdicts, now)
            claiming = Claiming(connection, self._statements, worker, now)
            claims: list[Claim] = []
            if limit + ahead > 0 and self._roster.is_alive(connection, worker, self._lease_now(now_us)):
                claims = claiming.claim(queues, limit, ahead)
        self._tell(settled)
        self._tell_of_room(claiming)
        return settled.lost, claims

    def wait(self, queues: Sequence[str] | None, timeout_s: float) -> None:
        bell = self._bells.lend("work")
        if bell is None:
            return
        try:
            deadline = time.monotonic() + timeout_s
            rung = bell.drain()
            while WAKE not in rung:
                left_s = deadline - time.monotonic()
                due_us = self.inspector.wake_at(queues)
                until_due_s = LOOK_S if due_us is None else (due_us - self.now()) / 1e6
                if left_s <= 0 or until_due_s <= 0:
                    return
                rung = bell.listen(min(left_s, until_due_s, LOOK_S))
                if self._db.is_closed:
                    return
        finally:
            self._bells.give_back("work", bell)

    def wait_for_room(self, queue: str, timeout_s: float) -> bool:
        bell = self._bells.lend("room")
        if bell is None:
            return self._has_room(queue)
        try:
            deadline = time.monotonic() + timeout_s
            rung = bell.drain()
            while not (has_room := self._has_room(queue)) and WAKE not in rung:
                left_s = deadline - time.monotonic()
                if left_s <= 0:
                    break
                rung = bell.listen(min(left_s, LOOK_S))
                if self._db.is_closed:
                    break
            return has_room
        finally:
            self._bells.give_back("room", bell)

    def wake(self) -> None:
        self._bells.wake()

    def note(self, notes: Sequence[Progress], now_us: int | None = None) -> list[Lost]:
        lost: list[Lost] = []
        with self._db.write() as connection:
            for note in notes:
                values = (note.fraction, note.note, note.id, note.token)
                if connection.execute(self._statements["note"], values).rowcount == 0:
                    lost.append(Lost(note.id, note.token, f"job {note.id} is not running under this token"))
        return lost

    # --- leases -----------------------------------------------------------------------------------------

    def enlist(self, worker: WorkerRecord, now_us: int | None = None) -> None:
        with self._db.write() as connection:
            now = self.now() if now_us is None else now_us
            self._roster.enlist(connection, worker, now, self._lease_now(now_us))

    def beat(self, worker: str, now_us: int | None = None, report: WorkerReport | None = None) -> Beat:
        with self._db.read() as connection:
            if not self._roster.is_alive(connection, worker, self._lease_now(now_us)):
                return Beat(False)
            self._leases.beat(worker, self._lease_now(now_us))
            if report is not None:
                self._leases.write_report(worker, report)
            return self._roster.wishes(connection, worker)

    def leave(self, worker: str, now_us: int | None = None) -> None:
        with self._db.write() as connection:
            now = self.now() if now_us is None else now_us
            settled = self._roster.leave(connection, worker, now)
        self._leases.end(worker)
        self._tell(settled)

    def rescue(self, now_us: int | None = None) -> list[Rescued]:
        with self._db.read() as connection:
            if not self._roster.silent(connection, self._lease_now(now_us)):
                return []
        with self._db.write() as connection:
            now = self.now() if now_us is None else now_us
            rescued, settled = self._roster.rescue(connection, now, self._lease_now(now_us))
        for dead in rescued:
            self._leases.end(dead.worker)
        self._tell(settled)
        return rescued

    # --- the house --------------------------------------------------------------------------------------

    def tidy(self, now_us: int | None = None) -> Tidied:
        with self._db.write() as connection:
            now = self.now() if now_us is None else now_us
            tidied = tidy(connection, self._statements, now)
        if tidied.expired:
            self._bells.ring("done")
            self._bells.ring("work")  # for those who waited for the key, or for room
            self._bells.ring("room")
        return tidied

    def now(self) -> int:
        return time.time_ns() // 1000 if self._clock is None else self._clock()

    def describe(self) -> StoreInfo:
        return StoreInfo("sqlite", str(self._db.path), self._db.tier)

    def close(self) -> None:
        self._db.close()
        self._leases.close()
        self._bells.close()  # last: it sends the waiters home, and they must find the database closed

    # --- inside -----------------------------------------------------------------------------------------

    def _make_queues(self, connection: sqlite3.Connection, jobs: Sequence[NewJob]) -> set[str]:
        names = {job.queue for job in jobs}
        new = [(name,) for name in sorted(names - self._known_queues)]
        if new:
            connection.executemany(self._statements.of("insert or ignore into ns_queue (name) values (?)"), new)
        return names

    def _has_room(self, queue: str) -> bool:
        with self._db.read() as connection:
            return has_room(connection, self._statements, queue)

    def _tell_of_room(self, claiming: Claiming) -> None:
        if claiming.has_made_room:
            self._bells.ring("room")
        if claiming.has_let_in:
            self._bells.ring("work")

    def _ring_work(self) -> None:
        self._bells.ring("work")

    def _tell(self, settled: settling.Settled) -> None:
        if settled.has_ended:
            self._bells.ring("done")
        if settled.has_made_room:
            self._bells.ring("work", NEWS)

    def _examine(self) -> Iterator[Finding]:
        from holdfast.store.sqlite.examining import examine  # only for the doctor

        return examine(self._db.path, self._folder)

    def _lease_now(self, now_us: int | None = None) -> int:
        if now_us is not None:
            return now_us
        return boot_us() if self._clock is None else self._clock()
