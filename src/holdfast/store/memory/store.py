"""The memory store: min-heaps, one lock, one Condition. What it holds is gone when the process ends.

A waiter sleeps exactly until the head of its queues is due, holds no job meanwhile, and is woken by an
earlier insert. See `rack` for the locks, `shelf` for the order, `bell` for the sleep, `leases` for who may
claim.
"""

import secrets
from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter

from holdfast.errors import LeaseLost
from holdfast.model.claim import Claim, Progress
from holdfast.model.job import NewJob, Pushed
from holdfast.model.query import StoreInfo, Tidied
from holdfast.model.verdict import Lost, Verdict
from holdfast.model.worker import Beat, Rescued, WorkerRecord, WorkerReport
from holdfast.policy.moments import SECOND
from holdfast.store.memory import handout, settlement, upkeep
from holdfast.store.memory.admission import take_in
from holdfast.store.memory.inspector import MemoryInspector
from holdfast.store.memory.operator import MemoryOperator
from holdfast.store.memory.queues import MemoryQueues
from holdfast.store.memory.rack import Rack
from holdfast.store.memory.seen import MemorySeen
from holdfast.store.protocol import Clock

_by_queue = attrgetter("queue")


class MemoryStore:
    """Jobs in this process, for as long as it lives. `is_split` gives each queue its own lock: see `rack`."""

    def __init__(self, clock: Clock | None = None, *, is_split: bool = False) -> None:
        self._rack = Rack(clock, is_split=is_split)
        self.queues = MemoryQueues(self._rack)
        self.operator = MemoryOperator(self._rack)
        self.inspector = MemoryInspector(self._rack)
        self.seen = MemorySeen(self._rack)
        self.guest = None

    # --- the job path -----------------------------------------------------------------------------------

    def push(self, jobs: Sequence[NewJob], now_us: int | None = None) -> list[Pushed]:
        answers: list[Pushed] = []
        with self._rack.step():
            # Runs of neighbours, not groups: where a batch is several steps they are in the order given.
            for queue, group in groupby(jobs, _by_queue):
                shelf = self._rack.shelf(queue)
                with self._rack.hold(shelf, now_us) as now:
                    answers += [take_in(self._rack, shelf, job, now) for job in group]
        return answers

    def claim(
        self, worker: str, queues: Sequence[str], limit: int, now_us: int | None = None, *, ahead: int = 0
    ) -> list[Claim]:
        claims: list[Claim] = []
        nonce = secrets.token_hex(8)
        with self._rack.step():
            lease = self._rack.roster.require(worker, self._rack.moment(now_us))
            for shelf in self._rack.shelves(dict.fromkeys(queues)):
                free = limit - len(claims) + (0 if shelf.policy.is_limited else ahead)
                if free <= 0:
                    continue
                with self._rack.hold(shelf, now_us) as now:
                    claims += handout.hand_out(shelf, lease, free, nonce, now)
        return claims

    def settle(self, verdicts: Sequence[Verdict], now_us: int | None = None) -> list[Lost]:
        lost: list[Lost | None] = []
        with self._rack.step():
            for queue, group in groupby(verdicts, _by_queue):
                shelf = self._rack.shelf(queue)
                with self._rack.hold(shelf, now_us) as now:
                    lost += [settlement.settle(shelf, verdict, now) for verdict in group]
        return [one for one in lost if one]

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
        with self._rack.step():
            lost = self.settle(verdicts, now_us)
            try:
                return lost, self.claim(worker, queues, limit, now_us, ahead=ahead)
            except LeaseLost:
                return lost, []  # nothing was claimed; the worker's next beat or claim tells it why

    def wait(self, queues: Sequence[str] | None, timeout_s: float) -> None:
        self._rack.check_open()

        def seconds_to_next() -> float | None:
            moment = self._rack.next_claimable_us(queues)
            return None if moment is None else (moment - self._rack.now()) / SECOND

        self._rack.bell.sleep(seconds_to_next, timeout_s)

    def wake(self) -> None:
        self._rack.check_open()
        self._rack.bell.alarm()

    def wait_for_room(self, queue: str, timeout_s: float) -> bool:
        self._rack.check_open()

        def look() -> float | None:
            return 0 if self._has_room(queue) else None

        self._rack.bell.sleep(look, timeout_s)
        return self._has_room(queue)

    def _has_room(self, queue: str) -> bool:
        shelf = self._rack.find(queue)
        if shelf is None:
            return True
        with shelf.lock:
            return shelf.has_room

    def note(self, notes: Sequence[Progress], now_us: int | None = None) -> list[Lost]:
        lost: list[Lost | None] = []
        with self._rack.step():
            for queue, group in groupby(notes, _by_queue):
                shelf = self._rack.shelf(queue)
                with self._rack.hold(shelf, now_us):
                    lost += [settlement.note(shelf, progress) for progress in group]
        return [one for one in lost if one]

    # --- leases -----------------------------------------------------------------------------------------

    def enlist(self, worker: WorkerRecord, now_us: int | None = None) -> None:
        with self._rack.step():
            self._rack.roster.begin(worker, self._rack.moment(now_us))

    def beat(self, worker: str, now_us: int | None = None, report: WorkerReport | None = None) -> Beat:
        tokens: list[str] = []
        with self._rack.step():
            record = self._rack.roster.renew(worker, self._rack.moment(now_us), report)
            if record is None:
                return Beat(is_alive=False)
            for shelf in self._rack.shelves():
                with self._rack.hold(shelf, now_us) as now:
                    shelf.leases.renew(worker, now)
                    held = shelf.held_by(worker)
                    tokens += [entry.token for entry in held if entry.cancel_asked and entry.token]
        return Beat(is_alive=True, cancelled=tuple(tokens), must_leave=record.is_leaving)

    def leave(self, worker: str, now_us: int | None = None) -> None:
        with self._rack.step():
            self._rack.roster.end(worker)
            for shelf in self._rack.shelves():
                with self._rack.hold(shelf, now_us) as now:
                    settlement.give_back(shelf, worker, now)

    def rescue(self, now_us: int | None = None) -> list[Rescued]:
        with self._rack.step():
            return upkeep.rescue(self._rack, now_us)

    # --- the house --------------------------------------------------------------------------------------

    def tidy(self, now_us: int | None = None) -> Tidied:
        with self._rack.step():
            return upkeep.tidy(self._rack, now_us)

    def now(self) -> int:
        return self._rack.now()

    def describe(self) -> StoreInfo:
        return StoreInfo("memory", "memory://", "volatile")

    def close(self) -> None:
        self._rack.close()
