"""What a reader sees of a flowing queue now, although the news have not been acted on yet. Changes nothing."""

from collections.abc import Iterable

from holdfast.model.queue import LaneRecord, QueuePolicy, Standing
from holdfast.policy import flow as rules
from holdfast.policy.flow import HELD, Flow
from holdfast.policy.overlay import unpacked as policies
from holdfast.store.flowing.ledger import Book, News, unpacked
from holdfast.store.flowing.news import tell


def queue_standing(book: Book, news: Iterable[News], running: int, now_us: int) -> tuple[Standing, int | None]:
    """Tell whether the queue as a whole may start a job. `news` are those that are not of the kind `came`."""
    policy, _ = policies(book.declared, book.overlay)
    queue = _told(book, news, {}, policy)
    return rules.standing(queue, policy.limits, running, now_us)


def lane_records(
    book: Book,
    news: Iterable[News],
    kept: Iterable[tuple[str, str]],
    counts: Iterable[tuple[str, int, int]],
    now_us: int,
) -> list[LaneRecord]:
    """List the lanes that hold jobs or are held back, by name.

    `kept` are the names and flows of the lanes, `counts` the names, ready and running jobs of those that have any.
    """
    policy, _ = policies(book.declared, book.overlay)
    lanes = {name: unpacked(flow) for name, flow in kept}
    _told(book, news, lanes, policy)
    numbers = {name: (ready, running) for name, ready, running in counts}
    shown = [_recorded(name, lanes, numbers, policy, now_us) for name in sorted({*lanes, *numbers})]
    return [one for one in shown if one.ready or one.running or one.standing in HELD]


def may_have_drained(book: Book, *, has_running: bool, has_open: bool) -> bool:
    """Tell, of what was read without a lock, whether a step that looks for a drain has anything to note or to tell."""
    if not policies(book.declared, book.overlay)[0].tells_drained:
        return False
    flow = unpacked(book.flow)
    number = rules.look_for_drain(flow, has_running=has_running, has_open=has_open)
    return number is not None or flow != unpacked(book.flow)


def drains(book: Book) -> int:
    """Tell how often the queue was found drained."""
    return unpacked(book.flow).drains


def _told(book: Book, news: Iterable[News], lanes: dict[str, Flow], policy: QueuePolicy) -> Flow:
    queue = unpacked(book.flow)
    for one in news:
        tell(one, queue, lanes.setdefault(one.lane, Flow()), policy)
    return queue


def _recorded(
    name: str, lanes: dict[str, Flow], numbers: dict[str, tuple[int, int]], policy: QueuePolicy, now_us: int
) -> LaneRecord:
    ready, running = numbers.get(name, (0, 0))
    standing, until_us = rules.standing(lanes.get(name) or Flow(), policy.lane_limits, running, now_us)
    return LaneRecord(name, ready, running, standing, until_us)
