"""A run: one attempt to carry out a job, as history keeps it."""

import msgspec

from holdfast.model.verdict import Outcome


class Run(msgspec.Struct, frozen=True):
    """One finished run. `number` counts the deliveries of a job from 1 and never goes back, through all generations."""

    job_id: str
    number: int
    generation: int
    worker: str
    token: str
    claimed_us: int
    ended_us: int
    took_us: int
    outcome: Outcome
    reason: str | None = None
    error: str | None = None
    traceback: str | None = None
