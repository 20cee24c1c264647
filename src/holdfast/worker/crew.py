"""All children of one supervisor, behind one lock, and the inbox of what they have said.

Two threads meet here. The main thread watches the children and puts what they say into the inbox; the store thread takes
it out, settles it, and gives the children new claims. Neither waits for the other while holding the lock.
"""

import threading
from collections.abc import Callable, Sequence

import msgspec

from holdfast.model.claim import Claim, Progress
from holdfast.model.verdict import Verdict, released
from holdfast.worker.hand import Hand
from holdfast.worker.messages import Answer, Ask


class Inbox(msgspec.Struct):
    """What the children have said since it was last taken."""

    verdicts: list[Verdict] = msgspec.field(default_factory=list)
    notes: list[Progress] = msgspec.field(default_factory=list)
    asks: list[tuple[Hand, Ask]] = msgspec.field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.verdicts or self.notes or self.asks)


class Crew:
    """The children, and what they have said."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self.lock = threading.Lock()
        self.hands: list[Hand] = []
        self._inbox = Inbox()
        self._wake = wake

    def room(self) -> int:
        with self.lock:
            return sum(hand.room() for hand in self.hands)

    def give(self, claims: Sequence[Claim]) -> None:
        """Share claims out, the emptiest child first. With no child ready, they go back to the store."""
        left = list(claims)
        with self.lock:
            ready = sorted((hand for hand in self.hands if hand.is_ready), key=lambda hand: len(hand.held))
            for hand in ready:
                room = hand.room()
                hand.give(left[:room])
                left = left[room:]
            if ready and left:
                # A child's estimate has changed since the claim. It takes these all the same: should they have to wait
                # behind a long run, they are asked back.
                ready[0].give(left)
                left = []
        if left:
            self.post(verdicts=[released(claim) for claim in left])

    def held(self) -> int:
        with self.lock:
            return sum(len(hand.held) for hand in self.hands)

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

    def is_quiet(self) -> bool:
        with self.lock:
            return not self._inbox and not any(hand.held for hand in self.hands)

    def cancel(self, tokens: Sequence[str]) -> None:
        with self.lock:
            for hand in self.hands:
                hand.cancel(tokens)

    def answer(self, hand: Hand, answer: Answer) -> None:
        with self.lock:
            if hand in self.hands:
                hand.tell(answer)
