"""A job: as a caller hands it to the store, as the store tells of it, and what became of a push."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from holdfast.model.seen import SeenMark
from holdfast.model.states import State

Decision = Literal["created", "merged", "duplicate", "spilled", "refused"]
Conflict = Literal["merge", "keep", "replace", "reject"]
"""What to do if an unfinished job of the queue has the same key: see `policy.identity`."""


class NewJob(msgspec.Struct, frozen=True, array_like=True):
    """A job on its way into a store.

    `envelope` is what the caller gave, encoded; `seal` its signature, or None. The store reads neither. The other
    fields say how the store is to treat the job. Delays are resolved on the store's clock, never on the caller's.
    """

    id: str
    queue: str
    task: str
    envelope: bytes
    seal: bytes | None = None
    priority: int = 0
    delay_us: int = 0
    at_us: int | None = None
    expires_us: int | None = None
    """A moment, not a duration. A job that has not started by then ends as expired."""
    crash_budget: int = 3
    keep_done_s: int = 86_400
    keep_dead_s: int = 30 * 86_400
    result_ttl_s: int = 86_400
    tags: tuple[str, ...] = ()
    lane: str | None = None
    key: str | None = None
    on_conflict: Conflict = "merge"
    fresh_for_us: int | None = None
    """How long ago a success under the key may lie for this push to be needless."""
    version: str | None = None
    is_forced: bool = False
    runs_after: bool = False
    """Whether it is to run once more after a job of the same key that is running now."""
    seen: SeenMark | None = None
    """Set if it is to be stored only if its key has not been seen: see `policy.identity`."""


class Pushed(msgspec.Struct, frozen=True, array_like=True):
    """What became of one pushed job: the decision, and the id that stands."""

    id: str
    decision: Decision
    reason: str | None = None


class JobRecord(msgspec.Struct, frozen=True):
    """All that the store knows of one job, at one moment. For people and tools; never on the job path."""

    id: str
    queue: str
    task: str
    state: State
    priority: int
    due_us: int
    created_us: int
    envelope: bytes
    seal: bytes | None = None
    expires_us: int | None = None
    generation: int = 1
    deliveries: int = 0
    failures: int = 0
    crashes: int = 0
    crash_budget: int = 3
    worker: str | None = None
    claimed_us: int | None = None
    finished_us: int | None = None
    keep_until_us: int | None = None
    reason: str | None = None
    error: str | None = None
    traceback: str | None = None
    result: bytes | None = None
    result_until_us: int | None = None
    cancel_asked: bool = False
    progress: float | None = None
    progress_note: str | None = None
    tags: tuple[str, ...] = ()
    lane: str | None = None
    key: str | None = None
    version: str | None = None


def decided(jobs: Sequence[NewJob], created: set[str]) -> list[Pushed]:
    """Tell what became of each job of a batch, by the ids of those that were stored."""
    pushed: list[Pushed] = []
    for job in jobs:
        if job.id in created:
            created.discard(job.id)  # the first of two equal ids in one batch is the one that was stored
            pushed.append(Pushed(job.id, "created"))
        else:
            pushed.append(Pushed(job.id, "duplicate", f"job {job.id} is there already"))
    return pushed
