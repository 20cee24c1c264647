"""One look at a whole store, for `holdfast top`: cheap enough to be repeated, and it writes nothing.

What a look costs is measured in docs/how-to/watch-progress.md. The counts of the queues are read from indexes; running
jobs only if the counts say that there are any; failed ones only if their number has changed since the last look. No look
holds a lock that a worker waits for.
"""

from typing import Final

import msgspec

from holdfast.cli.staff import Worker, running_jobs, staff
from holdfast.model.job import JobRecord
from holdfast.model.query import Query
from holdfast.model.queue import QueueRecord
from holdfast.policy.moments import SECOND
from holdfast.store.protocol import Store

_LATELY_US: Final = 3600 * SECOND
_MOST_FAILED: Final = 100


class Snapshot(msgspec.Struct, frozen=True):
    """A store at one moment. `running` are the longest first, `failing` the latest failures first."""

    now_us: int
    queues: tuple[QueueRecord, ...]
    running: tuple[JobRecord, ...]
    failing: tuple[JobRecord, ...]
    workers: tuple[Worker, ...]

    def count(self, state: str) -> int:
        return sum(queue.counts.get(state, 0) for queue in self.queues)


class Lookout:
    """Looks at a store again and again, and remembers what need not be read anew."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._failed = -1
        self._failing: tuple[JobRecord, ...] = ()

    def look(self) -> Snapshot:
        """Look once."""
        store, now_us = self._store, self._store.now()
        queues = tuple(record for name in store.queues.names() if (record := store.queues.get(name)))
        is_any_running = any(queue.counts.get("running") for queue in queues)
        running = running_jobs(store) if is_any_running else []
        self._look_at_failures(sum(queue.counts.get("failed", 0) for queue in queues), now_us)
        workers = tuple(staff(store.inspector.workers(), running))
        lately = tuple(job for job in self._failing if (job.finished_us or 0) >= now_us - _LATELY_US)
        return Snapshot(now_us, queues, tuple(running), lately, workers)

    def _look_at_failures(self, failed: int, now_us: int) -> None:
        if failed == self._failed:
            return
        self._failed = failed
        since = Query(states=("failed",), since_us=now_us - _LATELY_US, limit=_MOST_FAILED)
        found = self._store.inspector.find(since) if failed else []
        self._failing = tuple(sorted(found, key=lambda job: job.finished_us or 0, reverse=True))
