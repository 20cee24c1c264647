"""`holdfast queue pause` and `holdfast queue resume`: hold a queue or a lane, and let it go."""

import click

from holdfast.cli.output import print_json, say
from holdfast.cli.picking import get_queue
from holdfast.cli.shared import is_json, shared
from holdfast.cli.source import opened
from holdfast.policy.holding import scope

_lane_option = click.option("--lane", metavar="LANE", help="Only this lane; '' is that of the jobs without one.")


@click.command()
@click.argument("name")
@_lane_option
@shared
def pause(name: str, lane: str | None) -> None:
    """Hand out no job of this queue, or of one lane, until it is resumed; what runs, runs on.

    \b
    Examples:
      holdfast queue pause mail
      holdfast queue pause crawl --lane example.com --json
    """
    with opened() as store:
        get_queue(store, name)
        changed = store.queues.pause(name, lane)
    what = scope(name, lane)
    said = f"{what} is paused" if changed else f"{what} was paused already; nothing changed"
    _report(name, lane, True, changed, said)


@click.command()
@click.argument("name")
@_lane_option
@shared
def resume(name: str, lane: str | None) -> None:
    """Hand out the jobs of this queue, or of one lane, again.

    That ends a pause, and whatever a breaker or a task's RateLimited holds against it. Its limits stay; so do the
    pauses and breakers of its lanes, unless one is named.

    \b
    Examples:
      holdfast queue resume mail
      holdfast queue resume crawl --lane example.com --json
    """
    with opened() as store:
        get_queue(store, name)
        changed = store.queues.resume(name, lane)
    what = scope(name, lane)
    said = f"{what} is resumed" if changed else f"{what} is not paused or broken; nothing changed"
    _report(name, lane, False, changed, said)


def _report(name: str, lane: str | None, is_paused: bool, changed: bool, said: str) -> None:
    if is_json():
        print_json({"queue": name, "lane": lane, "is_paused": is_paused, "changed": changed})
    else:
        say(said)
