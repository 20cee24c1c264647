"""A worker inside this process: takes claims into free slots, runs them, settles them, until told to stop.

    pump thread   ticks: settles what ended and claims into what is free, in one exchange; then rests
    slots         threads for sync tasks, a loop for async ones
    beats         keep the lease, whatever the others do
    listener      waits for work in the store while the pump rests

**If the process dies**, everything it holds comes back when its lease ends. **If the lease is lost** (the machine slept,
the store was away), others may have taken its jobs: running ones are told to stop, their verdicts will be refused by
token, and the pump enlists anew under another id. **If the store fails**, verdicts are kept and sent again: settling is
idempotent by token. Every failure is logged, followed by a pause, and never by a spin.

Stopping: nothing new is claimed, what runs may finish until the grace ends, the rest is handed back uncharged.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from holdfast.errors import LeaseLost, StoreError
from holdfast.model.claim import Claim
from holdfast.model.verdict import Lost, Verdict
from holdfast.run.beater import Beater
from holdfast.run.bench import Bench
from holdfast.run.hooks import DrainHooks
from holdfast.run.identity import new_worker
from holdfast.run.listener import Listener
from holdfast.run.notebook import Notebook
from holdfast.run.rotation import Rotation
from holdfast.run.slots import Slots
from holdfast.run.upkeep import Upkeep
from holdfast.store.protocol import Store

log = logging.getLogger("holdfast.run")

_FIRST_PAUSE_S: Final = 0.1
_LONGEST_PAUSE_S: Final = 5.0


class Plan(msgspec.Struct, frozen=True):
    """How large a pump is and how patient. `queues` None: all there are; how they share it, `rotation` tells."""

    threads: int = 4
    coroutines: int = 100
    queues: tuple[str, ...] | None = None
    weights: dict[str, int] = {}
    is_strict: bool = False
    lease_s: float = 10.0
    grace_s: float = 25.0


class Pump:
    """Runs the jobs of one store in this process. `start` and `stop` it, or call `tick` by hand."""

    def __init__(self, store: Store, bench: Bench, plan: Plan) -> None:
        self._store = store
        self._plan = plan
        self._stirred = threading.Event()
        self._notebook = Notebook(store, self._stirred.set)
        self._bench = msgspec.structs.replace(bench, report=self._notebook.put, now_us=store.now)
        self._slots = Slots(self._bench, plan.threads, plan.coroutines, self._stirred.set)
        self._rotation = Rotation(store, plan.queues, plan.weights, is_strict=plan.is_strict)
        self._listener = Listener(store, plan.queues, self._stirred.set)
        self._hooks = DrainHooks(store, bench.hooks)
        self._upkeep = Upkeep(store, plan.lease_s / 2, self._hooks)
        self._unsettled: list[Verdict] = []
        self._stopping = threading.Event()
        self._is_lease_lost = False
        self._is_dismissed = False
        self._pause_s = _FIRST_PAUSE_S
        self._worker = ""
        self._beater: Beater | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Enlist, and work in the background from now on. A store that cannot be reached raises here."""
        self.enlist()
        self._listener.start()
        self._thread = threading.Thread(target=self.run, name="holdfast-pump", daemon=True)
        self._thread.start()

    def stop(self, grace_s: float | None = None) -> bool:
        """Stop in order. Return whether everything that ran could finish."""
        deadline = time.monotonic() + (self._plan.grace_s if grace_s is None else grace_s)
        self._stopping.set()
        self._stirred.set()
        if self._thread is not None:
            self._thread.join(max(0.0, deadline - time.monotonic()) + self._plan.lease_s)
        self._finish(deadline)
        left = self._hand_back()
        self._listener.stop()
        self._leave()
        self._slots.stop()
        return not left

    def run(self) -> None:
        """Work until told to stop."""
        while not self._stopping.is_set():
            self._safely(self._round, self._stopping.wait)

    def tick(self) -> bool:
        """Do one round: settle what ended, start what is ready. Return whether anything happened."""
        if self._is_lease_lost:
            self._enlist_anew()
        ended = self._collect()
        self._notebook.run_once(is_due=ended)  # before their runs are settled: afterwards they would be refused
        settled = {verdict.queue for verdict in self._unsettled}
        claims = self._trade()
        self._slots.start(claims)
        is_changed = self._look_for_drains(settled) | self._upkeep.run_once()
        self._pause_s = _FIRST_PAUSE_S
        return bool(claims) or ended or is_changed

    def enlist(self) -> None:
        """Begin a lease, under a new id, and keep it."""
        record = new_worker(self._bench.registry.names(), self._plan.queues, self._plan.lease_s)
        self._store.enlist(record)
        self._worker = record.id
        self._is_lease_lost = False
        self._beater = Beater(
            self._store,
            record.id,
            self._plan.lease_s,
            on_cancelled=self._slots.cancel,
            on_lost=self._lose_lease,
            on_dismissed=self._be_dismissed,
        )
        self._beater.start()

    # --- one round ----------------------------------------------------------------------------------------

    def _round(self) -> None:
        if not self.tick():
            if self._is_dismissed and not self._slots.running:
                self._stopping.set()  # nothing is left to do, and nothing more is wanted
                self._leave()
                return
            self._rest()

    def _collect(self) -> bool:
        """Take the verdicts of the runs that ended. Kept until they are settled, whatever happens in between."""
        verdicts = self._slots.finished()
        self._unsettled += verdicts
        return bool(verdicts)

    def _trade(self) -> list[Claim]:
        """Give verdicts, take claims: in one step if there are both."""
        is_over = self._stopping.is_set() or self._is_lease_lost or self._is_dismissed
        free = 0 if is_over else self._slots.free
        queues = self._rotation.turn() if free > 0 else []
        verdicts = self._unsettled
        if not verdicts and not queues:
            return []
        if not verdicts:
            claims = self._claim(queues, free)
        elif not queues:
            self._report(self._store.settle(verdicts))
            claims = []
        else:
            lost, claims = self._store.exchange(verdicts, self._worker, queues, free)
            self._report(lost)
        self._unsettled = []
        self._rotation.saw(claims, free)
        if claims:
            self._listener.worked()
        return claims

    def _claim(self, queues: Sequence[str], limit: int) -> list[Claim]:
        try:
            return self._store.claim(self._worker, queues, limit)
        except LeaseLost:
            self._lose_lease()
            raise  # into the pause that follows every failure: a store that refuses each new lease is no cause to spin

    def _look_for_drains(self, settled: set[str]) -> bool:
        """Look at once at queues with a hook of which nothing runs here any more. Return whether one has drained."""
        if not self._hooks or not settled:
            return False
        return bool(self._hooks.run_once(settled - {claim.queue for claim in self._slots.running}))

    def _report(self, lost: Sequence[Lost]) -> None:
        for one in lost:
            log.warning("the verdict on job %s was refused: %s. It runs, or ran, elsewhere.", one.id, one.why)

    def _rest(self) -> None:
        """Sleep until work arrives, a run ends, or housework is due."""
        if self._slots.free > 0 and not self._is_dismissed:
            self._listener.listen()
        dues = [self._upkeep.due_in(), self._notebook.due_in()]
        self._stirred.wait(min(due for due in dues if due is not None))
        self._stirred.clear()

    def _safely(self, act: Callable[[], object], pause: Callable[[float], object]) -> None:
        """Do it; if it fails, say so and pause, longer each time."""
        try:
            act()
        except StoreError as error:
            log.error("the store failed, trying again in %.1f s: %s", self._pause_s, error)
        except LeaseLost as error:
            log.error("a claim was refused, enlisting anew in %.1f s: %s", self._pause_s, error)
        except Exception:
            log.exception("the worker failed, trying again in %.1f s", self._pause_s)
        else:
            return
        pause_s, self._pause_s = self._pause_s, min(self._pause_s * 2, _LONGEST_PAUSE_S)
        pause(pause_s)

    # --- leases -------------------------------------------------------------------------------------------

    def _lose_lease(self) -> None:
        """Take note, from any thread. What runs no longer counts."""
        if not self._is_lease_lost:
            log.error("worker %s lost its lease: its jobs may be run by others now", self._worker)
        self._is_lease_lost = True
        self._slots.disown()
        self._stirred.set()

    def _be_dismissed(self) -> None:
        """Take note, from any thread, that someone has asked this worker to stop."""
        if not self._is_dismissed:
            log.info(
                "worker %s was asked to stop: it takes no more jobs, and leaves when what runs has ended", self._worker
            )
        self._is_dismissed = True
        self._stirred.set()

    def _enlist_anew(self) -> None:
        if self._beater is not None:
            self._beater.stop()
        self.enlist()

    def _leave(self) -> None:
        if self._beater is not None:
            self._beater.stop()
        try:
            self._store.leave(self._worker)
        except (StoreError, LeaseLost) as error:
            log.warning("worker %s could not leave in order; its lease ends by itself: %s", self._worker, error)

    # --- the end ------------------------------------------------------------------------------------------

    def _finish(self, deadline: float) -> None:
        """Wait for what runs, until the deadline; settle as it ends."""
        while self._slots.running or self._unsettled or self._slots.has_ended:
            if time.monotonic() >= deadline:
                return
            self._safely(self.tick, lambda pause_s: time.sleep(max(0.0, min(pause_s, deadline - time.monotonic()))))
            if self._slots.running and not self._slots.has_ended:
                self._stirred.wait(max(0.0, deadline - time.monotonic()))
                self._stirred.clear()

    def _hand_back(self) -> list[Claim]:
        """Hand back what has not finished. A verdict that comes later is refused by its token."""
        running = self._slots.running  # before the ends are collected: a run that ends now is in one of the two
        ended = [*self._unsettled, *self._slots.finished()]
        self._slots.give_up()
        tokens = {verdict.token for verdict in ended}
        left = [claim for claim in running if claim.token not in tokens]
        verdicts = [*ended, *(self._slots.hand_back(claim) for claim in left)]
        for claim in left:
            log.warning("job %s (%s) did not finish within the grace and was handed back", claim.id, claim.task)
        try:
            self._report(self._store.settle(verdicts) if verdicts else [])
        except StoreError as error:
            log.warning("%d verdicts could not be written; the lease brings these jobs back: %s", len(verdicts), error)
        return left
