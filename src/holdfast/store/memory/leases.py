"""Who may claim: the leases of workers, once for the whole store and once on every shelf.

The store's own leases (the *roster*) decide who lives. A shelf keeps a copy of the lease of each worker
that has claimed from it, so that a claim is refused in the very step that would have handed out the job:
between a look at the roster and that step, a rescue may have passed. Ended ids are remembered for ever;
that is what makes a late waker find every door shut, and costs one short string per worker start.
"""

import threading

from msgspec.structs import replace

from holdfast.errors import LeaseLost
from holdfast.model.worker import WorkerRecord, WorkerReport
from holdfast.policy.moments import SECOND


class Lease:
    """One worker's lease: it lives until its last beat plus its length has passed."""

    __slots__ = ("beaten_us", "record", "tasks")

    def __init__(self, record: WorkerRecord, beaten_us: int) -> None:
        self.record = record
        self.beaten_us = beaten_us
        self.tasks = frozenset(record.tasks)

    def is_live(self, now_us: int) -> bool:
        return now_us <= self.beaten_us + self.record.lease_us


class Leases:
    """The leases kept in one place, each operation one step under that place's lock."""

    def __init__(self, lock: "threading.RLock") -> None:
        self._lock = lock
        self._open: dict[str, Lease] = {}
        self._ended: set[str] = set()

    def begin(self, record: WorkerRecord, now_us: int) -> None:
        """Begin a lease. An id that was ever seen here is refused."""
        with self._lock:
            if record.id in self._open or record.id in self._ended:
                raise LeaseLost(f"worker {record.id} has enlisted before. Enlist under a new id at every start.")
            self._open[record.id] = Lease(replace(record, started_us=now_us), now_us)

    def require(self, worker: str, now_us: int) -> Lease:
        """Give the worker's live lease, or raise LeaseLost."""
        with self._lock:
            lease = self._open.get(worker)
            if lease is None or not lease.is_live(now_us):
                raise LeaseLost(self._why_refused(worker, now_us))
            return lease

    def admit(self, lease: Lease, now_us: int) -> None:
        """Copy a lease from the roster, or bring the copy up to date. Raises LeaseLost if it ended here."""
        worker = lease.record.id
        with self._lock:
            if worker in self._ended:
                raise LeaseLost(self._why_refused(worker, now_us))
            copy = self._open.setdefault(worker, Lease(lease.record, lease.beaten_us))
            copy.beaten_us = max(copy.beaten_us, lease.beaten_us)

    def renew(self, worker: str, now_us: int, report: WorkerReport | None = None) -> WorkerRecord | None:
        """Renew a live lease; never brings back one that has ended. Give its record, None if there was none."""
        with self._lock:
            lease = self._open.get(worker)
            if lease is None or not lease.is_live(now_us):
                return None
            lease.beaten_us = now_us
            if report is not None:
                lease.record = replace(lease.record, report=report)
            return lease.record

    def dismiss(self, worker: str, now_us: int) -> bool:
        """Note that the worker is to stop. Return whether it holds a live lease."""
        with self._lock:
            lease = self._open.get(worker)
            if lease is None or not lease.is_live(now_us):
                return False
            lease.record = replace(lease.record, is_leaving=True)
            return True

    def end(self, worker: str) -> None:
        """End a lease for ever, if there is one."""
        with self._lock:
            if self._open.pop(worker, None) is not None:
                self._ended.add(worker)

    def end_silent(self, now_us: int) -> list[str]:
        """End the leases that have run out. Return whose they were."""
        with self._lock:
            silent = [worker for worker, lease in self._open.items() if not lease.is_live(now_us)]
            for worker in silent:
                self.end(worker)
            return silent

    def has_ended(self, worker: str) -> bool:
        with self._lock:
            return worker in self._ended

    def open_ids(self) -> list[str]:
        """List the workers that have neither left nor been found dead."""
        with self._lock:
            return list(self._open)

    def live_records(self, now_us: int) -> list[WorkerRecord]:
        """List the workers whose lease lives, by id."""
        with self._lock:
            live = [lease.record for lease in self._open.values() if lease.is_live(now_us)]
        return sorted(live, key=lambda record: record.id)

    def _why_refused(self, worker: str, now_us: int) -> str:
        if worker in self._ended:
            return f"worker {worker} has left or was given up for dead. Enlist under a new id."
        lease = self._open.get(worker)
        if lease is None:
            return f"worker {worker} holds no lease. Enlist before claiming."
        late_s = (now_us - lease.beaten_us - lease.record.lease_us) / SECOND
        return f"worker {worker} fell silent: its lease ended {late_s:.1f} s ago. Enlist under a new id."
