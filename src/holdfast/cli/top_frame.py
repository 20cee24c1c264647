"""One picture of `holdfast top`, as high and as wide as the terminal allows."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from holdfast.cli.grid import Row, grid
from holdfast.cli.output import cell, last_part, plural, size
from holdfast.cli.progress import bar, note
from holdfast.cli.rates import Rates
from holdfast.cli.snapshot import Snapshot
from holdfast.cli.staff import Worker
from holdfast.cli.standings import standing_cell
from holdfast.cli.times import iso, relative, span
from holdfast.model.job import JobRecord
from holdfast.model.queue import QueueRecord
from holdfast.policy.moments import SECOND
from holdfast.run.evidence import visible

if TYPE_CHECKING:
    from rich.console import Group
    from rich.text import Text

_HEAD: Final = 2
_MOST_ROWS: Final = 20
"""How many rows of one section are printed where no screen sets a bound; `--json` has them all."""
_AROUND: Final = 3
"""The lines of a section besides its rows: an empty one, the names of the columns, a rule."""


class Picture(msgspec.Struct, frozen=True):
    """What is to be seen. `remark` says how it came about: where, how often."""

    snapshot: Snapshot
    rates: Rates
    remark: str


class _Section(msgspec.Struct, frozen=True):
    rows: list[Row]
    right: tuple[str, ...] = ()
    spare: tuple[str, ...] = ()
    soft: str = ""


def frame(picture: Picture, height: int | None) -> "Group":
    """Draw the picture into so many lines; None: there is no screen to fit."""
    from rich.console import Group  # only for commands that draw
    from rich.text import Text

    sections = [section for section in _sections(picture) if section.rows]
    drawn: list[Any] = [_title(picture), _pace(picture)]
    for section, rows in zip(sections, shares([len(section.rows) for section in sections], height), strict=True):
        if rows:
            table = grid(section.rows[:rows], right=section.right, spare=section.spare, soft=section.soft)
            drawn += [Text(""), table]
    return Group(*drawn)


def shares(wanted: Sequence[int], height: int | None) -> list[int]:
    """Divide the lines of a screen: every section gets a row in turn, until all have what they want or no room is left.

    A section without room for one row is left out; the first ones go first.
    """
    if height is None:
        return [min(number, _MOST_ROWS) for number in wanted]
    given = [0] * len(wanted)
    room = height - _HEAD
    while True:
        before = room
        for place, number in enumerate(wanted):
            cost = 1 if given[place] else 1 + _AROUND
            if given[place] < number and cost <= room:
                given[place] += 1
                room -= cost
        if room == before:
            return given


def _title(picture: Picture) -> "Text":
    from rich.text import Text  # only for commands that draw

    moment = (iso(picture.snapshot.now_us) or "")[11:19]
    return _line(Text.assemble(("holdfast top", "bold"), visible(f"  {moment} UTC  {picture.remark}")))


def _pace(picture: Picture) -> "Text":
    from rich.text import Text  # only for commands that draw

    snapshot, rates = picture.snapshot, picture.rates
    workers = plural(len(snapshot.workers), "worker")
    rss = sum(worker.rss_bytes for worker in snapshot.workers)
    parts = [f"{workers}, {size(rss)}" if rss else workers, *_speeds(rates)]
    return _line(Text("  ·  ".join(parts), style="cyan" if snapshot.workers else "yellow"))


def _speeds(rates: Rates) -> Iterator[str]:
    if rates.runs is not None:
        yield f"{_number(rates.runs)} runs/s"
    if rates.is_known:
        yield f"{_number(sum(rates.succeeded.values()))} succeeded/s"
        yield f"{_number(sum(rates.failed.values()))} failed/s"
        yield f"over {span(round(rates.over_s, 1))}"


def _sections(picture: Picture) -> Iterator[_Section]:
    snapshot, rates = picture.snapshot, picture.rates
    counts = ("ready", "scheduled", "running", "failed", "succeeded/s", "failed/s")
    is_held = any(queue.is_paused or queue.standing != "open" for queue in snapshot.queues)
    rates_first = ("failed/s", "scheduled", "succeeded/s", "oldest ready", "failed", "running")
    yield _Section(
        [_queue_row(queue, rates, snapshot.now_us) for queue in snapshot.queues],
        right=counts,
        spare=(*rates_first, "is") if is_held else ("is", *rates_first),
    )
    title = f"running {snapshot.count('running'):,}"
    yield _Section(
        [_running_row(title, job, snapshot.now_us) for job in snapshot.running],
        right=("for",),
        spare=("worker", "queue", "note", "job", "progress"),
        soft="note",
    )
    yield _Section(
        [_failing_row(job, snapshot.now_us) for job in snapshot.failing],
        spare=("queue", "tries", "job", "why"),
        right=("tries",),
        soft="why",
    )
    yield _Section(
        [_worker_row(worker, snapshot.now_us) for worker in snapshot.workers],
        right=("children", "rss", "runs ended", "running"),
        spare=("queues", "runs ended", "children", "for", "is", "rss"),
        soft="queues",
    )


def _queue_row(queue: QueueRecord, rates: Rates, now_us: int) -> Row:
    counts = {state: queue.counts.get(state) for state in ("ready", "scheduled", "running", "failed")}
    oldest = None if queue.oldest_ready_us is None else span(max(0, now_us - queue.oldest_ready_us) / SECOND)
    return {
        "queue": cell(queue.name, "bold"),
        "is": standing_cell(queue, now_us),
        **{state: cell(f"{count:,}" if count else None) for state, count in counts.items()},
        "oldest ready": cell(oldest),
        "succeeded/s": cell(_rate(rates.succeeded.get(queue.name))),
        "failed/s": cell(_rate(rates.failed.get(queue.name)), "red"),
    }


def _running_row(title: str, job: JobRecord, now_us: int) -> Row:
    since_us = now_us if job.claimed_us is None else job.claimed_us
    return {
        title: cell(job.task, "cyan"),
        "job": cell(last_part(job.id)),
        "for": cell(span(max(0, now_us - since_us) / SECOND)),
        "progress": cell(bar(job.progress), "green"),
        "note": cell(note(job), is_one_line=True),
        "queue": cell(job.queue),
        "worker": cell(job.worker),
    }


def _failing_row(job: JobRecord, now_us: int) -> Row:
    why = next(iter((job.error or job.reason or "").splitlines()), "")
    return {
        "failed lately": cell(job.task, "red"),
        "job": cell(last_part(job.id)),
        "when": cell(relative(job.finished_us, now_us)),
        "tries": cell(job.failures + job.crashes or None),
        "queue": cell(job.queue),
        "why": cell(why, is_one_line=True),
    }


def _worker_row(worker: Worker, now_us: int) -> Row:
    record, children = worker.record, worker.children
    return {
        "worker": cell(record.id, "bold"),
        "is": cell("leaving", "yellow") if record.is_leaving else cell("working", "green"),
        "for": cell(span(max(0, now_us - record.started_us) / SECOND)),
        "children": cell(len(children) or None),
        "rss": cell(size(worker.rss_bytes) if children else None),
        "runs ended": cell(f"{sum(child.runs for child in children):,}" if children else None),
        "running": cell(len(worker.running) or None),
        "queues": cell(", ".join(record.queues) or "all", is_one_line=True),
    }


def _rate(value: float | None) -> str | None:
    return _number(value) if value else None


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def _line(text: "Text") -> "Text":
    text.no_wrap, text.overflow = True, "ellipsis"
    return text
