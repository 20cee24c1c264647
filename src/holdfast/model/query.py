"""Questions that people ask about jobs, and what upkeep reports."""

import msgspec

from holdfast.model.states import State


class Query(msgspec.Struct, frozen=True):
    """Which jobs to find. Everything given must hold; newest first; `after` continues behind a job's id."""

    states: tuple[State, ...] = ()
    queue: str | None = None
    task: str | None = None
    tag: str | None = None
    since_us: int | None = None
    """Only jobs that ended (or, if unfinished, were created) at or after this moment."""
    limit: int = 100
    after: str | None = None
    lane: str | None = None
    """Only jobs of this lane; '': only those without one."""
    key: str | None = None


class Tidied(msgspec.Struct, frozen=True):
    """What one round of upkeep did. `next_us` is when there will be something to do again, if that is known."""

    expired: int = 0
    pruned: int = 0
    is_more: bool = False
    next_us: int | None = None


class StoreInfo(msgspec.Struct, frozen=True):
    """Where jobs are kept and what that promises. `where` never holds a password."""

    kind: str
    where: str
    tier: str
