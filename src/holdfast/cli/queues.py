"""`holdfast queues` and `holdfast queue …`: see queues, hold them, let them go, empty them."""

from difflib import get_close_matches
from typing import Any

import click

from holdfast.cli.consent import ask, yes_option
from holdfast.cli.documents import queue_document
from holdfast.cli.grid import Row, grid
from holdfast.cli.output import cell, console, plural, print_json, say, table
from holdfast.cli.shared import is_json, shared
from holdfast.cli.source import opened
from holdfast.cli.times import relative, span
from holdfast.errors import InvalidInput
from holdfast.model.queue import QueueRecord
from holdfast.model.states import STATES
from holdfast.policy.moments import SECOND
from holdfast.store.protocol import Store

_COUNTED = ("ready", "scheduled", "running", "parked", "succeeded", "failed")


@click.command()
@shared
def queues() -> None:
    """List all queues with what they hold.

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
    """Look at one queue, pause it, resume it, or purge it.

    \b
    Examples:
      holdfast queue pause mail
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
        record, now_us = _get(store, name), store.now()
    print_json(queue_document(record)) if is_json() else _draw_one(record, now_us)


@queue.command()
@click.argument("name")
@shared
def pause(name: str) -> None:
    """Hand out no job of this queue until it is resumed; what runs, runs on.

    \b
    Examples:
      holdfast queue pause mail
      holdfast queue pause mail --json
    """
    with opened() as store:
        _get(store, name)
        changed = store.queues.pause(name)
    _report(name, "paused", changed)


@queue.command()
@click.argument("name")
@shared
def resume(name: str) -> None:
    """Hand out the jobs of a paused queue again.

    \b
    Examples:
      holdfast queue resume mail
      holdfast queue resume mail --json
    """
    with opened() as store:
        _get(store, name)
        changed = store.queues.resume(name)
    _report(name, "resumed", changed)


@queue.command()
@click.argument("name")
@yes_option
@shared
def purge(name: str, yes: bool) -> None:
    """Delete all jobs of a queue that have not started; running and finished ones stay.

    \b
    Examples:
      holdfast queue purge mail
      holdfast queue purge mail --yes --json
    """
    with opened() as store:
        waiting = _get(store, name)
        number = waiting.size + waiting.counts.get("parked", 0) + waiting.counts.get("spilled", 0)
        if number:
            ask(f"Delete {plural(number)} of queue {name} for good?", yes=yes)
        purged = store.queues.purge(name)
    print_json({"queue": name, "purged": purged}) if is_json() else say(f"deleted {plural(purged)} of queue {name}")


def _get(store: Store, name: str) -> QueueRecord:
    record = store.queues.get(name)
    if record is not None:
        return record
    known = store.queues.names()
    near = get_close_matches(name, known, 1)
    hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(known) or 'none yet'}"
    raise InvalidInput(f"there is no queue {name!r} in this store; {hint}")


def _report(name: str, done: str, changed: bool) -> None:
    if is_json():
        print_json({"queue": name, "is_paused": done == "paused", "changed": changed})
    elif changed:
        say(f"queue {name} is {done}")
    else:
        say(f"queue {name} was {'paused' if done == 'paused' else 'not paused'} already; nothing changed")


def _draw(records: list[QueueRecord], now_us: int) -> None:
    spare = ("order", "parked", "running", "scheduled", "next due", "oldest ready", "failed")
    console().print(grid([_row(record, now_us) for record in records], right=_COUNTED, spare=spare))


def _row(record: QueueRecord, now_us: int) -> Row:
    counts = {state: f"{record.counts[state]:,}" if state in record.counts else None for state in _COUNTED}
    return {
        "queue": cell(record.name),
        "is": _pause(record),
        "order": cell(record.policy.order),
        **{state: cell(count) for state, count in counts.items()},
        "oldest ready": cell(_age(record, now_us)),
        "next due": cell(relative(record.next_due_us, now_us)),
    }


def _draw_one(record: QueueRecord, now_us: int) -> None:
    drawn = table("queue", record.name, whole=("queue",))
    drawn.add_row("is", _pause(record))
    drawn.add_row("order", cell(record.policy.order))
    drawn.add_row("yet to start", cell(f"{record.size:,}"))
    for state in STATES:
        if state in record.counts:
            drawn.add_row(state, cell(f"{record.counts[state]:,}"))
    drawn.add_row("oldest ready waits", cell(_age(record, now_us)))
    drawn.add_row("next due", cell(relative(record.next_due_us, now_us)))
    console().print(drawn)


def _pause(record: QueueRecord) -> Any:
    return cell("paused", "bold yellow") if record.is_paused else cell("open", "green")


def _age(record: QueueRecord, now_us: int) -> str:
    return "" if record.oldest_ready_us is None else span(max(0, now_us - record.oldest_ready_us) / SECOND)
