"""A queue: a named stream of jobs with one policy, and what can be seen of it."""

from typing import Literal

import msgspec

Order = Literal["fifo", "lifo"]


class QueuePolicy(msgspec.Struct, frozen=True):
    """How a queue hands out its jobs. Higher priority goes first; `order` decides among equals."""

    order: Order = "fifo"


class QueueRecord(msgspec.Struct, frozen=True):
    """A queue as the store knows it, with exact counts of what it holds."""

    name: str
    policy: QueuePolicy
    is_paused: bool
    counts: dict[str, int]
    oldest_ready_us: int | None = None
    next_due_us: int | None = None

    @property
    def size(self) -> int:
        """Jobs that have yet to start: waiting, scheduled and ready."""
        return sum(self.counts.get(state, 0) for state in ("waiting", "scheduled", "ready"))
