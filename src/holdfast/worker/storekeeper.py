"""The store thread: the only one that claims and settles. Relays what tasks enqueue, and looks after the house.

One round (`tick`) is: take what the children have said, settle it and claim into the free slots in one transaction, send
the claims out. Between rounds it sleeps in `store.wait`, which a push, a due time, a cancellation or a child's word ends.

The lease is renewed by a thread of its own (`Beater`), so that a round which has to wait for the store's lock does not let
it run out. If the store cannot be reached, the round's inbox is put back and the round tried again with growing pauses:
nothing said by a child is dropped. If the lease has ended, or is about to, the main thread stops what runs; here the
worker settles what it still may, leaves, and enlists under a new id, as soon as the store lets it.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

from holdfast.errors import HoldfastError, LeaseLost, StoreError
from holdfast.model.claim import Claim
from holdfast.model.verdict import Verdict
from holdfast.model.worker import Rescued
from holdfast.run.beater import Beater
from holdfast.run.hooks import enqueue
from holdfast.run.identity import new_worker
from holdfast.run.rotation import Rotation
from holdfast.store.protocol import Store
from holdfast.worker.crew import Crew, Inbox, Room
from holdfast.worker.hand import Hand
from holdfast.worker.messages import Answer, Ask
from holdfast.worker.plan import Plan
from holdfast.worker.tally import Tally
from holdfast.worker.vitals import Vitals

log = logging.getLogger("holdfast.worker")

RESCUE_S: Final = 1.0
TIDY_S: Final = 5.0
_PAUSES_S: Final = (0.1, 0.3, 1.0, 3.0)


class Storekeeper(threading.Thread):
    """Owns the store on behalf of the crew."""

    def __init__(
        self,
        store: Store,
        crew: Crew,
        plan: Plan,
        *,
        tasks: Sequence[str],
        hooked: Sequence[str],
        on_renewed: Callable[[float], None],
        on_news: Callable[[], None],
        vitals: Vitals,
        tally: Tally | None,
    ) -> None:
        super().__init__(name="holdfast-store", daemon=True)
        self._store = store
        self._crew = crew
        self._tasks = tuple(tasks)
        self._hooked = frozenset(hooked)
        """The queues that have a hook, which children write down."""
        self._may_have_drained = set(hooked)
        self._queues = plan.queues
        self._lease_s = plan.lease_s
        self._on_renewed = on_renewed
        self._on_news = on_news
        self._vitals = vitals
        self._tally = tally
        self._is_burst = plan.is_burst
        self._rotation = Rotation(store, self._queues or None, plan.weights, is_strict=plan.is_strict)
        self._is_claiming = True
        self._needs_lease = False
        self._is_stopping = threading.Event()
        self._failures = 0
        self._failure: Exception | None = None
        self._rescue_at = self._tidy_at = 0.0
        self._has_found_nothing = False
        self.found_nothing = False
        """Whether the last round's claim found nothing although there was room, and nothing has come back since."""
        self.is_told_to_leave = False
        """Whether someone has asked this worker to stop, through the store."""
        self._record = new_worker(self._tasks, self._queues, self._lease_s)

    @property
    def worker(self) -> str:
        """The id under which this worker is, or is about to be, enlisted."""
        return self._record.id

    # --- called by the main thread ------------------------------------------------------------------------

    def start(self) -> None:
        """Begin the lease, then the work."""
        self._enlist()
        super().start()

    def stop_claiming(self) -> None:
        self._is_claiming = False
        self._store.wake()

    def order_new_lease(self) -> None:
        """Give the lease up, and enlist anew. The children have been stopped."""
        self._needs_lease = True
        self._store.wake()

    def finish(self) -> None:
        """Settle what is left, end the lease, and stop. Raises what the thread has failed with."""
        self._is_stopping.set()
        self._store.wake()
        self.join()
        self.check()

    def check(self) -> None:
        """Raise what the thread has failed with, if it has: a worker without it is none."""
        if self._failure is not None:
            raise self._failure

    # --- the thread ---------------------------------------------------------------------------------------

    def run(self) -> None:
        try:
            self._work()
        except Exception as error:  # noqa: BLE001  # the top of a thread: without it nothing is settled any more
            self._failure = error
            self._on_news()

    def _work(self) -> None:
        while not self._is_stopping.is_set():
            try:
                if not self.tick():
                    self._rest()
                self._failures = 0
            except StoreError as error:
                self._endure(error)
        self._close()

    def tick(self) -> bool:
        """Do one round. Return whether anything happened."""
        self._vitals.keeper_turned = time.monotonic()
        self.found_nothing = False  # before the inbox is emptied: who sees it empty must not see an old answer
        self._has_found_nothing = False
        inbox = self._crew.take()
        try:
            if self._needs_lease:
                self._begin_again(inbox)
            claims = self._exchange(inbox)
        except BaseException:
            self._crew.put_back(inbox)
            raise
        self._rotation.take_back(self._crew.give(claims))
        has_rescued = self._keep_house()
        # Last: a burst ends by it, and must not while what was taken back from the dead has yet to be claimed.
        self.found_nothing = self._has_found_nothing and not has_rescued
        return bool(inbox or claims)

    def _exchange(self, inbox: Inbox) -> list[Claim]:
        while inbox.asks:
            self._relay(*inbox.asks[0])
            del inbox.asks[0]
        while inbox.written:
            written = inbox.written[0]
            if written.job is not None:
                enqueue(self._store, written.drained, written.job)
            del inbox.written[0]
        if inbox.notes:
            self._store.note(inbox.notes)
            inbox.notes = []
        room = self._crew.room() if self._is_claiming else Room(0, 0)
        if not inbox.verdicts and not any(room):
            return []
        queues = self._crew.not_resting(self._rotation.turn()) if any(room) else []
        lost, claims = self._store.exchange(inbox.verdicts, self.worker, queues, room.now, ahead=room.ahead)
        self._vitals.reach()
        if self._tally is not None:
            self._tally.settle(inbox.verdicts, lost)
            self._tally.take(claims)
        for refused in lost:
            log.warning("a verdict on job %s came too late and changed nothing: %s", refused.id, refused.why)
        self._rotation.saw(claims, room.now)
        if self._hooked:
            settled = self._crew.not_held({verdict.queue for verdict in inbox.verdicts} & self._hooked)
            self._may_have_drained |= settled - {claim.queue for claim in claims}
        # What has drained may have more to run: a burst must not end before that was seen.
        self._has_found_nothing = room.now > 0 and not claims and not self._may_have_drained
        return claims

    def _relay(self, hand: Hand, ask: Ask) -> None:
        try:
            answer = Answer(ask.number, self._store.push(ask.jobs))
        except HoldfastError as error:
            answer = Answer(ask.number, error=f"{type(error).__name__}: {error}")
        self._crew.answer(hand, answer)

    def _look_for_drains(self) -> None:
        """Look at the queues with a hook of which something has ended, and, with every round of upkeep, at all of them."""
        if self._may_have_drained:
            for drained in self._store.queues.find_drained(self._may_have_drained):
                self._crew.ask_for_hook(drained)
            self._may_have_drained = set()

    def _keep_house(self) -> bool:
        """Look after the house, when it is time. Return whether jobs were taken back from workers that have died."""
        now = time.monotonic()
        rescues: list[Rescued] = []
        if now >= self._rescue_at:
            self._may_have_drained |= self._hooked
            self._rescue_at = now + RESCUE_S
            rescues = self._store.rescue()
            self._vitals.reach()
            for rescued in rescues:
                log.warning("worker %s fell silent; %d jobs taken back", rescued.worker, len(rescued.jobs))
        if now >= self._tidy_at:
            self._tidy_at = now if self._store.tidy().is_more else now + TIDY_S
        self._look_for_drains()  # last: what was rescued or has expired may have been the rest of a queue
        return any(rescued.jobs for rescued in rescues)

    def _rest(self) -> None:
        if self._rotation.has_news():
            return
        if self.found_nothing and self._is_burst:
            self._on_news()
        due = min(self._rescue_at, self._tidy_at)
        # With no idle slot a queue with limits gives nothing, however much is ready there: waiting for it would be spinning.
        # What was to be claimed ahead is claimed with the next verdict.
        wants_more = self._is_claiming and self._crew.room().now > 0
        self._store.wait(self._awaited() if wants_more else (), max(0.0, due - time.monotonic()))
        self._beater.hurry()  # what woke us may be a cancellation, and only a beat tells

    def _awaited(self) -> Sequence[str] | None:
        """Give the queues to wait for: all that are served, but those that rest, full of work as they may be."""
        served = self._rotation.names
        awake = self._crew.not_resting(served)
        return (self._queues or None) if len(awake) == len(served) else awake

    def _endure(self, error: StoreError) -> None:
        self._vitals.fail()
        self._vitals.is_store_failing = True
        pause_s = _PAUSES_S[min(self._failures, len(_PAUSES_S) - 1)]
        if self._failures == 0:
            log.error("the store cannot be used; trying again until it can: %s", error)
        self._failures += 1
        self._is_stopping.wait(pause_s)

    def _close(self) -> None:
        self._beater.stop()
        try:
            inbox = self._crew.take()
            self._settle(inbox.verdicts)
            self._store.leave(self.worker)
        except (StoreError, LeaseLost) as error:
            log.error("could not end the lease in order; it will run out by itself: %s", error)

    def _settle(self, verdicts: Sequence[Verdict]) -> None:
        """Settle without claiming."""
        if verdicts:
            lost = self._store.settle(verdicts)
            if self._tally is not None:
                self._tally.settle(verdicts, lost)

    # --- the lease ----------------------------------------------------------------------------------------

    def _enlist(self) -> None:
        """Begin a lease, and keep it."""
        self._store.enlist(self._record)
        self._needs_lease = False
        self._vitals.worker = self.worker
        self._vitals.reach()
        self._beater = Beater(
            self._store,
            self.worker,
            self._lease_s,
            on_cancelled=self._crew.cancel,
            on_lost=self._lose_lease,
            on_renewed=self._renew,
            on_dismissed=self._be_dismissed,
            on_failed=self._vitals.fail_to_renew,
            report=self._crew.report,
        )
        self._beater.run_once()
        self._beater.start()

    def _renew(self, seconds: float) -> None:
        self._vitals.renew(seconds)
        self._on_renewed(seconds)

    def _be_dismissed(self) -> None:
        if not self.is_told_to_leave:
            log.info("worker %s was asked to stop", self.worker)
            self.is_told_to_leave = True
            self._on_news()

    def _lose_lease(self) -> None:
        log.error("worker %s has lost its lease: what runs is stopped, and it enlists anew", self.worker)
        self._vitals.lease_until = 0.0
        self._on_renewed(0.0)  # the main thread stops the children, then asks for a new lease
        self._on_news()

    def _begin_again(self, inbox: Inbox) -> None:
        """Settle under the old lease what it still covers, leave it for good, and enlist."""
        self._beater.stop()
        self._settle(inbox.verdicts)
        inbox.verdicts = []
        self._store.leave(self.worker)
        if self._tally is not None:
            self._tally.forget()
        self._record = new_worker(self._tasks, self._queues, self._lease_s)  # an ended lease is dead for ever
        self._enlist()
        log.warning("enlisted anew as %s", self.worker)
