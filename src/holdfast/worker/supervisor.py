"""The main thread of a worker: signals, children, deadlines. It runs no user code and imports no user module.

    start    spawn the first child → its Hello names the store → open the store, enlist → spawn the rest
    run      sleep until a child speaks or dies, a signal comes, or a deadline passes
    stop     claim no more → wait for what runs, up to `grace` → kill what is left and hand it back → end the lease

**The lease.** The store thread renews it. Should it be about to end, because the store cannot be reached or the thread
hangs, this thread kills the children before it does (I12) and hands back what they ran; when the store is back, the store
thread enlists anew and work goes on. Should this process hang as a whole, the guard does the killing.

If this process is killed, its children die with it (see `child` and `guard`), and its lease file is free: the next worker
on this machine takes its jobs back within a second, and one elsewhere when the lease has run out.
"""

import contextlib
import ctypes
import faulthandler
import logging
import os
import selectors
import time
from collections.abc import Callable
from typing import Final

from holdfast.store.connect import connect
from holdfast.store.protocol import Store
from holdfast.worker.checkup import Checkup
from holdfast.worker.crew import Crew
from holdfast.worker.depths import Depths
from holdfast.worker.door import Door
from holdfast.worker.hand import Hand
from holdfast.worker.messages import Hello
from holdfast.worker.nursery import Nursery
from holdfast.worker.plan import Plan
from holdfast.worker.pulse import Pulse
from holdfast.worker.reloading import SourceWatch
from holdfast.worker.sdnotify import Herald
from holdfast.worker.signals import Signals
from holdfast.worker.storekeeper import Storekeeper
from holdfast.worker.tally import Tally
from holdfast.worker.vitals import Vitals

log = logging.getLogger("holdfast.worker")

_TICK_S: Final = 0.05
"""How often to look at runs that others wait behind."""
_IDLE_TICK_S: Final = 1.0
_GUARD_SHARE: Final = 0.1
"""How much of the lease the guard leaves the supervisor to act in."""
_PR_SET_CHILD_SUBREAPER: Final = 36

STOPPED, HANDED_BACK = 0, 3


