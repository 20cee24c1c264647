"""The door for readers. Nothing here changes a job."""

from collections.abc import Iterator, Sequence
from heapq import merge
from itertools import islice

from holdfast.model.finding import Finding
from holdfast.model.job import JobRecord
from holdfast.model.query import Query
from holdfast.model.run import Run
from holdfast.model.states import FINAL, seen_as
from holdfast.model.worker import WorkerRecord
from holdfast.store.memory.entry import Entry, recorded
from holdfast.store.memory.rack import Rack
from holdfast.store.memory.shelf import Shelf


class MemoryInspector:
    """Reading for people and tools; see `protocol.Inspector`."""

    def __init__(self, rack: Rack) -> None:
        self._rack = rack

    def get(self, job_id: str, now_us: int | None = None) -> JobRecord | None:
        with self._rack.step():
            shelf = self._rack.shelf_of(job_id)
            if shelf is None:
                return None
            with self._rack.hold(shelf, now_us) as now:
                entry = shelf.entries.get(job_id)
                return recorded(entry, now) if entry else None

    def find(self, query: Query, now_us: int | None = None) -> list[JobRecord]:
        with self._rack.step():
            before = self._place(query.after)
            pages = [self._page(shelf, query, before, now_us) for shelf in self._shelves(query)]
            newest_first = merge(*pages, key=lambda pair: -pair[0])
            return [record for _, record in islice(newest_first, max(query.limit, 0))]

    def count(self, query: Query, now_us: int | None = None) -> int:
        total = 0
        with self._rack.step():
            for shelf in self._shelves(query):
                with self._rack.hold(shelf, now_us) as now:
                    total += sum(1 for _ in _matching(shelf, query, now))
        return total

    def history(self, job_id: str) -> list[Run]:
        with self._rack.step():
            shelf = self._rack.shelf_of(job_id)
            if shelf is None:
                return []
            with shelf.lock:
                entry = shelf.entries.get(job_id)
                return list(entry.runs) if entry else []

    def next_due(self, queues: Sequence[str] | None = None) -> int | None:
        dues: list[int] = []
        with self._rack.step():
            for shelf in self._rack.shelves(queues):
                with shelf.lock:
                    head = shelf.scheduled.peek()
                    if not shelf.is_paused:
                        dues += [head[0][0]] if head else []
                        dues += shelf.ready_dues()
        return min(dues, default=None)

    def watch(self, ids: Sequence[str], timeout_s: float) -> list[str]:
        self._rack.check_open()
        over: list[str] = []

        def look() -> float | None:
            over[:] = [job_id for job_id in ids if self._is_over(job_id)]
            return 0 if over else None

        self._rack.bell.sleep(look, timeout_s, is_watcher=True)
        return over

    def examine(self) -> list[Finding]:
        return [Finding("ok", "memory", "this process's own; gone when it ends")]

    def workers(self, now_us: int | None = None) -> list[WorkerRecord]:
        with self._rack.step():
            return self._rack.roster.live_records(self._rack.moment(now_us))

    def _shelves(self, query: Query) -> list[Shelf]:
        return self._rack.shelves(None if query.queue is None else [query.queue])

    def _page(self, shelf: Shelf, query: Query, before: float, now_us: int | None) -> list[tuple[int, JobRecord]]:
        """Give as many of the shelf's newest jobs as could be needed, each with its arrival number."""
        with self._rack.hold(shelf, now_us) as now:
            found = (entry for entry in _matching(shelf, query, now) if entry.seq < before)
            return [(entry.seq, recorded(entry, now)) for entry in islice(found, max(query.limit, 0))]

    def _place(self, after: str | None) -> float:
        """Give the arrival number to continue below. Behind a job that is gone there is nothing."""
        if after is None:
            return float("inf")
        shelf = self._rack.shelf_of(after)
        if shelf is None:
            return 0
        with shelf.lock:
            entry = shelf.entries.get(after)
            return entry.seq if entry else 0

    def _is_over(self, job_id: str) -> bool:
        shelf = self._rack.shelf_of(job_id)
        if shelf is None:
            return True
        with shelf.lock:
            entry = shelf.entries.get(job_id)
            return entry is None or entry.state in FINAL


def _matching(shelf: Shelf, query: Query, now_us: int) -> Iterator[Entry]:
    """Give the shelf's jobs that the query asks for, newest first. A tag is looked up, not searched for."""
    candidates = shelf.entries if query.tag is None else shelf.tagged.get(query.tag, {})
    return (entry for entry in reversed(candidates.values()) if _is_match(entry, query, now_us))


def _is_match(entry: Entry, query: Query, now_us: int) -> bool:
    if query.states and seen_as(entry.state, entry.due_us, now_us) not in query.states:
        return False
    if query.task is not None and entry.new.task != query.task:
        return False
    if query.key is not None and entry.new.key != query.key:
        return False
    if query.lane is not None and entry.lane != query.lane:
        return False
    if query.since_us is None:
        return True
    since = entry.created_us if entry.finished_us is None else entry.finished_us
    return since >= query.since_us
