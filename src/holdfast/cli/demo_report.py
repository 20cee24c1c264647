"""The end of the demo: what was enqueued against what was done, by two independent witnesses.

The lines that tasks wrote say what was done. The store says what it believes. The demo passes if both agree with what was
enqueued: nothing lost, nothing that was never enqueued, and no job did its work twice unless it was in the killed worker's
hands, which the store has charged to it as a crash.
"""

from collections import Counter
from typing import Any, Final

import msgspec

from holdfast.cli.demo_plan import KINDS, TOTAL
from holdfast.cli.output import cell, console, plural, table
from holdfast.model.job import JobRecord
from holdfast.model.query import Query
from holdfast.store.protocol import Store

_PAGE: Final = 1000


class Report(msgspec.Struct, frozen=True):
    """The count. `twice` are jobs that did their work more than once, `held` those the killed worker had."""

    enqueued: dict[str, int]
    finished: dict[str, int]
    succeeded: int
    twice: dict[str, int]
    held: int
    unexplained: int
    """Jobs that did their work twice without having been in the killed worker's hands."""
    strangers: int
    """Jobs that did something and were never enqueued."""
    runs: int
    took_s: float

    @property
    def lost(self) -> int:
        return TOTAL - sum(self.finished.values())

    @property
    def problems(self) -> list[str]:
        """Say what is wrong; empty if the promises were kept."""
        checks = {
            f"{plural(self.lost)} lost": self.lost,
            f"the store tells of {self.succeeded:,} succeeded jobs, not {TOTAL:,}": self.succeeded != TOTAL,
            f"{plural(self.unexplained)} ran twice though no worker died on them": self.unexplained,
            f"{plural(self.strangers)} ran that nobody had enqueued": self.strangers,
        }
        return [text for text, is_wrong in checks.items() if is_wrong]


def report(store: Store, enqueued: set[str], lines: Counter[str], took_s: float) -> Report:
    """Count, by the lines and by the store."""
    jobs = _all_jobs(store)
    kinds = {job.id: job.task.removeprefix("demo.") for job in jobs}
    again = {job_id for job_id, number in lines.items() if number > 1}
    held = {job.id for job in jobs if job.crashes}
    return Report(
        enqueued=dict(KINDS),
        finished=dict(Counter(kinds[job_id] for job_id in lines if job_id in enqueued and job_id in kinds)),
        succeeded=sum(job.state == "succeeded" for job in jobs),
        twice=dict(Counter(kinds.get(job_id, "?") for job_id in again)),
        held=len(held),
        unexplained=len(again - held),
        strangers=len(set(lines) - enqueued),
        runs=sum(job.deliveries for job in jobs),
        took_s=took_s,
    )


def _all_jobs(store: Store) -> list[JobRecord]:
    jobs: list[JobRecord] = []
    while page := store.inspector.find(Query(limit=_PAGE, after=jobs[-1].id if jobs else None)):
        jobs += page
    return jobs


def draw(counted: Report) -> None:
    """Show the count, and what it means."""
    numbers = ("enqueued", "finished", "lost", "twice")
    drawn = table("kind", *numbers, right=numbers)
    for kind, number in counted.enqueued.items():
        done = counted.finished.get(kind, 0)
        drawn.add_row(kind, *_cells(number, done, counted.twice.get(kind, 0)))
    drawn.add_section()
    drawn.add_row("all", *_cells(TOTAL, TOTAL - counted.lost, sum(counted.twice.values())), style="bold")
    screen = console()
    screen.print(drawn)
    for line in _sentences(counted):
        screen.print(line)


def _cells(enqueued: int, finished: int, twice: int) -> list[Any]:
    lost = enqueued - finished
    return [
        cell(f"{enqueued:,}"),
        cell(f"{finished:,}", "green" if not lost else "red"),
        cell(f"{lost:,}", "green" if not lost else "bold red"),
        cell(f"{twice:,}", "yellow" if twice else ""),
    ]


def _sentences(counted: Report) -> list[str]:
    twice = sum(counted.twice.values())
    again = (
        f"{twice:,} of them had been done already and ran again, because the kill came before the success was written "
        "down. At least once, never lost: that is the promise."
    )
    return [
        f"The killed worker held {plural(counted.held)}; {again if twice else 'they were run by the second one.'}",
        f"{TOTAL / counted.took_s:,.0f} jobs a second over {counted.took_s:.1f} s ({counted.runs:,} runs, on two processes, "
        "with two worker starts, the kill, sleeping jobs and delayed ones in it). `make bench` measures speed.",
    ]