class Supervisor:
    """One worker: a supervisor's main thread and all it owns."""

    def __init__(self, plan: Plan, announce: Callable[[Hello, Store, str], None], door: Door | None = None) -> None:
        self._plan = plan
        self._announce = announce
        self._selector = selectors.DefaultSelector()
        self._signals = Signals()
        self._pulse = Pulse(plan.lease_s * _GUARD_SHARE)
        self._store: Store | None = None
        self._keeper: Storekeeper | None = None
        self._crew = Crew(self._wake_keeper)
        self._nursery = Nursery(plan, self._crew, self._selector, self._pulse)
        self._sources = SourceWatch() if plan.reloads else None
        if plan.reloads:
            # Compiled files are told from stale ones by seconds and size: a quick change would go unseen by a new child.
            os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        self._vitals = Vitals(plan.lease_s)
        self._door = door
        self._tally = None if door is None else Tally()
        self._checkup = Checkup(self._vitals, self._crew, self._nursery, self._tally)
        self._herald = Herald(os.environ)
        self._dumped = 0

    def run(self) -> int:
        """Work until told to stop. Return the exit code: 0 in order, 3 if jobs had to be handed back."""
        _adopt_orphans()
        self._selector.register(self._signals.reader, selectors.EVENT_READ, None)
        with self._signals.heeded():
            try:
                self._start()
                while not self._is_over():
                    self.tick()
                return self._stop()
            finally:
                if self._checkup.depths is not None:
                    self._checkup.depths.close()
                self._nursery.close(spare="the worker ended")
                self._pulse.close()
                self._selector.close()

    def tick(self) -> None:
        """Do one round: hear the children, obey signals, look at deadlines, replace the dead."""
        ready = self._selector.select(self._pause_s())
        self._vitals.main_turned = time.monotonic()
        if self._pulse.left_s() <= 0:  # before anyone is buried: who was killed for this is not charged
            self._fence()
        for key, _ in ready:
            if isinstance(key.data, Hand):
                self._nursery.hear(key.data)
            else:
                self._signals.heard()
                self._obey()
        if self._sources is not None and self._sources.has_changed():
            log.info("source files have changed; the children are replaced")
            self._nursery.renew()
        self._nursery.look_after()
        if self._herald.left_s() <= 0:
            self._tell_systemd()

    def _pause_s(self) -> float:
        with self._crew.lock:
            is_waited_for = any(len(hand) > 1 or hand.is_retiring for hand in self._crew.hands)
        longest = _TICK_S if is_waited_for else _IDLE_TICK_S
        return min(longest, max(0.0, min(self._pulse.left_s(), self._herald.left_s())))

    def _tell_systemd(self) -> None:
        checkup = self._checkup
        self._herald.tell(
            checkup.status(), is_live=checkup.why_not_live() is None, is_ready=checkup.why_not_ready() is None
        )

    # --- start --------------------------------------------------------------------------------------------

    def _start(self) -> None:
        if self._sources is not None:
            self._nursery.on_files = self._sources.watch
        if self._door is not None:
            self._door.start(self._checkup.answer)
        hello = self._nursery.first(self.tick)
        self._store = connect(hello.url, tier=hello.tier, namespace=hello.namespace)
        for name, policy in hello.queues.items():
            self._store.queues.set_policy(name, policy)
        self._keeper = Storekeeper(
            self._store,
            self._crew,
            self._plan,
            tasks=hello.names,
            hooked=[name for name, policy in hello.queues.items() if policy.tells_drained],
            on_renewed=self._pulse.renew,
            on_news=self._signals.ring,
            vitals=self._vitals,
            tally=self._tally,
        )
        self._checkup.depths = Depths(lambda: connect(hello.url, tier=hello.tier, namespace=hello.namespace))
        self._signals.must_die = False
        self._announce(hello, self._store, self._keeper.worker)
        self._keeper.start()
        self._tell_systemd()

    # --- stop ---------------------------------------------------------------------------------------------

    def _is_over(self) -> bool:
        keeper = self._keeper
        assert keeper is not None
        keeper.check()
        if self._signals.stops or keeper.is_told_to_leave:
            return True
        # In this order: what left the inbox is being settled until the store thread has looked for work again.
        # Once more, for what that look may have brought about.
        return self._plan.is_burst and self._crew.is_quiet() and keeper.found_nothing and self._crew.is_quiet()

    def _stop(self) -> int:
        """Stop in order: no new claims, then what runs, then the children, then the lease."""
        assert self._keeper is not None
        assert self._store is not None
        self._vitals.is_stopping = True
        self._herald.stopping()
        self._keeper.stop_claiming()
        self._nursery.retire_all()
        if running := self._crew.held():
            log.info("stopping: %d running jobs have up to %g s to end", running, self._plan.grace_s)
        deadline = time.monotonic() + self._plan.grace_s
        before = self._signals.stops
        while self._crew.hands and time.monotonic() < deadline and self._signals.stops <= max(before, 1):
            self.tick()
        unfinished = self._crew.held()
        self._nursery.close(spare="the worker was stopped")
        self._keeper.finish()
        self._store.close()
        if unfinished:
            log.warning("handed back %d jobs that were still running", unfinished)
        return HANDED_BACK if unfinished else STOPPED

    # --- the lease ----------------------------------------------------------------------------------------

    def _fence(self) -> None:
        """Kill every child that may still run a job of a lease that ends. The store thread enlists anew when it can."""
        assert self._keeper is not None
        if any(len(hand) for hand in self._crew.hands):
            log.error("the lease could not be renewed in time: what runs here is stopped before others take it up")
        for hand in list(self._crew.hands):
            if len(hand):
                self._nursery.bury(hand, spare="the worker could not renew its lease")
        self._pulse.renew(self._plan.lease_s)  # there is nothing left to fence
        self._keeper.order_new_lease()

    # --- orders -------------------------------------------------------------------------------------------

    def _obey(self) -> None:
        signals = self._signals
        if signals.dumps > self._dumped:
            self._dumped = signals.dumps
            faulthandler.dump_traceback(all_threads=True)
            self._nursery.dump()
        if signals.extra:
            extra, signals.extra = signals.extra, 0
            self._nursery.change(extra)
        self._nursery.reap_strangers()

    def _wake_keeper(self) -> None:
        if self._store is not None:
            self._store.wake()


def _adopt_orphans() -> None:
    """Become the parent of what tasks leave behind, so that it is reaped. In a container this process may be the first."""
    with contextlib.suppress(OSError, AttributeError):  # not on Linux: someone else's zombies
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
