"""The entry point: `holdfast`, and the list of its commands."""

import io
import sys

import click

from holdfast import __version__
from holdfast.cli.cancel import cancel
from holdfast.cli.demo import demo
from holdfast.cli.doctor import doctor
from holdfast.cli.enqueue import enqueue
from holdfast.cli.front import Front
from holdfast.cli.health import health
from holdfast.cli.jobs import jobs
from holdfast.cli.migrate import migrate
from holdfast.cli.queues import queue, queues
from holdfast.cli.result import result
from holdfast.cli.retry import retry
from holdfast.cli.seen import seen
from holdfast.cli.shared import shared
from holdfast.cli.show import show
from holdfast.cli.top import top
from holdfast.cli.unpark import unpark
from holdfast.cli.wait import wait
from holdfast.cli.why import why
from holdfast.cli.worker import worker
from holdfast.cli.workers import workers


@click.group(cls=Front, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="holdfast", message="%(prog)s %(version)s")
@shared
def holdfast() -> None:
    """Holdfast: a job queue. One file to start, one URL to grow, no job lost.

    The store is named by --url, --app, $HOLDFAST_URL or $HOLDFAST_APP, the first of them that is given. Options of
    all commands may stand before or behind the command. Exit codes: 0 done, 1 not done (why is on standard error),
    2 not understood; `worker` has 3 besides, `wait` 124.

    \b
    Examples:
      holdfast worker shop.tasks:app --processes 4
      holdfast --url sqlite:///jobs.db jobs --state failed
    """


_COMMANDS = (
    worker, workers, top, enqueue, jobs, show, why, wait, result, cancel, retry, queues, queue, seen, unpark, migrate,
    doctor, health, demo,
)  # fmt: skip
for command in _COMMANDS:
    holdfast.add_command(command)


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that knows no “–” must not end a command
    holdfast()
