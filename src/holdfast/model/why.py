"""Why a job does not run at this moment."""

import msgspec

from holdfast.model.states import State


class Reason(msgspec.Struct, frozen=True):
    """One thing that is to be known about a job that does not run.

    `kind` is a stable word for programs: see `policy.why`. `until_us` is when this is over by itself, if that is known;
    `remedy` is what a person can do about it, if anything.
    """

    kind: str
    sentence: str
    until_us: int | None = None
    remedy: str | None = None


class Why(msgspec.Struct, frozen=True):
    """The answer about one job, at one moment. There is always a reason, the weightiest first.

    `starts_us` is the earliest moment at which the job may start; None if nobody can know, or if it has started.
    """

    job_id: str
    state: State
    now_us: int
    reasons: tuple[Reason, ...]
    starts_us: int | None = None
