"""`holdfast demo`: thousands of jobs, a worker, a kill -9, and a count that must come out right.

    enqueue    a few thousand jobs of six kinds, in a SQLite file in a temporary folder
    work       a real worker, in processes of its own
    kill       when half is done, its supervisor gets SIGKILL: nothing is tidied up, its children die with it
    work       a second worker; it finds the first one's lease free and takes its jobs back
    count      by the lines that jobs wrote, and by the store: both must agree with what was enqueued

It ends by itself: after the deadline it stops and counts what there is, which is then too little, and says so.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

from holdfast.cli.ending import tidy_when_told_to_stop
from holdfast.cli.output import print_json
from holdfast.cli.shared import is_json, shared
from holdfast.errors import HoldfastError
from holdfast.model.query import Query
from holdfast.store.protocol import Store

if TYPE_CHECKING:
    from holdfast.cli.demo_report import Report
    from holdfast.cli.demo_screen import Screen
    from holdfast.cli.demo_tally import Tally
    from holdfast.cli.demo_worker import DemoWorker

DEADLINE_S: Final = 32.0
_LOOK_S: Final = 0.05


@click.command()
@shared
def demo() -> None:
    """See it work: thousands of jobs, a kill -9, and nothing lost. Takes about 15 seconds.

    \b
    Examples:
      holdfast demo
      holdfast demo --json
    """
    from holdfast.cli.demo_report import draw  # the demo's parts load the app

    with tidy_when_told_to_stop(), tempfile.TemporaryDirectory(prefix="holdfast-demo-") as folder:
        counted = _perform(Path(folder))
    if is_json():
        print_json(msgspec.to_builtins(counted) | {"lost": counted.lost, "problems": counted.problems})
    else:
        draw(counted)
    if counted.problems:
        raise HoldfastError(f"the count is wrong: {'; '.join(counted.problems)}. Please report this")
    if not is_json():
        click.secho("enqueued = finished, lost 0", fg="green", bold=True)


def _perform(folder: Path) -> "Report":
    from holdfast.cli.demo_report import report
    from holdfast.cli.demo_screen import screen
    from holdfast.cli.demo_tally import Tally
    from holdfast.cli.demo_tasks import app
    from holdfast.cli.demo_worker import store_in

    tally = Tally(folder / "lines")
    with app.override(url=store_in(folder)), screen(quiet=is_json()) as shown:
        enqueued = _enqueue(app, shown)
        began = time.monotonic()
        _work(app.store, folder, tally, shown)
        took_s = time.monotonic() - began
        tally.close()
        return report(app.store, enqueued, tally.lines, took_s)


def _enqueue(app: Any, shown: "Screen") -> set[str]:
    from holdfast.cli.demo_plan import calls

    began = time.monotonic()
    jobs = app.enqueue_many(calls())
    shown.tell(
        f"enqueued {len(jobs):,} jobs in {time.monotonic() - began:.2f} s, on SQLite, every commit synced to disk"
    )
    return {job.id for job in jobs}


def _work(store: Store, folder: Path, tally: "Tally", shown: "Screen") -> None:
    from holdfast.cli.demo_plan import TOTAL
    from holdfast.cli.demo_worker import PROCESSES, DemoWorker

    def is_all_done() -> bool:
        # What the killed worker did and could not write down has its line already, and is yet to be done again.
        return tally.finished >= TOTAL and store.inspector.count(Query(states=("succeeded",))) >= TOTAL

    until = time.monotonic() + DEADLINE_S
    worker = DemoWorker(folder)
    try:
        shown.tell(f"started a worker with {PROCESSES} processes (supervisor {worker.pid})")
        _watch(worker, tally, shown, is_enough=lambda: tally.finished >= TOTAL // 2, until=until)
        worker.kill()
        shown.tell(f"half is done: kill -9 {worker.pid}")
        worker = DemoWorker(folder)
        shown.tell(f"started another worker (supervisor {worker.pid}); it takes back what the first one held")
        _watch(worker, tally, shown, is_enough=is_all_done, until=until)
    finally:
        worker.stop()
    tally.update()


def _watch(
    worker: "DemoWorker", tally: "Tally", shown: "Screen", *, is_enough: Callable[[], bool], until: float
) -> None:
    """Look on until enough is done, or the time is over."""
    while not is_enough() and time.monotonic() < until:
        time.sleep(_LOOK_S)
        worker.check()
        tally.update()
        shown.show(tally.by_kind)
