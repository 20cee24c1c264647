"""All shelves, and the rule for their locks.

Whole: there is one lock. Every shelf, the roster, the directory and the bell share it, and an operation
holds it from its first look to its last change: a batch is one step, whatever queues it touches.

Split: every shelf has its own lock, and so have the roster, the directory and the bell. A batch is one step
per queue, in the order given. No two shelves' locks are ever held at once; under a shelf's lock only the
three small ones are taken, and under those nothing. What works here works where queues live on different
machines (Redis Cluster), which is what the split store is for.

The code is the same for both: `step()` holds the one lock or nothing, `shelf.lock` is that lock again or
its own.
"""

import itertools
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from holdfast.errors import StoreClosed
from holdfast.model.job import NewJob
from holdfast.model.states import State
from holdfast.store.memory.bell import Bell
from holdfast.store.memory.entry import Entry, admit
from holdfast.store.memory.leases import Leases
from holdfast.store.memory.shelf import Shelf
from holdfast.store.protocol import Clock


class Rack:
    """The shelves by queue, the queue of every job id, the roster of workers, the clock and the bell."""

    def __init__(self, clock: Clock | None, *, is_split: bool) -> None:
        self.is_split = is_split
        self.now = clock or wall_clock
        self._whole = threading.RLock()
        self.bell = Bell(self._new_lock())
        self.roster = Leases(self._new_lock())
        self._directory_lock = self._new_lock()
        self._shelves: dict[str, Shelf] = {}
        self._queue_of: dict[str, str] = {}
        self._arrivals = itertools.count(1)
        self._is_closed = False

    @contextmanager
    def step(self) -> Iterator[None]:
        """Hold the one lock, if there is one. A closed store is refused."""
        self.check_open()
        if self.is_split:
            yield
        else:
            with self._whole:
                yield

    def check_open(self) -> None:
        if self._is_closed:
            raise StoreClosed("the memory store was closed, and what it held is gone. Open a new one.")

    def close(self) -> None:
        self._is_closed = True
        self.bell.close()

    @contextmanager
    def hold(self, shelf: Shelf, now_us: int | None) -> Iterator[int]:
        """Hold one shelf's lock and give the moment, read under it. At the end, let in what was spilled, if there is room
        now, and ring if there is news.

        It is news to a sleeper that something can be claimed sooner than before: one that sleeps for an
        earlier job need not hear of a later one. It is news to a watcher that a job has ended or gone, and to a
        producer that there is room.
        """
        with shelf.lock:
            claimable, departures, had_room = shelf.next_claimable_us(), shelf.departures, shelf.has_room
            yield self.moment(now_us)
            shelf.let_in()
            if (shelf.has_room and not had_room) or _is_sooner(shelf.next_claimable_us(), claimable):
                self.bell.ring()
            elif shelf.departures != departures:
                self.bell.ring_for_watchers()

    def moment(self, now_us: int | None) -> int:
        return self.now() if now_us is None else now_us

    def shelf(self, queue: str) -> Shelf:
        """Give the queue's shelf, putting one up if there is none."""
        with self._directory_lock:
            shelf = self._shelves.get(queue)
            if shelf is None:
                shelf = self._shelves[queue] = Shelf(queue, self._new_lock())
            return shelf

    def find(self, queue: str) -> Shelf | None:
        return self._shelves.get(queue)

    def shelves(self, queues: Iterable[str] | None = None) -> list[Shelf]:
        """List the shelves of these queues, or all, as they are at this moment."""
        with self._directory_lock:
            if queues is None:
                return list(self._shelves.values())
            return [self._shelves[queue] for queue in queues if queue in self._shelves]

    def shelf_of(self, job_id: str) -> Shelf | None:
        """Find the shelf that holds a job. By the time its lock is held the job may have gone."""
        with self._directory_lock:
            queue = self._queue_of.get(job_id)
            return None if queue is None else self._shelves[queue]

    def next_claimable_us(self, queues: Iterable[str] | None) -> int | None:
        """Tell when something can be claimed from these queues, one look at each: in the past means now."""
        moments = []
        for shelf in self.shelves(queues):
            with shelf.lock:
                moments.append(shelf.next_claimable_us())
        return min((moment for moment in moments if moment is not None), default=None)

    def reserve(self, job_id: str, shelf: Shelf) -> bool:
        """Keep an id for a job of this shelf, unless it is on any shelf already. Return whether it was free."""
        with self._directory_lock:
            if job_id in self._queue_of:
                return False
            self._queue_of[job_id] = shelf.name
            return True

    def unreserve(self, job_id: str) -> None:
        """Let go of an id that is not needed."""
        with self._directory_lock:
            del self._queue_of[job_id]

    def put(self, shelf: Shelf, job: NewJob, now_us: int, state: State | None = None) -> None:
        """Put a new job, whose id was reserved, on the shelf, whose lock is held."""
        shelf.add(admit(job, next(self._arrivals), now_us, state))

    def drop(self, shelf: Shelf, entry: Entry) -> None:
        """Take a job off the shelf, whose lock is held. Its id is free again."""
        shelf.remove(entry)
        with self._directory_lock:
            del self._queue_of[entry.id]

    def _new_lock(self) -> "threading.RLock":
        return threading.RLock() if self.is_split else self._whole


def wall_clock() -> int:
    return time.time_ns() // 1000


def _is_sooner(moment_us: int | None, than_us: int | None) -> bool:
    return moment_us is not None and (than_us is None or moment_us < than_us)
