"""The main thread of a worker: signals, children, deadlines. It runs no user code and imports no user module.

    start    spawn the first child → its Hello names the store → open the store, enlist → spawn the rest
    run      sleep until a child speaks or dies, a signal comes, or a deadline passes
    stop     claim no more → wait for what runs, up to `grace` → kill what is left and hand it back → end the lease

A child that dies is buried at once: what it had started is charged with a crash, the rest goes back, and a new child takes
its place (after a pause that grows while children keep dying young). A job past its hard deadline has its child killed;
only that job is charged, as a failure by timeout.

If this process is killed, its children die with it (see `child`), and its lease file is free: the next worker on this
machine takes its jobs back within a second, and one elsewhere when the lease has run out.
"""

import contextlib
import logging
import os
import random
import selectors
import signal
import time
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from holdfast.errors import DecodingFailed, HoldfastError
from holdfast.model.claim import Claim
from holdfast.model.verdict import TIMED_OUT, Verdict
from holdfast.policy.retry import RetryPolicy, wait_us
from holdfast.store.connect import connect
from holdfast.store.protocol import Store
from holdfast.wire.envelope import open_envelope
from holdfast.worker.channel import ChannelClosed
from holdfast.worker.crew import Crew
from holdfast.worker.hand import Hand, describe_exit
from holdfast.worker.ledger import monotonic_us
from holdfast.worker.messages import Ask, Ended, Handed, Hello, Message, Sorry, Told
from holdfast.worker.storekeeper import Storekeeper

log = logging.getLogger("holdfast.worker")

HARD_AFTER_US: Final = 10_000_000
"""How long after its soft timeout a run is killed."""
READY_S: Final = 60.0
_TICK_S: Final = 0.05
_IDLE_TICK_S: Final = 1.0
_YOUNG_S: Final = 2.0


class Plan(msgspec.Struct, frozen=True):
    """What a worker was asked to do."""

    target: str
    processes: int = 1
    coroutines: int = 100
    queues: tuple[str, ...] = ()
    is_burst: bool = False
    lease_s: float = 10.0
    grace_s: float = 25.0
    log_level: str = "INFO"


class CannotStart(HoldfastError):
    """The app could not be imported, or the first child never got ready."""


