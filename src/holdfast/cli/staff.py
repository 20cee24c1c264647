"""Who works on a store just now: the live workers, and the jobs each of them holds."""

from collections import defaultdict
from typing import Final

import msgspec

from holdfast.errors import InvalidInput
from holdfast.model.job import JobRecord
from holdfast.model.query import Query
from holdfast.model.worker import ChildReport, WorkerRecord
from holdfast.store.protocol import Store

MOST_RUNNING: Final = 1000
"""How many running jobs are looked at, the newest: more than this nobody reads."""


class Worker(msgspec.Struct, frozen=True):
    """A live worker and the jobs it holds, longest first.

    What a worker says of its children comes with its beats, every few seconds; which jobs are running is read from the
    store. So a job that was claimed since the last beat belongs to no child yet.
    """

    record: WorkerRecord
    running: tuple[JobRecord, ...]

    @property
    def children(self) -> tuple[ChildReport, ...]:
        return () if self.record.report is None else self.record.report.children

    @property
    def rss_bytes(self) -> int:
        """The memory of its children; 0 if it has told of none."""
        return sum(child.rss_bytes for child in self.children)

    def child_of(self, job_id: str) -> ChildReport | None:
        return next((child for child in self.children if job_id in child.running), None)


def running_jobs(store: Store) -> list[JobRecord]:
    """List the jobs that run, longest first."""
    found = store.inspector.find(Query(states=("running",), limit=MOST_RUNNING))
    return sorted(found, key=lambda job: job.claimed_us or 0)


def staff(live: list[WorkerRecord], running: list[JobRecord]) -> list[Worker]:
    """Put workers and running jobs together, the oldest worker first."""
    held: defaultdict[str | None, list[JobRecord]] = defaultdict(list)
    for job in running:
        held[job.worker].append(job)
    return [Worker(record, tuple(held[record.id])) for record in sorted(live, key=lambda record: record.started_us)]


def find_workers(live: list[WorkerRecord], parts: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Give the ids of the workers that are meant, and the words that fit none. One that fits several is refused."""
    found: dict[str, None] = {}
    unknown: list[str] = []
    for part in dict.fromkeys(parts):
        alike = _alike([record.id for record in live], part)
        if len(alike) > 1:
            shown = ", ".join(alike[:3]) + (" …" if len(alike) > 3 else "")
            raise InvalidInput(f"{part} fits {len(alike)} workers: {shown}; give more of it")
        found |= dict.fromkeys(alike)
        unknown += [] if alike else [part]
    return list(found), unknown


def _alike(ids: list[str], part: str) -> list[str]:
    if part in ids or not part:
        return [part] if part else []
    return [worker for worker in ids if worker.startswith(part) or worker.endswith(part)]
