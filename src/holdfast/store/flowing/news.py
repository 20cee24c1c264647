"""News: what whoever ends a run, or brings a job, leaves for the next claim; and what they mean to a flow."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from holdfast.model.queue import QueuePolicy
from holdfast.model.verdict import Verdict
from holdfast.policy import flow as rules
from holdfast.policy.flow import Flow
from holdfast.store.flowing.ledger import NAMELESS, Kind, News

Line = tuple[str, str, Kind, int, int]
"""A row to be: queue, lane, kind, moment, value."""


def of_arrivals(places: Iterable[tuple[str, str | None]], now_us: int) -> list[Line]:
    """Give the news that jobs have come to these queues and lanes: one for each, however many came."""
    return [(queue, lane or NAMELESS, "came", now_us, 1) for queue, lane in dict.fromkeys(places)]


def of_verdict(verdict: Verdict, queue: str, lane: str | None, now_us: int) -> list[Line]:
    """Give the news of one run's end."""
    name = lane or NAMELESS
    lines: list[Line] = [(queue, name, rules.result_of(verdict.outcome), now_us, 1)]
    if verdict.slows_us:
        lines.append((queue, name, "slow", now_us, now_us + verdict.slows_us))
    return lines


def merged(lines: Sequence[Line]) -> list[Line]:
    """Say what is said several times in a row only once, with the number."""
    return [_once(list(same)) for _, same in groupby(lines)]


def _once(same: list[Line]) -> Line:
    queue, lane, kind, at_us, value = same[0]
    return (queue, lane, kind, at_us, value if kind == "slow" else len(same))


def tell(one: News, queue: Flow, lane: Flow, policy: QueuePolicy) -> None:
    """Tell the flows of a queue and of a lane what has happened. What has come is for the round to see, not for them."""
    if one.kind == "slow":
        rules.slow(lane if one.lane else queue, one.value)
    elif one.kind != "came":
        for _ in range(one.value):
            rules.end(queue, policy.limits, one.kind, one.at_us)
            rules.end(lane, policy.lane_limits, one.kind, one.at_us)
