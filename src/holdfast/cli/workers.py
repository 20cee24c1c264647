"""`holdfast workers` and `holdfast workers drain`: see who works, and let workers go."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import click

from holdfast.cli.documents import Document, running_document, worker_document
from holdfast.cli.drain import drain
from holdfast.cli.output import console, plural, print_json, say, size
from holdfast.cli.progress import how_far
from holdfast.cli.shared import is_json, shared
from holdfast.cli.source import opened
from holdfast.cli.staff import Worker, running_jobs, staff
from holdfast.cli.times import span
from holdfast.model.job import JobRecord
from holdfast.policy.moments import SECOND
from holdfast.run.evidence import visible

if TYPE_CHECKING:
    from rich.text import Text

_SHOWN: Final = 20
"""How many running jobs of one worker a person is shown."""


@click.group(invoke_without_command=True)
@shared
@click.pass_context
def workers(ctx: click.Context) -> None:
    """List the live workers, with their processes and the jobs they run.

    What a worker says of its processes (memory, runs ended) is as old as its last beat: a few seconds.
    `holdfast workers drain` lets workers finish what they run, and go.

    \b
    Examples:
      holdfast workers
      holdfast workers --json
      holdfast workers drain web-3-412 --wait
    """
    if ctx.invoked_subcommand is not None:
        return
    with opened() as store:
        found = staff(store.inspector.workers(), running_jobs(store))
        now_us = store.now()
    if is_json():
        print_json([_document(worker, now_us) for worker in found])
    elif found:
        _draw(found, now_us)
    else:
        say("no worker is live; start one with: holdfast worker MODULE:APP")


workers.add_command(drain)


def _document(worker: Worker, now_us: int) -> Document:
    running = [running_document(job, now_us) | {"child": _child(worker, job)} for job in worker.running]
    return worker_document(worker.record) | {"running": running}


def _child(worker: Worker, job: JobRecord) -> int | None:
    child = worker.child_of(job.id)
    return None if child is None else child.pid


def _draw(found: list[Worker], now_us: int) -> None:
    screen = console()
    for place, worker in enumerate(found):
        if place:
            screen.print()
        for line in _lines(worker, now_us):
            screen.print(line, no_wrap=True, overflow="ellipsis", crop=True)


def _lines(worker: Worker, now_us: int) -> "Iterator[Text]":
    from rich.text import Text  # only for commands that draw

    record = worker.record
    yield Text.assemble((visible(record.id), "bold"), ("  is leaving", "yellow") if record.is_leaving else "")
    since = span(max(0, now_us - record.started_us) / SECOND)
    serves = ", ".join(record.queues) or "all queues"
    yield Text(visible(f"  on {record.host}, pid {record.pid}, for {since}, serves {serves}"))
    for child in worker.children:
        ended = plural(child.runs, "run")
        yield Text(f"  child {child.pid}: {size(child.rss_bytes)}, {ended} ended, {len(child.running)} running")
    for job in worker.running[:_SHOWN]:
        yield _job_line(worker, job, now_us)
    if len(worker.running) > _SHOWN:
        yield Text(f"  … and {plural(len(worker.running) - _SHOWN, 'running job')} more: see --json", style="dim")


def _job_line(worker: Worker, job: JobRecord, now_us: int) -> "Text":
    from rich.text import Text  # only for commands that draw

    since = span(max(0, now_us - (job.claimed_us or now_us)) / SECOND)
    child = _child(worker, job)
    where = f" in {child}" if child else ""
    asked = "  (asked to cancel)" if job.cancel_asked else ""
    facts = visible(f"  for {since}{where}  {how_far(job)}{asked}").rstrip()
    return Text.assemble("  runs ", (visible(job.task), "cyan"), visible(f" {job.id}"), facts)
