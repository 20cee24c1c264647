"""How a queue or a lane holds its jobs back, told in sentences. What stands where is decided in `policy.flow`."""

from collections.abc import Iterator
from shlex import quote
from typing import Final

import msgspec

from holdfast.model.queue import Breaker, LaneRecord, Limits, QueueRecord, Standing
from holdfast.model.why import Reason
from holdfast.policy.moments import shown_moment
from holdfast.policy.rates import shown_rate


class _Place(msgspec.Struct, frozen=True):
    """A queue or a lane: what people call it, what limits it, and the commands that change that."""

    kind: str
    name: str
    limits: Limits
    running: int
    resume: str
    set_rate: str


_SENTENCES: Final[dict[Standing, str]] = {
    "paused": "is paused",
    "stopped": "is stopped: its rate is 0",
    "broken": "is broken: after {streak} nothing starts until {when}",
    "probing": "was broken and is being tried, {probes} at a time: how that ends decides",
    "full": "is full: {running} of {max_running} run",
    "limited": "is limited to {rate}: the next start is at {when}",
    "slowed": "is left alone until {when}: a task asked for it",
}
_REMEDIES: Final[dict[Standing, str]] = {
    "paused": "{resume}",
    "stopped": "{set_rate}",
    "broken": "{resume}  tries again at once",
    "slowed": "{resume}  goes on at once",
}


def held_by_queue(queue: QueueRecord) -> Iterator[Reason]:
    """Tell how a queue holds its jobs back, if it does. A pause and a limit may hold at once."""
    name = queue.name
    place = _Place(
        "queue", scope(name), queue.policy.limits, queue.counts.get("running", 0),
        f"holdfast queue resume {name}", f"holdfast queue set {name} --rate RATE",
    )  # fmt: skip
    if queue.is_paused:
        yield _reason(place, "paused", None)
    if queue.standing not in ("open", "paused"):
        yield _reason(place, queue.standing, queue.until_us)


def held_by_lane(queue: QueueRecord, lane: LaneRecord) -> Iterator[Reason]:
    """Tell how a lane holds its jobs back, if it does."""
    name = queue.name
    place = _Place(
        "lane", scope(name, lane.name), queue.policy.lane_limits, lane.running,
        f"holdfast queue resume {name} --lane {quote(lane.name)}", f"holdfast queue set {name} --lane-rate RATE",
    )  # fmt: skip
    if lane.standing != "open":
        yield _reason(place, lane.standing, lane.until_us)


def scope(queue: str, lane: str | None = None) -> str:
    """Name a queue, or one of its lanes; the one without a name is that of the jobs without a lane."""
    if lane is None:
        return f"queue {queue}"
    return f"lane {lane} of queue {queue}" if lane else f"queue {queue} without a lane"


def _reason(place: _Place, standing: Standing, until_us: int | None) -> Reason:
    breaker = place.limits.breaker
    sentence = _SENTENCES[standing].format(
        when="" if until_us is None else shown_moment(until_us),
        streak=_streak(breaker),
        probes=breaker.probes if breaker else 0,
        running=place.running,
        max_running=place.limits.max_running,
        rate=shown_rate(place.limits.rate),
    )
    remedy = _REMEDIES.get(standing, "").format(resume=place.resume, set_rate=place.set_rate)
    return Reason(f"{place.kind}_{standing}", f"{place.name} {sentence}", until_us, remedy or None)


def _streak(breaker: Breaker | None) -> str:
    if breaker is None or breaker.failures == 1:
        return "a failure"
    return f"{breaker.failures} failures in a row"
