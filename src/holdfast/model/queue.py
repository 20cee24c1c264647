"""A queue: a named stream of jobs with one policy, and what can be seen of it and of its lanes."""

from typing import Final, Literal

import msgspec

Order = Literal["fifo", "lifo"]

OnFull = Literal["reject", "block", "spill"]
"""What becomes of a push to a full queue: it is refused; its caller waits for room; it is set aside until there is some."""

Standing = Literal["open", "paused", "stopped", "broken", "probing", "full", "limited", "slowed"]
"""Whether a queue or a lane may start a job now, and if not, what holds it back:

    open      nothing does
    paused    a person paused it
    stopped   its rate is nought
    broken    too many failures in a row: its breaker lets nothing start for a while
    probing   the breaker tries it with a few jobs, and waits for how they end
    full      as many jobs run as may
    limited   its rate lets the next one start later
    slowed    a task asked for it to be left alone for a while (`RateLimited`)
"""


class Rate(msgspec.Struct, frozen=True):
    """One start in every `interval_us`, in the long run, and `burst` at once after a rest. An interval of 0: none at all."""

    interval_us: int
    burst: int = 1


class Breaker(msgspec.Struct, frozen=True):
    """After `failures` in a row nothing starts for `pause_us`; then `probes` jobs are tried. One success closes it."""

    failures: int
    pause_us: int
    probes: int = 1


class Limits(msgspec.Struct, frozen=True):
    """What holds back the starts of one queue, or of each of its lanes."""

    rate: Rate | None = None
    max_running: int | None = None
    breaker: Breaker | None = None


NO_LIMITS = Limits()
DAY_US: Final = 86_400_000_000


class QueuePolicy(msgspec.Struct, frozen=True):
    """How a queue hands out its jobs. Higher priority goes first; `order` decides among equals, in one lane.

    `weights` are the shares of lanes; a lane that is not named has the weight 1.
    """

    order: Order = "fifo"
    limits: Limits = NO_LIMITS
    lane_limits: Limits = NO_LIMITS
    weights: dict[str, int] = {}
    max_size: int | None = None
    """How many jobs may wait to start (waiting, scheduled, ready) before the queue is full."""
    on_full: OnFull = "reject"
    spill_ttl_us: int = DAY_US
    """How long a spilled job waits for room before it expires."""
    block_us: int | None = None
    """How long a caller waits for room before its push is refused; None: for ever."""
    ageing_us: int | None = None
    """In what time a job that is due gains a point of priority; None: never. See `policy.ageing`."""
    tells_drained: bool = False
    """Whether somebody wants to be told each time that it drains."""

    @property
    def is_limited(self) -> bool:
        return self.limits != NO_LIMITS or self.lane_limits != NO_LIMITS

    @property
    def is_plain(self) -> bool:
        """Whether it hands out its jobs by order alone, which never depends on the time, and nobody has to be told."""
        is_ordered_only = not self.is_limited and not self.weights and self.ageing_us is None
        return is_ordered_only and not self.tells_drained


class QueueOverlay(msgspec.Struct, frozen=True, omit_defaults=True):
    """What an operator has set about a queue. It goes before the declared policy until it is unset; None is a value."""

    order: Order | msgspec.UnsetType = msgspec.UNSET
    rate: Rate | msgspec.UnsetType | None = msgspec.UNSET
    max_running: int | msgspec.UnsetType | None = msgspec.UNSET
    breaker: Breaker | msgspec.UnsetType | None = msgspec.UNSET
    lane_rate: Rate | msgspec.UnsetType | None = msgspec.UNSET
    lane_max_running: int | msgspec.UnsetType | None = msgspec.UNSET
    lane_breaker: Breaker | msgspec.UnsetType | None = msgspec.UNSET
    weights: dict[str, int] | msgspec.UnsetType = msgspec.UNSET
    max_size: int | msgspec.UnsetType | None = msgspec.UNSET
    on_full: OnFull | msgspec.UnsetType = msgspec.UNSET
    spill_ttl_us: int | msgspec.UnsetType = msgspec.UNSET
    block_us: int | msgspec.UnsetType | None = msgspec.UNSET
    ageing_us: int | msgspec.UnsetType | None = msgspec.UNSET


NO_OVERLAY = QueueOverlay()


class Drained(msgspec.Struct, frozen=True):
    """That a queue has drained for this time: no job of it is ready, scheduled, running, waiting or spilled any more."""

    queue: str
    number: int


class LaneRecord(msgspec.Struct, frozen=True):
    """A lane as a reader may see it now. `until_us` is when its standing changes by itself, if that is known."""

    name: str
    ready: int
    running: int
    standing: Standing
    until_us: int | None = None


class QueueRecord(msgspec.Struct, frozen=True):
    """A queue as the store knows it, with exact counts of what it holds. `policy` is the one in force, overlay and all.

    `standing` tells of its limits: a queue that a person has paused starts nothing, however it stands.
    """

    name: str
    policy: QueuePolicy
    is_paused: bool
    counts: dict[str, int]
    oldest_ready_us: int | None = None
    next_due_us: int | None = None
    standing: Standing = "open"
    until_us: int | None = None
    overlay: QueueOverlay = NO_OVERLAY
    refused: int = 0
    """How many pushes were refused because it was full, ever."""
    drains: int = 0
    """How often it was found drained, if its policy wants that told."""

    @property
    def is_full(self) -> bool:
        return self.policy.max_size is not None and self.size >= self.policy.max_size

    @property
    def size(self) -> int:
        """Jobs that have yet to start: waiting, scheduled and ready."""
        return sum(self.counts.get(state, 0) for state in ("waiting", "scheduled", "ready"))
