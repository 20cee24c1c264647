"""`holdfast seen …`: the seen-sets of queues, which keys are in them, and how much room they take."""

import click

from holdfast.cli.documents import seen_document
from holdfast.cli.grid import Row, grid
from holdfast.cli.output import cell, console, print_json, say, size, table
from holdfast.cli.picking import get_queue
from holdfast.cli.seen_clear import clear
from holdfast.cli.seen_keys import add, forget, has
from holdfast.cli.shared import is_json, shared
from holdfast.cli.source import opened
from holdfast.model.seen import SeenRecord
from holdfast.policy.seen import told


@click.group()
@shared
def seen() -> None:
    """Look at the keys seen in a queue; add, forget or clear them.

    A job that was enqueued with once=True is stored only if its key was not seen in its queue.

    \b
    Examples:
      holdfast seen list
      holdfast seen has crawl https://a.example/
      holdfast seen add crawl - < urls.txt
    """


@seen.command("list")
@shared
def list_() -> None:
    """List the queues whose seen-set holds a key or has a shape.

    \b
    Examples:
      holdfast seen list
      holdfast seen list --json
    """
    with opened() as store:
        records = [told(store.seen.get(name)) for name in store.queues.names()]
    records = [record for record in records if record.count or record.sketch is not None]
    if is_json():
        print_json([seen_document(record) for record in records])
    elif records:
        console().print(grid([_row(record) for record in records], right=("keys", "at most"), spare=("at most",)))
    else:
        say("no key was seen in any queue: once=True and `holdfast seen add` mark them")


@seen.command()
@click.argument("queue")
@shared
def show(queue: str) -> None:
    """Show the seen-set of one queue.

    \b
    Examples:
      holdfast seen show crawl
      holdfast seen show crawl --json
    """
    with opened() as store:
        get_queue(store, queue)
        record = told(store.seen.get(queue))
    print_json(seen_document(record)) if is_json() else _draw(record)


for command in (has, add, forget, clear):
    seen.add_command(command)


def _row(record: SeenRecord) -> Row:
    return {
        "queue": cell(record.queue),
        "keys": cell(f"{record.count:,}"),
        "is": cell(_kind(record)),
        "takes": cell(_room(record)),
        "errs now": cell(_often(record.error_now)),
        "at most": cell(None if record.sketch is None else f"{record.sketch.capacity:,}"),
    }


def _draw(record: SeenRecord) -> None:
    drawn = table("queue", record.queue, whole=("queue",))
    drawn.add_row("keys", cell(f"{record.count:,}"))
    drawn.add_row("is", cell(_kind(record)))
    if record.sketch is not None:
        drawn.add_row("made for", cell(f"{record.sketch.capacity:,} keys"))
        drawn.add_row("errs then", cell(_often(record.sketch.error)))
        drawn.add_row("errs now", cell(_often(record.error_now)))
        drawn.add_row("takes", cell(_room(record)))
    console().print(drawn)


def _kind(record: SeenRecord) -> str:
    return "exact" if record.sketch is None else "approximate"


def _room(record: SeenRecord) -> str:
    return "" if record.most_bytes is None else f"up to {size(record.most_bytes)}"


def _often(error: float | None) -> str:
    """Give how often a new key is taken for one that was seen: `1 in 1,000`."""
    if error is None:
        return ""
    return "never" if error < 1e-12 else f"{error:.1%}" if error > 0.1 else f"1 in {round(1 / error):,}"
