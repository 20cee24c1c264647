"""`holdfast queue lanes`: what the lanes of a queue hold, and how they stand."""

import click

from holdfast.cli.documents import lane_document
from holdfast.cli.grid import grid
from holdfast.cli.output import cell, console, print_json, say
from holdfast.cli.picking import get_queue
from holdfast.cli.shared import is_json, shared
from holdfast.cli.source import opened
from holdfast.cli.standings import standing_cell
from holdfast.model.queue import LaneRecord


@click.command()
@click.argument("name")
@click.option("--held", is_flag=True, help="Only those that are held back.")
@shared
def lanes(name: str, held: bool) -> None:
    """List the lanes of a queue that hold ready or running jobs, or are held back.

    Jobs without a lane are a lane too, the one without a name.

    \b
    Examples:
      holdfast queue lanes crawl
      holdfast queue lanes crawl --held --json
    """
    with opened() as store:
        get_queue(store, name)
        found, now_us = store.queues.lanes(name), store.now()
    found = [lane for lane in found if lane.standing != "open"] if held else found
    if is_json():
        print_json([lane_document(lane) for lane in found])
    elif found:
        _draw(found, now_us)
    else:
        say(f"no lane of queue {name} {'is held back' if held else 'holds a ready or running job'}")


def _draw(found: list[LaneRecord], now_us: int) -> None:
    rows = [
        {
            "lane": cell(lane.name),
            "is": standing_cell(lane, now_us),
            "ready": cell(f"{lane.ready:,}" if lane.ready else None),
            "running": cell(f"{lane.running:,}" if lane.running else None),
        }
        for lane in found
    ]
    console().print(grid(rows, right=("ready", "running"), spare=("running", "ready")))
