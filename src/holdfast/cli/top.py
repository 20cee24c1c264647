"""`holdfast top`: a store at work, live. Reads only; opens no write transaction and makes no store."""

import signal
import time
from typing import TYPE_CHECKING, Final

import click

from holdfast.cli.documents import Document, job_document, queue_document, running_document, worker_document
from holdfast.cli.ending import TERMINATED
from holdfast.cli.output import console, print_json
from holdfast.cli.rates import Meter, Rates
from holdfast.cli.shared import is_json, shared
from holdfast.cli.snapshot import Lookout, Snapshot
from holdfast.cli.source import opened
from holdfast.cli.times import DURATION, iso, span
from holdfast.cli.top_frame import Picture, frame
from holdfast.errors import InvalidInput
from holdfast.store.protocol import Store

if TYPE_CHECKING:
    from rich.live import Live

    from holdfast.cli.keyboard import Keyboard

_SHORTEST_S: Final = 0.1
_LOOKS_SHARE: Final = 0.1
"""How much of the time looking may take: on a huge store it is done less often."""


@click.command()
@click.option("--every", type=DURATION, default="1s", show_default=True, metavar="TIME", help="How often to look.")
@click.option("--once", is_flag=True, help="Print one picture and end; so it is without a terminal, too.")
@shared
@click.pass_context
def top(ctx: click.Context, every: float, once: bool) -> None:
    """Watch queues, running jobs, failures and workers, live.

    q or Ctrl-C ends it. Rates are those of the last 10 seconds; for one picture (--once, --json, no terminal) the
    store is looked at twice, --every apart. If looking takes long, because the store is huge, it is done less often.

    \b
    Examples:
      holdfast top --url sqlite:///jobs.db
      holdfast top --every 5s
      holdfast top --once --json
    """
    if every < _SHORTEST_S:
        raise InvalidInput(f"expected --every to be {_SHORTEST_S} seconds or more, got: {every:g}")
    with opened() as store:
        screen = console()
        if not once and not is_json() and screen.is_terminal and not screen.is_dumb_terminal:
            ctx.exit(_Top(store, every).run())
        _print_once(store, every)


def pace(every_s: float, took_s: float) -> float:
    """Tell how long after one look the next is due."""
    return max(every_s, took_s / _LOOKS_SHARE)


class _Top:
    """The live view."""

    def __init__(self, store: Store, every_s: float) -> None:
        self._lookout = Lookout(store)
        self._meter = Meter()
        self._where = store.describe().where
        self._every_s = every_s
        self._screen = console()

    def run(self) -> int:
        """Show pictures until told to stop. Return the exit code."""
        from rich.live import Live  # only for commands that draw

        from holdfast.cli.keyboard import Keyboard  # needs a POSIX terminal

        with Keyboard() as keys, Live(console=self._screen, screen=True, auto_refresh=False) as live:
            while not keys.is_told_to_stop:
                self.tick(live, keys)
            keys.hush()
        return TERMINATED if keys.stopped_by == signal.SIGTERM else 0

    def tick(self, live: "Live", keys: "Keyboard") -> None:
        """Look once, and show the picture until it is time for the next."""
        began = time.monotonic()
        snapshot = self._lookout.look()
        pace_s = pace(self._every_s, time.monotonic() - began)
        picture = Picture(snapshot, self._meter.add(snapshot, began), f"{self._where}  every {span(pace_s)}  q quits")
        while not keys.is_told_to_stop:
            live.update(frame(picture, self._screen.height), refresh=True)
            keys.rest(began + pace_s - time.monotonic())
            if time.monotonic() >= began + pace_s:
                return


def _print_once(store: Store, every_s: float) -> None:
    lookout, meter = Lookout(store), Meter()
    meter.add(lookout.look(), time.monotonic())
    time.sleep(every_s)
    snapshot = lookout.look()
    rates = meter.add(snapshot, time.monotonic())
    if is_json():
        print_json(_document(snapshot, rates))
    else:
        console().print(frame(Picture(snapshot, rates, store.describe().where), None))


def _document(snapshot: Snapshot, rates: Rates) -> Document:
    now_us = snapshot.now_us
    return {
        "at": iso(now_us),
        "rates": _rates_document(rates),
        "queues": [queue_document(queue) for queue in snapshot.queues],
        "running": [running_document(job, now_us) for job in snapshot.running],
        "failing": [job_document(job) for job in snapshot.failing],
        "workers": [worker_document(worker.record) for worker in snapshot.workers],
    }


def _rates_document(rates: Rates) -> Document:
    return {
        "over_s": rates.over_s,
        "runs": rates.runs,
        "succeeded": dict(rates.succeeded),
        "failed": dict(rates.failed),
    }
