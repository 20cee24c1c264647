"""Claims: which queues to ask, with which lease, and what to do when an answer is lost.

A queue knows the leases of workers that have claimed from it. One that does not know the worker (or knows only an
old end of its lease) says so; then the house is asked, and its answer sent along: how long the lease lives yet, which the
queue's node counts by its own clock (see `remainder`). So a claim is one step in the common case, and in every case the step
that hands out the job is the one that has seen a live lease.

A queue whose node is down is passed over as long as another can be asked.

**If the answer is lost.** The jobs are in the worker's hands, and the worker does not know it. Each claim has a nonce,
which is in the tokens it makes. The worker's next claims from that queue name the nonces that were not answered; the
script gives what they had handed out, under new tokens, until nothing of it is left.
"""

import secrets
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from holdfast.errors import LeaseLost, StoreError, StoreUnavailable
from holdfast.model.claim import Claim
from holdfast.model.worker import WorkerRecord
from holdfast.store.redis import rows
from holdfast.store.redis.link import Call, Link
from holdfast.store.redis.remainder import Remainder

_record = msgspec.msgpack.Decoder(WorkerRecord).decode


class Wish(NamedTuple):
    """How many jobs are wanted, and how many more from queues without limits. Only the queue knows whether it has any."""

    limit: int
    ahead: int

    def is_any(self, *, of_limited: bool = False) -> bool:
        return self.limit + (0 if of_limited else self.ahead) > 0

    def without(self, number: int) -> "Wish":
        return Wish(self.limit - number, self.ahead)


class Claims:
    """The claims of this process."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._unanswered: dict[tuple[str, str], str] = {}
        """By worker and queue the nonces of claims whose answers were lost, with a space before each."""

    def claim(self, worker: str, queues: Sequence[str], wish: Wish, now_us: int | None) -> list[Claim]:
        """Hand out jobs, serving the queues in the order given."""
        queues = list(dict.fromkeys(queues))
        if not (queues and wish.is_any()):
            self._ask_house(worker, now_us)
            return []
        promising = self._promising(worker, queues, now_us) if len(queues) > 1 else [(queues[0], False)]
        claims: list[Claim] = []
        for queue, is_limited in promising:
            left = wish.without(len(claims))
            if left.is_any(of_limited=is_limited):
                try:
                    claims += self._claim_from(queue, worker, left, now_us)
                except StoreError:
                    if claims:
                        return claims  # what the worker holds it must know of; the next claim tells what is wrong
                    raise
        return claims

    def after(
        self, calls: list[Call], worker: str, queue: str, wish: Wish, now_us: int | None
    ) -> tuple[list[object], list[Claim]]:
        """Make other calls, and claim from one queue in the same round trip. Give their answers and the claims."""
        nonce, lost = secrets.token_hex(8), self._unanswered.get((worker, queue), "")
        call = Call("claim", queue, (worker, *wish, nonce, "", "", lost))
        *answers, answer = self._sent([*calls, call], worker, queue, nonce, now_us)
        if isinstance(answer, bytes):
            try:
                return answers, self._claim_from(queue, worker, wish, now_us)
            except LeaseLost:
                return answers, []  # nothing was claimed; the worker's next beat or claim tells it why
        self._note_answer(worker, queue, len(answer) // 2 < wish.limit)
        return answers, _claims(queue, answer)

    def _claim_from(self, queue: str, worker: str, wish: Wish, now_us: int | None) -> list[Claim]:
        nonce, lost = secrets.token_hex(8), self._unanswered.get((worker, queue), "")
        lease: tuple[object, object] = ("", "")
        for _ in range(2):
            call = Call("claim", queue, (worker, *wish, nonce, *lease, lost))
            answer = self._sent([call], worker, queue, nonce, now_us)[0]
            if not isinstance(answer, bytes):
                self._note_answer(worker, queue, len(answer) // 2 < wish.limit)
                return _claims(queue, answer)
            if answer == b"ended":
                break
            remainder = Remainder(self._link, now_us)
            length, record = self._ask_house(worker, now_us)
            lease = (remainder.of(length), rows.pack(record.tasks))
        raise LeaseLost(f"worker {worker} has left or was given up for dead. Enlist under a new id.")

    def _promising(self, worker: str, queues: Sequence[str], now_us: int | None) -> list[tuple[str, bool]]:
        """Choose, in one look, the queues in which a claim has anything to do, and tell whether they have limits.

        Raises LeaseLost like any claim.
        """
        looks = [Call("look", queue) for queue in queues]
        lease, *found = self._link.try_run([Call("lease", None, (worker,)), *looks], now_us)
        if isinstance(lease, StoreUnavailable):
            raise lease
        _live(lease)
        return [
            (queue, bool(look[3]))
            for queue, look in zip(queues, found, strict=True)
            if not isinstance(look, StoreUnavailable) and (look[2] or (worker, queue) in self._unanswered)
        ]

    def _ask_house(self, worker: str, now_us: int | None) -> tuple[bytes, WorkerRecord]:
        return _live(self._link.call("lease", None, worker, now_us=now_us))

    def _sent(self, calls: list[Call], worker: str, queue: str, nonce: str, now_us: int | None) -> list[Any]:
        try:
            return self._link.run(calls, now_us)
        except StoreError:
            self._unanswered[worker, queue] = f"{self._unanswered.get((worker, queue), '')} {nonce}"
            raise

    def _note_answer(self, worker: str, queue: str, has_all: bool) -> None:
        if has_all:  # a full answer may not have held all that the lost ones did
            self._unanswered.pop((worker, queue), None)


def _claims(queue: str, answer: object) -> list[Claim]:
    assert isinstance(answer, list)
    is_limited = len(answer) % 2 == 1
    return [rows.claim(queue, answer[place], answer[place + 1], is_limited) for place in range(0, len(answer) - 1, 2)]


def _live(answer: object) -> tuple[bytes, WorkerRecord]:
    """Give how long the lease lives yet and whose it is, or raise LeaseLost with the reason."""
    if isinstance(answer, bytes):
        raise LeaseLost(answer.decode())
    assert isinstance(answer, list)
    return answer[0], _record(answer[1].partition(b" ")[2])
