"""All children of one supervisor, behind one lock, and the inbox of what they have said.

Two threads meet here. The main thread watches the children and puts what they say into the inbox; the store thread takes
it out, settles it, and gives the children new claims. Neither waits for the other while holding the lock.

**How much to claim.** If all tasks run in one kind of slot, as many as there is room for. If there are several kinds, a
claim's kind is known only when it is here. So the reach starts at one and grows by a tenth of what has found a slot; a
claim that finds none is handed back at once, and its queue rests here until such a slot is free. So a long sync task does
not hold up a queue of async ones, nothing is hoarded that another worker could run, and little is claimed in vain.

**Ahead.** Of that, only as many as there are idle slots are taken from queues with limits: there a claim is a start, and one
that waited in a child would be counted as running while it is not. The rest is claimed ahead, from queues without limits.
With several kinds of slot the fewest idle ones count; and a limited queue whose job has taken the last idle slot of its kind
rests, so that no start is charged for a claim that has to be handed back.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from holdfast.model.claim import Claim, Progress
from holdfast.model.queue import Drained
from holdfast.model.verdict import Verdict, released
from holdfast.model.worker import ChildReport, WorkerReport
from holdfast.worker.hand import Hand
from holdfast.worker.messages import Answer, Ask, Hook, Slot, Written

_SHOWN: Final = 100
"""How many running jobs of one child a report names."""


class Room(NamedTuple):
    """How many claims to take: so many to start at once, and so many more to have at hand."""

    now: int
    ahead: int


class Inbox(msgspec.Struct):
    """What the children have said since it was last taken."""

    verdicts: list[Verdict] = msgspec.field(default_factory=list)
    notes: list[Progress] = msgspec.field(default_factory=list)
    asks: list[tuple[Hand, Ask]] = msgspec.field(default_factory=list)
    written: list[Written] = msgspec.field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.verdicts or self.notes or self.asks or self.written)


class Crew:
    """The children, and what they have said. `wake` wakes the store thread."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self.lock = threading.Lock()
        self.hands: list[Hand] = []
        self._inbox = Inbox()
        self._wake = wake
        self._fitted = 0
        self._resting: dict[str, tuple[Slot, bool]] = {}
        """By queue: the slot that it waits for, and whether an idle one."""

    # --- claims -------------------------------------------------------------------------------------------

    def room(self) -> Room:
        """Tell how many claims to take."""
        with self.lock:
            ready = [hand for hand in self.hands if hand.is_ready]
            kinds: set[Slot] = set().union(*(hand.slots() for hand in ready))
            room = sum(min(sum(hand.room(kind) for kind in kinds), hand.left()) for hand in ready)
            idle = [sum(min(hand.idle(kind), hand.left()) for hand in ready) for kind in kinds]
            reach = room if len(kinds) == 1 else min(room, 1 + self._fitted // 10)
            now = min(min(filter(None, idle), default=0), reach)
            return Room(now, reach - now)

    def not_resting(self, queues: Iterable[str]) -> list[str]:
        """Leave out the queues whose next job needs a slot that is not free."""
        if not self._resting:
            return list(queues)
        with self.lock:
            rested = [queue for queue, wanted in self._resting.items() if self._has_slot(*wanted)]
            for queue in rested:
                del self._resting[queue]
            return [queue for queue in queues if queue not in self._resting]

    def give(self, claims: Sequence[Claim]) -> list[Claim]:
        """Share claims out, each to the child with the most room for it. Give those that found no slot: they go back."""
        back: list[Claim] = []
        with self.lock:
            ready = [hand for hand in self.hands if hand.is_ready]
            if len(ready) == 1 and len(ready[0].slots()) == 1:
                ready[0].give(claims)
                return back
            shares: dict[Hand, list[Claim]] = {hand: [] for hand in ready}
            taken: Counter[tuple[Hand, Slot]] = Counter()
            for claim in claims:
                chosen = _choose(claim, shares, taken)
                (back if chosen is None else shares[chosen]).append(claim)
            for hand, share in shares.items():
                hand.give(share)
            self._learn(claims, back, ready)
        if back:
            self.post(verdicts=[released(claim) for claim in back])
        return back

    def _learn(self, claims: Sequence[Claim], back: list[Claim], ready: list[Hand]) -> None:
        self._fitted = min(self._fitted + len(claims) - len(back), 10_000)
        self._fitted //= 2 ** min(len(back), 20)
        if not ready:
            return
        suspects = {(claim.queue, ready[0].slot_of(claim), claim.is_limited) for claim in back}
        suspects |= {(claim.queue, ready[0].slot_of(claim), True) for claim in claims if claim.is_limited}
        for queue, slot, is_idle in suspects:
            if not self._has_slot(slot, is_idle):
                self._resting[queue] = (slot, is_idle)

    def _has_slot(self, slot: Slot, is_idle: bool) -> bool:
        return any(hand.idle(slot) if is_idle else hand.free(slot) for hand in self.hands)

    def held(self) -> int:
        with self.lock:
            return sum(len(hand) for hand in self.hands)

    def states(self) -> dict[str, int]:
        """Count the children that are starting, ready and retiring."""
        states = {"starting": 0, "ready": 0, "retiring": 0}
        with self.lock:
            for hand in self.hands:
                states["retiring" if hand.is_retiring else "ready" if hand.is_ready else "starting"] += 1
        return states

    def report(self) -> WorkerReport:
        """Sum up the children, for people."""
        with self.lock:
            running = [(hand, [claim.id for _, claim in hand.running()]) for hand in self.hands]
        return WorkerReport(
            tuple(ChildReport(hand.pid, hand.rss_bytes(), hand.runs, tuple(ids[:_SHOWN])) for hand, ids in running)
        )

    # --- words --------------------------------------------------------------------------------------------

    def post(
        self,
        verdicts: Sequence[Verdict] = (),
        notes: Sequence[Progress] = (),
        asks: Sequence[tuple[Hand, Ask]] = (),
    ) -> None:
        """Put something into the inbox, and wake the store thread."""
        with self.lock:
            self._inbox.verdicts.extend(verdicts)
            self._inbox.notes.extend(notes)
            self._inbox.asks.extend(asks)
        self._wake()

    def take(self) -> Inbox:
        with self.lock:
            inbox, self._inbox = self._inbox, Inbox()
            return inbox

    def put_back(self, inbox: Inbox) -> None:
        """Return an inbox that could not be dealt with, ahead of what has come since."""
        with self.lock:
            self._inbox.verdicts[:0] = inbox.verdicts
            self._inbox.notes[:0] = inbox.notes
            self._inbox.asks[:0] = inbox.asks
            self._inbox.written[:0] = inbox.written

    def is_quiet(self) -> bool:
        """Tell whether nothing is held, nothing is being written, and nothing was said that has yet to be dealt with."""
        with self.lock:
            return not self._inbox and not any(len(hand) or hand.writing for hand in self.hands)

    def cancel(self, tokens: Sequence[str]) -> None:
        with self.lock:
            for hand in self.hands:
                hand.cancel(tokens)

    # --- hooks --------------------------------------------------------------------------------------------

    def not_held(self, queues: Iterable[str]) -> set[str]:
        """Leave out the queues of which a child holds a claim."""
        with self.lock:
            return set(queues) - {claim.queue for hand in self.hands for claim in hand.held}

    def ask_for_hook(self, drained: Drained) -> None:
        """Have a child write down the job of a queue's hook. If none is ready, or one is at it, nothing happens."""
        with self.lock:
            ready = [hand for hand in self.hands if hand.is_ready]
            if ready and not any(drained.queue in hand.writing for hand in self.hands):
                chosen = min(ready, key=len)
                chosen.writing.add(drained.queue)
                chosen.tell(Hook(drained))

    def take_written(self, hand: Hand, written: Written) -> None:
        """Put into the inbox what a child has written down. In one step: the crew is not quiet between."""
        with self.lock:
            hand.writing.discard(written.drained.queue)
            self._inbox.written.append(written)
        self._wake()

    def answer(self, hand: Hand, answer: Answer) -> None:
        with self.lock:
            if hand in self.hands:
                hand.tell(answer)


def _choose(claim: Claim, shares: Mapping[Hand, Sequence[Claim]], taken: Counter[tuple[Hand, Slot]]) -> Hand | None:
    """Choose the child with the most room for a claim, after what it has been given already; None if there is none."""
    best: Hand | None = None
    most = 0
    for hand, share in shares.items():
        slot = hand.slot_of(claim)
        slots = hand.idle(slot) if claim.is_limited else hand.free(slot)
        free = min(slots - taken[hand, slot], hand.left() - len(share))
        if free > most:
            best, most = hand, free
    if best is not None:
        taken[best, best.slot_of(claim)] += 1
    return best