class Supervisor:
    """One worker: a supervisor's main thread and all it owns."""

    def __init__(self, plan: Plan, announce: Callable[[Hello, Store, str], None]) -> None:
        self._plan = plan
        self._announce = announce
        self._selector = selectors.DefaultSelector()
        self._store: Store | None = None
        self._keeper: Storekeeper | None = None
        self._crew = Crew(self._wake_keeper)
        self._signals = 0
        self._deaths = 0
        self._spawn_at: list[float] = []
        self._born: dict[Hand, float] = {}
        self._guilty: dict[Hand, Claim] = {}
        self._must_kill_all = False
        self._is_stopping = False

    def run(self) -> int:
        """Work until told to stop. Return the exit code: 0 in order, 3 if jobs had to be handed back."""
        with self._heeding_signals():
            try:
                self._start()
                while not self._is_over():
                    self.tick()
                return self._stop()
            finally:
                self._kill_all()

    def tick(self) -> None:
        """Do one round: hear the children, look at deadlines, replace the dead."""
        is_busy = self._crew.held() > 0
        for key, _ in self._selector.select(_TICK_S if is_busy or self._plan.is_burst else _IDLE_TICK_S):
            if key.data is not None:
                self._hear(key.data)
        if self._must_kill_all:
            self._fence()
        self._look_after()
        self._respawn()

    # --- start --------------------------------------------------------------------------------------------

    def _start(self) -> None:
        first = self._spawn()
        deadline = time.monotonic() + READY_S
        while first.hello is None:
            if first not in self._crew.hands:
                raise CannotStart(f"the first child of {self._plan.target} ended before it was ready")
            if time.monotonic() > deadline:
                raise CannotStart(
                    f"{self._plan.target} was not ready after {READY_S:.0f} s; what does it do on import?"
                )
            self.tick()
        self._open(first.hello)
        self._spawn_at = [0.0] * (self._plan.processes - 1)

    def _open(self, hello: Hello) -> None:
        self._store = connect(hello.url, tier=hello.tier, namespace=hello.namespace)
        for name, policy in hello.queues.items():
            self._store.queues.set_policy(name, policy)
        self._keeper = Storekeeper(
            self._store,
            self._crew,
            tasks=hello.names,
            queues=self._plan.queues,
            lease_s=self._plan.lease_s,
            on_lease_lost=self._order_fence,
        )
        self._announce(hello, self._store, self._keeper.worker)
        self._keeper.start()

    def _spawn(self) -> Hand:
        hand = Hand(self._plan.target, self._plan.coroutines, self._plan.log_level)
        with self._crew.lock:
            self._crew.hands.append(hand)
        self._born[hand] = time.monotonic()
        self._selector.register(hand.talk, selectors.EVENT_READ, hand)
        if hand.pidfd is not None:
            self._selector.register(hand.pidfd, selectors.EVENT_READ, hand)
        return hand

    # --- children -----------------------------------------------------------------------------------------

    def _hear(self, hand: Hand) -> None:
        if hand not in self._born:
            return
        try:
            while (message := hand.talk.receive(is_blocking=False)) is not None:
                self._heed(hand, message)
        except ChannelClosed:
            self._bury(hand)
        else:
            if hand.process.poll() is not None:
                self._bury(hand)

    def _heed(self, hand: Hand, message: Message) -> None:
        match message:
            case Ended(verdicts):
                with self._crew.lock:
                    ended = hand.end(verdicts)
                self._crew.post(verdicts=ended)
            case Handed():
                with self._crew.lock:
                    back = hand.hand_back(message)
                self._crew.post(verdicts=back)
            case Told(notes):
                self._crew.post(notes=notes)
            case Ask():
                self._crew.post(asks=[(hand, message)])
            case Hello():
                with self._crew.lock:
                    hand.greet(message)
                self._wake_keeper()
            case Sorry(why, traceback):
                raise CannotStart(f"cannot import {self._plan.target}: {why}\n\n{traceback}".rstrip())
            case _:
                raise AssertionError(f"a child sent {message!r}")

    def _bury(self, hand: Hand) -> None:
        self._selector.unregister(hand.talk)
        if hand.pidfd is not None:
            self._selector.unregister(hand.pidfd)
        hand.kill()
        guilty = self._guilty.pop(hand, None)
        with self._crew.lock:
            self._crew.hands.remove(hand)
            timeout = None if guilty is None else self._timed_out(hand, guilty)
            verdicts = hand.bury(is_charged=guilty is None)
        if timeout is not None:
            verdicts = [verdict for verdict in verdicts if verdict.token != timeout.token] + [timeout]
        self._crew.post(verdicts=verdicts)
        self._mourn(hand)

    def _mourn(self, hand: Hand) -> None:
        """Plan the replacement of a dead child: at once, or later if children keep dying young."""
        is_young = time.monotonic() - self._born.pop(hand) < _YOUNG_S
        self._deaths = self._deaths + 1 if is_young else 0
        if not self._is_stopping and self._keeper is not None:
            log.warning("child %d %s; a new one takes its place", hand.pid, describe_exit(hand.process.returncode))
            pause_s = min(0.1 * 2**self._deaths, 30.0) if self._deaths > 1 else 0.0
            self._spawn_at.append(time.monotonic() + pause_s)

    def _respawn(self) -> None:
        due = [moment for moment in self._spawn_at if moment <= time.monotonic()]
        self._spawn_at = [moment for moment in self._spawn_at if moment not in due]
        for _ in due:
            self._spawn()

    def _look_after(self) -> None:
        for hand in list(self._crew.hands):
            if hand.hello is None:
                continue
            with self._crew.lock:
                if hand.has_overstayed():
                    hand.slow_down()
                    hand.ask_back()
                late = next((claim for since, claim in hand.running() if self._is_late(hand, since, claim)), None)
            if late is not None and hand not in self._guilty:
                self._guilty[hand] = late
                hand.kill()

    def _is_late(self, hand: Hand, since_us: int, claim: Claim) -> bool:
        timeout_us = self._timeout_us(hand, claim)
        return timeout_us is not None and monotonic_us() > since_us + timeout_us + HARD_AFTER_US

    def _timeout_us(self, hand: Hand, claim: Claim) -> int | None:
        if monotonic_us() - self._started_before(hand) < HARD_AFTER_US:
            return None
        try:
            own = open_envelope(claim.envelope).timeout_us
        except DecodingFailed:
            own = None
        task = hand.task(claim)
        return own if own is not None or task is None else task.timeout_us

    def _started_before(self, hand: Hand) -> int:
        return min((since for since, _ in hand.running()), default=monotonic_us())

    def _timed_out(self, hand: Hand, claim: Claim) -> Verdict:
        """Judge a run that had to be killed: a failure, tried again if the task has retries left."""
        task = hand.task(claim)
        error = "TaskTimeout: the run ignored its timeout and its process was killed"
        if task is not None and claim.failures < self._retries(claim, task.retries):
            policy = RetryPolicy(task.retries, task.first_us, task.cap_us, task.factor, task.jitter, task.table_us)
            delay_us = wait_us(policy, claim.failures, random.random())  # noqa: S311  jitter needs no secrecy
            return Verdict(claim.id, claim.token, claim.queue, "retry", delay_us, reason=TIMED_OUT, error=error)
        return Verdict(claim.id, claim.token, claim.queue, "failed", reason=TIMED_OUT, error=error)

    def _retries(self, claim: Claim, default: int) -> int:
        with contextlib.suppress(DecodingFailed):
            own = open_envelope(claim.envelope).retries
            return default if own is None else own
        return default

    # --- stop ---------------------------------------------------------------------------------------------

    def _is_over(self) -> bool:
        if self._signals:
            return True
        keeper = self._keeper
        if not self._plan.is_burst or keeper is None:
            return False
        # In this order: what left the inbox is being settled until the store thread has looked for work again.
        return self._crew.is_quiet() and keeper.found_nothing

    def _stop(self) -> int:
        """Stop in order: no new claims, then what runs, then the children, then the lease."""
        assert self._keeper is not None
        self._is_stopping = True
        self._keeper.stop_claiming()
        with self._crew.lock:
            for hand in self._crew.hands:
                hand.ask_back()
        deadline = time.monotonic() + self._plan.grace_s
        before = self._signals
        while self._crew.held() and time.monotonic() < deadline and self._signals <= max(before, 1):
            self.tick()
        unfinished = self._crew.held()
        self._dismiss(is_in_order=not unfinished)
        self._keeper.finish()
        if self._store is not None:
            self._store.close()
        if unfinished:
            log.warning("handed back %d jobs that were still running", unfinished)
        return 3 if unfinished else 0

    def _dismiss(self, *, is_in_order: bool) -> None:
        if is_in_order:
            with self._crew.lock:
                for hand in self._crew.hands:
                    hand.stop()
            deadline = time.monotonic() + 2.0
            while any(hand.process.poll() is None for hand in self._crew.hands) and time.monotonic() < deadline:
                self._selector.select(_TICK_S)
                for hand in list(self._crew.hands):
                    self._hear(hand)
        for hand in list(self._crew.hands):
            self._kill_uncharged(hand)

    def _kill_uncharged(self, hand: Hand) -> None:
        hand.kill()
        with self._crew.lock:
            self._crew.hands.remove(hand)
            verdicts = hand.bury(is_charged=False)
        self._crew.post(verdicts=verdicts)

    def _kill_all(self) -> None:
        for hand in list(self._crew.hands):
            hand.kill()
            hand.process.wait()

    # --- the lease is lost --------------------------------------------------------------------------------

    def _order_fence(self) -> None:
        self._must_kill_all = True

    def _fence(self) -> None:
        """Kill every child that may still run a job of the lost lease. Their verdicts would be refused anyway."""
        self._must_kill_all = False
        for hand in list(self._crew.hands):
            self._bury(hand)

    # --- signals ------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _heeding_signals(self) -> Iterator[None]:
        reader, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._selector.register(reader, selectors.EVENT_READ, None)
        old_fd = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        old = {number: signal.signal(number, self._count) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in old.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(old_fd)
            self._selector.close()
            os.close(reader)
            os.close(writer)

    def _count(self, number: int, _frame: object) -> None:
        self._signals += 1
        if self._keeper is None:
            raise KeyboardInterrupt

    def _wake_keeper(self) -> None:
        if self._store is not None:
            self._store.wake()
