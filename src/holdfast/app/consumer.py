"""The pull side: a program that takes jobs and carries them out itself, leased like a worker.

    with app.consumer("crawl") as consumer:
        for delivery in consumer.claim(10):
            delivery.done(fetch(*delivery.args))

Leaving the block hands back, uncharged, what was claimed and not settled. If the program dies, its lease brings the
jobs back. If it loses its lease (the machine slept), its writes are refused with `LeaseLost`, and so are its claims.
"""

import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from holdfast.app.blocking import refuse_inside_a_loop
from holdfast.app.options import whole_number
from holdfast.errors import DeclarationError, DecodingFailed, LeaseLost, SealBroken
from holdfast.model.claim import Claim
from holdfast.model.verdict import BAD_PAYLOAD, BAD_SEAL, Verdict, done, parked, recurring, released
from holdfast.policy.moments import SECOND, duration_us
from holdfast.run.beater import Beater
from holdfast.run.evidence import LONGEST_ERROR, storable
from holdfast.run.identity import new_worker
from holdfast.run.judge import failed, rate_limited
from holdfast.run.overrides import again_us
from holdfast.wire.envelope import Envelope
from holdfast.wire.payload import pack_value, unpack
from holdfast.wire.seal import check_job, close_result

if TYPE_CHECKING:
    from holdfast.app.app import Holdfast

_FIRST_NAP_S: Final = 0.001
_LONGEST_NAP_S: Final = 0.05


class Delivery:
    """One job in this program's hands. Exactly one of `done`, `retry`, `fail`, `rate_limited`, `release` ends it."""

    __slots__ = ("_again_us", "_claim", "_consumer", "args", "kwargs", "lane", "task")

    def __init__(
        self, consumer: "Consumer", claim: Claim, envelope: Envelope, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self._consumer = consumer
        self._claim = claim
        self._again_us = again_us(envelope)
        self.task = envelope.task
        self.lane = envelope.lane
        self.args = args
        self.kwargs = kwargs

    @property
    def id(self) -> str:
        return self._claim.id

    @property
    def token(self) -> str:
        return self._claim.token

    @property
    def attempt(self) -> int:
        return self._claim.attempt

    def is_cancelled(self) -> bool:
        """Tell whether someone cancelled the job meanwhile."""
        return self._consumer.is_cancelled(self._claim.token)

    def done(self, result: object = None) -> None:
        """End the job as succeeded."""
        verdict = done(self._claim, self._consumer.packed(self._claim, self.task, result))
        self._consumer.settle(recurring(verdict, self._again_us))

    def retry(self, delay: object = 0, reason: str = "the consumer asked for a retry") -> None:
        """Have the job run again after `delay`; charged as a failure. How often is the program's own decision."""
        self._end("retry", reason, duration_us(delay, "delay"))

    def fail(self, reason: str = "the consumer gave up") -> None:
        """End the job as failed."""
        self._end("failed", reason)

    def rate_limited(self, retry_after: object, reason: str = "rate limited") -> None:
        """Have the job run again after so long, uncharged, and nothing of its lane start until then, on any worker."""
        self._consumer.settle(rate_limited(self._claim, retry_after, reason))

    def release(self) -> None:
        """Hand the job back as if it had never been taken."""
        self._consumer.settle(released(self._claim))

    def _end(self, outcome: Any, reason: str, delay_us: int = 0) -> None:
        claim, words = self._claim, storable(str(reason))[:LONGEST_ERROR]
        verdict = Verdict(claim.id, claim.token, claim.queue, outcome, delay_us, reason=words, error=words)
        self._consumer.settle(recurring(verdict, self._again_us))

    def __repr__(self) -> str:
        return f"<Delivery {self.id} of {self.task}, attempt {self.attempt}>"


class Consumer:
    """Claims the jobs of one queue, under a lease that a thread keeps. Use it as a context manager."""

    def __init__(self, app: "Holdfast", queue: str, lease_s: float) -> None:
        self._app = app
        self._queue = queue
        self._lease_s = lease_s
        self._worker = ""
        self._beater: Beater | None = None
        self._cancelled: set[str] = set()

    def __enter__(self) -> "Consumer":
        if self._worker:
            raise DeclarationError("this consumer is open already; make another one with app.consumer()")
        record = new_worker(self._app.bench().registry.names(), [self._queue], self._lease_s)
        self._app.store.enlist(record)
        self._worker = record.id
        self._beater = Beater(
            self._app.store, record.id, self._lease_s, on_cancelled=self._cancelled.update, on_lost=lambda: None
        )
        self._beater.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        worker, self._worker = self._worker, ""
        if self._beater is not None:
            self._beater.stop()
        self._app.store.leave(worker)

    def claim(self, limit: int = 1, *, wait: object = 0) -> list[Delivery]:
        """Take up to `limit` jobs. With `wait`, sleep up to so long for the first.

        What cannot be read, or is not signed as it should be, is set aside and not delivered.
        """
        whole_number(limit, "limit", 1)
        deadline = time.monotonic() + duration_us(wait, "wait") / SECOND
        nap_s = _FIRST_NAP_S
        while not (deliveries := self._deliver(limit)):
            if (left_s := deadline - time.monotonic()) <= 0:
                break
            refuse_inside_a_loop("claim(wait=…)", "await asyncio.to_thread(consumer.claim, …)")
            began = time.monotonic()
            self._app.store.wait([self._queue], left_s)
            # Somebody else was faster, or woke the store for another reason. If that is so again and again, do not spin.
            if time.monotonic() - began < nap_s:
                time.sleep(nap_s)
                nap_s = min(nap_s * 2, _LONGEST_NAP_S)
        return deliveries

    def settle(self, verdict: Verdict) -> None:
        """Carry out a verdict, or raise LeaseLost if the job is no longer this consumer's."""
        self._cancelled.discard(verdict.token)
        for lost in self._app.store.settle([verdict]):
            raise LeaseLost(f"job {lost.id} is no longer this consumer's: {lost.why}. Nothing was changed.")

    def is_cancelled(self, token: str) -> bool:
        return token in self._cancelled

    def packed(self, claim: Claim, task: str, result: object) -> bytes | None:
        if result is None:
            return None
        data = pack_value(result, self._app.codec(), f"the result of {task}")
        return close_result(self._app.connection().ring, claim.id, data)

    def _deliver(self, limit: int) -> list[Delivery]:
        if not self._worker:
            raise LeaseLost("this consumer is not open: use it in a with block")
        claims = self._app.store.claim(self._worker, [self._queue], limit)
        return [delivery for delivery in map(self._open, claims) if delivery is not None]

    def _open(self, claim: Claim) -> Delivery | None:
        ring = self._app.connection().ring
        try:
            envelope = check_job(ring, claim.id, claim.queue, claim.envelope, claim.seal)
            args, kwargs = unpack(envelope.payload, self._app.codec())
            return Delivery(self, claim, envelope, args, kwargs)
        except SealBroken as error:
            self.settle(parked(claim, BAD_SEAL, str(error)))
        except DecodingFailed as error:
            self.settle(failed(claim, BAD_PAYLOAD, error))
        return None
