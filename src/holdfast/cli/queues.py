"""`holdfast queues` and `holdfast queue …`: see queues, hold them, let them go, empty them."""

import click

from holdfast.cli.documents import overlay_document, queue_document, settings_document
from holdfast.cli.grid import Row, grid
from holdfast.cli.holding import pause, resume
from holdfast.cli.lanes import lanes
from holdfast.cli.output import cell, console, plural, print_json, say, table
from holdfast.cli.overlay import set_, unset
from holdfast.cli.picking import get_queue
from holdfast.cli.purge import purge
from holdfast.cli.shared import is_json, shared
from holdfast.cli.source import opened
from holdfast.cli.standings import limits_of, setting_of, spaced, standing_cell
from holdfast.cli.times import relative, span
from holdfast.cli.wait_drained import wait_for_queue
from holdfast.model.queue import LaneRecord, QueueRecord
from holdfast.model.states import STATES
from holdfast.policy.moments import SECOND

_COUNTED = ("ready", "scheduled", "running", "parked", "succeeded", "failed")


@click.command()
@shared
def queues() -> None:
    """List all queues with what they hold, and what holds them back.

    \b
    Examples:
      holdfast queues
      holdfast queues --json
    """
    with opened() as store:
        records = [record for name in store.queues.names() if (record := store.queues.get(name))]
        now_us = store.now()
    if is_json():
        print_json([queue_document(record) for record in records])
    elif records:
        _draw(records, now_us)
    else:
        say("no queues yet: a queue comes into being with its first job")


@click.group()
@shared
def queue() -> None:
    """Look at one queue and its lanes, hold it, limit it, or purge it.

    \b
    Examples:
      holdfast queue pause mail
      holdfast queue set mail --rate 100/m
      holdfast queue purge mail --yes
    """


@queue.command()
@click.argument("name")
@shared
def show(name: str) -> None:
    """Show one queue.

    \b
    Examples:
      holdfast queue show mail
      holdfast queue show mail --json
    """
    with opened() as store:
        record, now_us = get_queue(store, name), store.now()
        found = [] if is_json() else store.queues.lanes(name)
    print_json(queue_document(record)) if is_json() else _draw_one(record, found, now_us)


for command in (lanes, pause, resume, set_, unset, wait_for_queue, purge):
    queue.add_command(command)


def _draw(records: list[QueueRecord], now_us: int) -> None:
    rows = [_row(record, now_us) for record in records]
    spare = ["order", "parked", "running", "scheduled", "next due", "oldest ready", "failed"]
    if any(record.policy.is_limited for record in records):
        rows = [row | {"limits": cell(limits_of(record.policy))} for row, record in zip(rows, records, strict=True)]
        spare.insert(0, "limits")
    console().print(grid(rows, right=_COUNTED, spare=spare))


def _row(record: QueueRecord, now_us: int) -> Row:
    counts = {state: f"{record.counts[state]:,}" if state in record.counts else None for state in _COUNTED}
    return {
        "queue": cell(record.name),
        "is": standing_cell(record, now_us),
        "order": cell(record.policy.order),
        **{state: cell(count) for state, count in counts.items()},
        "oldest ready": cell(_age(record, now_us)),
        "next due": cell(relative(record.next_due_us, now_us)),
    }


def _draw_one(record: QueueRecord, found: list[LaneRecord], now_us: int) -> None:
    drawn = table("queue", record.name, whole=("queue",))
    drawn.add_row("is", standing_cell(record, now_us))
    if record.is_paused and record.standing != "open":
        drawn.add_row("besides", cell(record.standing))
    settings, by_hand = settings_document(record.policy), overlay_document(record)
    for name in settings:
        if name == "order" or settings[name] or name in by_hand:
            drawn.add_row(spaced(name), cell(setting_of(name, settings)))
    if by_hand:
        drawn.add_row("set by hand", cell(", ".join(map(spaced, by_hand))))
    if any(lane.name for lane in found):
        drawn.add_row("lanes", cell(_told(found)))
    drawn.add_row("yet to start", cell(f"{record.size:,}"))
    for state in STATES:
        if state in record.counts:
            drawn.add_row(state, cell(f"{record.counts[state]:,}"))
    if record.policy.tells_drained or record.drains:
        drawn.add_row("drained", cell(f"{plural(record.drains, 'time')}"))
    drawn.add_row("oldest ready waits", cell(_age(record, now_us)))
    drawn.add_row("next due", cell(relative(record.next_due_us, now_us)))
    console().print(drawn)


def _told(found: list[LaneRecord]) -> str:
    held = sum(lane.standing != "open" for lane in found)
    return plural(len(found), "lane") + (f", {held:,} held back" if held else "")


def _age(record: QueueRecord, now_us: int) -> str:
    return "" if record.oldest_ready_us is None else span(max(0, now_us - record.oldest_ready_us) / SECOND)
