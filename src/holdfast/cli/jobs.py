"""`holdfast jobs`: find jobs, newest first."""

from typing import Any

import click

from holdfast.cli.documents import job_document
from holdfast.cli.grid import Row, grid
from holdfast.cli.output import cell, console, plural, print_json
from holdfast.cli.picking import Wanted, filters, get_job
from holdfast.cli.shared import is_json, shared
from holdfast.cli.source import opened
from holdfast.cli.times import relative
from holdfast.model.job import JobRecord
from holdfast.policy.moments import SECOND
from holdfast.run.evidence import visible


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
      holdfast jobs --queue crawl --lane example.com --state ready
    """
    wanted = Wanted(**chosen)
    with opened() as store:
        query = wanted.query(
            store, limit + 1, after and get_job(store, after).id
        )  # one more, to know if there are more
        found, total, now_us = store.inspector.find(query), store.inspector.count(query), store.now()
    shown, is_more = found[:limit], len(found) > limit
    if is_json():
        print_json([job_document(job) for job in shown])
    else:
        _draw(shown, now_us, _summary(shown, total, is_more))


def _draw(found: list[JobRecord], now_us: int, summary: str) -> None:
    screen = console()
    if found:
        rows = [_row(job, now_us) for job in found]
        screen.print(grid(rows, right=("prio", "tries"), spare=("prio", "tries", "queue", "why"), soft="why"))
    screen.print(summary, soft_wrap=True)


def _row(job: JobRecord, now_us: int) -> Row:
    return {
        "job": cell(job.id),
        "state": cell(job.state),
        "task": cell(job.task),
        "queue": cell(job.queue),
        "prio": cell(job.priority or None),
        "tries": cell(job.failures + job.crashes or None),
        "when": cell(_when(job, now_us)),
        "why": cell(_why(job), is_one_line=True),
    }


def _summary(shown: list[JobRecord], total: int, is_more: bool) -> str:
    counted = plural(total) if len(shown) == total else f"{len(shown):,} of {plural(total)}"
    return visible(f"{counted}; more with --after {shown[-1].id}") if is_more else counted


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
