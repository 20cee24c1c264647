"""`holdfast jobs`: find jobs, newest first."""

from typing import Any

import click

from holdfast.cli.documents import job_document
from holdfast.cli.output import cell, console, plural, print_json, table
from holdfast.cli.picking import Wanted, filters
from holdfast.cli.shared import is_json, shared
from holdfast.cli.source import opened
from holdfast.cli.times import relative
from holdfast.model.job import JobRecord
from holdfast.policy.moments import SECOND


@click.command()
@filters
@click.option("--limit", type=click.IntRange(1, 10_000), default=20, show_default=True, help="Show at most so many.")
@click.option("--after", metavar="JOB", help="Continue behind this job, the last one of the page before.")
@shared
def jobs(limit: int, after: str | None, **chosen: Any) -> None:
    """List jobs, newest first, and count them.

    \b
    Examples:
      holdfast jobs --state failed --since 1h
      holdfast jobs --queue mail --tag order:17 --limit 100
    """
    wanted = Wanted(**chosen)
    with opened() as store:
        query = wanted.query(store, limit, after)
        found, total, now_us = store.inspector.find(query), store.inspector.count(query), store.now()
    if is_json():
        print_json([job_document(job) for job in found])
    else:
        _draw(found, total, now_us, is_continued=after is not None)


def _draw(found: list[JobRecord], total: int, now_us: int, *, is_continued: bool) -> None:
    drawn = table(
        "job", "state", "task", "queue", "prio", "tries", "when", "why", right=("prio", "tries"), whole=("job",)
    )
    for job in found:
        tries = job.failures + job.crashes
        cells = (job.id, job.state, job.task, job.queue, job.priority or None, tries or None, _when(job, now_us))
        drawn.add_row(*map(cell, cells), cell(_why(job)))
    screen = console()
    if found:
        screen.print(drawn)
    screen.print(_summary(found, total, is_continued))


def _summary(found: list[JobRecord], total: int, is_continued: bool) -> str:
    if len(found) == total or not found:
        return plural(total)
    more = f"more with --after {found[-1].id}"
    return f"{len(found):,} of {plural(total)}; {more}" if not is_continued else f"{plural(total)} in all; {more}"


def _when(job: JobRecord, now_us: int) -> str:
    if job.state == "scheduled":
        return relative(job.due_us, now_us)
    if job.state == "running" and job.claimed_us is not None:
        return f"for {(now_us - job.claimed_us) / SECOND:.0f} s"
    return relative(job.finished_us or job.created_us, now_us)


def _why(job: JobRecord) -> str:
    """Give the first line of the error, cut to what a table can hold."""
    text = (job.error or job.reason or "").strip()
    line = text.splitlines()[0] if text else ""
    return line if len(line) <= 60 else f"{line[:59]}…"
