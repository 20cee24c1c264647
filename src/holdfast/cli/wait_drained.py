"""`holdfast queue wait`: until a queue or a lane is drained, as a shell script wants to know it."""

import click

from holdfast.app.draining import Stretch, wait_drained
from holdfast.cli.ending import tidy_when_told_to_stop
from holdfast.cli.output import print_json, say
from holdfast.cli.picking import get_queue
from holdfast.cli.shared import is_json, shared
from holdfast.cli.source import opened
from holdfast.cli.times import DURATION, span
from holdfast.cli.wait import TimeOver
from holdfast.policy.holding import scope


@click.command("wait")
@click.argument("name")
@click.option("--lane", metavar="LANE", help="Only this lane; '' is that of the jobs without one.")
@click.option("--timeout", type=DURATION, metavar="TIME", help="Wait no longer than this: 90, 5m. Default: for ever.")
@shared
def wait_for_queue(name: str, lane: str | None, timeout: float | None) -> None:
    """Wait until a queue, or one lane of it, is drained.

    That is when no job of it is ready, scheduled, running, waiting or spilled; parked jobs are not waited for.
    Exit codes: 0 it is drained, 124 the time is over.

    \b
    Examples:
      holdfast queue wait crawl && echo done
      holdfast queue wait crawl --lane example.com --timeout 10m
    """
    with opened() as store, tidy_when_told_to_stop():
        get_queue(store, name)
        is_drained = wait_drained(store, Stretch.of(name, lane), timeout)
    what = scope(name, lane)
    if is_json():
        print_json({"queue": name, "lane": lane, "is_drained": is_drained})
    elif is_drained:
        say(f"{what} is drained")
    if not is_drained:
        raise TimeOver(f"{what} is not drained after {span(timeout or 0)}")
