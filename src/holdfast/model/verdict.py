"""A verdict: how a run ended. Workers make them, `settle` carries them out, one atomic step per job."""

from typing import Literal

import msgspec

from holdfast.model.claim import Claim

Outcome = Literal["done", "retry", "failed", "snoozed", "cancelled", "released", "crashed", "parked"]

CRASHED = "crashed"
TIMED_OUT = "timeout"
UNKNOWN_TASK = "unknown task"
BAD_SEAL = "bad signature"
BAD_ARGUMENTS = "arguments do not fit"
BAD_PAYLOAD = "payload cannot be read"
BAD_RESULT = "result cannot be stored"


class Verdict(msgspec.Struct, frozen=True, array_like=True):
    """How one run of one job ended.

    `token` is the claim's; a verdict with another one is *lost*: it changes nothing and is reported. `delay_us` says
    how long a retry or a snooze waits. `took_us` is measured by the worker on its own monotonic clock, so that no
    worker's wall clock enters the store.
    """

    id: str
    token: str
    queue: str
    outcome: Outcome
    delay_us: int = 0
    took_us: int = 0
    result: bytes | None = None
    reason: str | None = None
    error: str | None = None
    traceback: str | None = None
    slows_us: int = 0
    """How long the lane of the job (without a lane: its queue) is to be left alone, by the wish of its task."""

    again_us: int = 0
    """How long after its end the job is to begin anew, if it is one that recurs; 0: it is not."""

    @property
    def is_of_a_run(self) -> bool:
        """Whether there was a run to remember: a claim that was handed back unstarted is none."""
        return self.outcome != "released" or self.took_us > 0


def done(claim: Claim, result: bytes | None = None, took_us: int = 0) -> Verdict:
    return Verdict(claim.id, claim.token, claim.queue, "done", took_us=took_us, result=result)


def released(claim: Claim, reason: str | None = None, took_us: int = 0) -> Verdict:
    """Hand the job back: same place in the queue, nothing charged. Without `took_us` it had not been started."""
    return Verdict(claim.id, claim.token, claim.queue, "released", took_us=took_us, reason=reason)


def crashed(claim: Claim, error: str, traceback: str | None = None, took_us: int = 0) -> Verdict:
    """Report that the process which held the job died under it."""
    return Verdict(
        claim.id, claim.token, claim.queue, "crashed",
        took_us=took_us, reason=CRASHED, error=error, traceback=traceback,
    )  # fmt: skip


def parked(claim: Claim, reason: str, error: str) -> Verdict:
    """Set the job aside, unrun and uncharged, until a person or a knowing worker takes it up."""
    return Verdict(claim.id, claim.token, claim.queue, "parked", reason=reason, error=error)


class Lost(msgspec.Struct, frozen=True, array_like=True):
    """A write that was refused because its token is not the job's current one."""

    id: str
    token: str
    why: str
