"""One queue's jobs, each in the index that its state calls for.

    ready       in its lane (see `round`): heap by (-priority, due, arrival); a LIFO queue turns due and arrival around, and
                one whose priorities age has (due less the head start, due, arrival)
    scheduled   heap by (due, arrival)
    running     by worker, so that a worker's end finds its jobs without a search
    parked      for an unknown task: heaps by arrival, one per task
    spilled     heap by (-priority, arrival): they wait for room (see `policy.bounds`)
    waiting     in no heap: it waits for the job that has its key (see `keys`)
    final       heap by the moment the record may go
    expiring    beside waiting, ready, scheduled, parked and spilled: heap by the moment the job expires

A move is `lift`, change, `lay`: lifted out by what the entry was, laid down by what it has become. Between
the two the entry is in no index; the shelf's lock is held throughout, so nobody sees that.
"""

import threading
from collections import Counter
from collections.abc import Iterator
from typing import Final

from holdfast.model.queue import NO_OVERLAY, QueuePolicy
from holdfast.model.states import FINAL, UNFINISHED, State, is_move
from holdfast.model.verdict import UNKNOWN_TASK
from holdfast.policy.ageing import head_start_us
from holdfast.policy.bounds import has_room, spilled_until_us
from holdfast.store.memory.entry import Entry
from holdfast.store.memory.heap import IndexedHeap, Rank
from holdfast.store.memory.keys import KeyBook
from holdfast.store.memory.leases import Leases
from holdfast.store.memory.round import Lane, Round
from holdfast.store.memory.seenbook import SeenBook

SIZED: Final[tuple[State, ...]] = ("waiting", "scheduled", "ready")
"""The states of jobs that count towards the size of a queue."""


class Shelf:
    """The jobs, the policy and the leases of one queue. Every use is made with `lock` held."""

    def __init__(self, name: str, lock: "threading.RLock") -> None:
        self.name = name
        self.lock = lock
        self.is_paused = False
        self.declared = QueuePolicy()
        self.overlay = NO_OVERLAY
        self.round = Round()
        self.leases = Leases(lock)
        self.keys = KeyBook()
        self.seen = SeenBook()
        self.entries: dict[str, Entry] = {}
        """By id, in order of arrival."""
        self.tagged: dict[str, dict[str, Entry]] = {}
        """By tag, then by id, in order of arrival."""
        self.counts: Counter[State] = Counter()
        self.departures = 0
        """How many jobs have ended or gone, ever: whoever saw another number knows that one did."""
        self.refused = 0
        self.scheduled = IndexedHeap()
        self.spilled = IndexedHeap()
        self.expiring = IndexedHeap()
        self.retained = IndexedHeap()
        self.orphans: dict[str, IndexedHeap] = {}
        self._running: dict[str, dict[str, Entry]] = {}

    def add(self, entry: Entry) -> None:
        """Take in a job that was on no shelf."""
        assert is_move(None, entry.state), f"a new job cannot be {entry.state}"
        if entry.state == "spilled":
            entry.expires_us = spilled_until_us(self.policy, entry.expires_us, entry.created_us)
        self.entries[entry.id] = entry
        if entry.lane:
            self.round.begin_to_flow()
        for tag in entry.new.tags:
            self.tagged.setdefault(tag, {})[entry.id] = entry
        self.keys.hold(entry)
        self._index(entry)

    def remove(self, entry: Entry) -> None:
        """Forget a job and all that belongs to it."""
        self.lift(entry)
        self._let_go(entry)
        self.departures += 1
        del self.entries[entry.id]
        for tag in set(entry.new.tags):
            del self.tagged[tag][entry.id]
            if not self.tagged[tag]:
                del self.tagged[tag]

    def lift(self, entry: Entry) -> None:
        """Take the entry out of its index, so that it can be changed."""
        state = entry.state
        self.counts[state] -= 1
        if state == "ready":
            self.lane_of(entry).ready.remove(entry.id)
            self.round.stir(entry.lane)
        elif state == "scheduled":
            self.scheduled.remove(entry.id)
        elif state == "running":
            self._lift_running(entry)
        elif state == "parked":
            self._lift_parked(entry)
        elif state == "spilled":
            self.spilled.remove(entry.id)
        elif state in FINAL:
            self.retained.remove(entry.id)
        if entry.id in self.expiring:
            self.expiring.remove(entry.id)

    def lay(self, entry: Entry, state: State) -> None:
        """Put a lifted entry where its new state belongs."""
        assert is_move(entry.state, state), f"job {entry.id} cannot go from {entry.state} to {state}"
        entry.state = state
        self._index(entry)
        if state in FINAL:
            self.departures += 1
            self._let_go(entry)
            self._mark_end(entry)

    def lay_again(self, entry: Entry) -> None:
        """Put a lifted entry back, in the state it had, by its new rank."""
        self._index(entry)

    @property
    def policy(self) -> QueuePolicy:
        """The policy in force: the declared one under the overlay."""
        return self.round.policy

    @property
    def size(self) -> int:
        """How many jobs have yet to start, but for those that are spilled or parked."""
        return sum(self.counts[state] for state in SIZED)

    @property
    def has_room(self) -> bool:
        return has_room(self.policy, self.size)

    def let_in(self) -> None:
        """Let spilled jobs in, as far as there is room. What made room ends with this."""
        while self.has_room and (first := self.spilled.peek()):
            entry = self.entries[first[1]]
            self.lift(entry)
            entry.expires_us = entry.new.expires_us
            self.lay(entry, "scheduled")

    def lane_of(self, entry: Entry) -> Lane:
        return self.round.lane(entry.lane)

    def held_by(self, worker: str) -> list[Entry]:
        """List the running jobs of a worker, in the order of their claims."""
        return list(self._running.get(worker, {}).values())

    def next_claimable_us(self) -> int | None:
        """Tell when something can be claimed here: 0 if something is ready. O(1)."""
        if self.is_paused:
            return None
        head = self.scheduled.peek()
        moments = (self.round.next_claimable_us(), head[0][0] if head else None)
        return min((moment for moment in moments if moment is not None), default=None)

    def ready_dues(self) -> Iterator[int]:
        """Give the due times of all ready jobs, in no particular order. O(n)."""
        return (self.entries[job_id].due_us for lane in self.round.lanes.values() for _, job_id in lane.ready)

    def reorder(self, policy: QueuePolicy) -> None:
        """Take on a policy and rank the ready jobs anew. O(n log n), once per change."""
        self.round.take_on(policy)
        for lane in self.round.lanes.values():
            for _, job_id in list(lane.ready):
                lane.ready.update(job_id, self._rank(self.entries[job_id]))

    def _index(self, entry: Entry) -> None:
        state = entry.state
        self.counts[state] += 1
        if state == "ready":
            self.lane_of(entry).ready.push(entry.id, self._rank(entry))
            self.round.stir(entry.lane)
        elif state == "scheduled":
            self.scheduled.push(entry.id, (entry.due_us, entry.seq))
        elif state == "running":
            assert entry.worker is not None, "a running job has a worker"
            self._running.setdefault(entry.worker, {})[entry.id] = entry
            self._count_running(entry, 1)
        elif state == "parked" and entry.reason == UNKNOWN_TASK:
            self.orphans.setdefault(entry.new.task, IndexedHeap()).push(entry.id, (entry.seq,))
        elif state == "spilled":
            self.spilled.push(entry.id, (-entry.priority, entry.seq))
        elif state in FINAL:
            assert entry.keep_until_us is not None, "a final job has a term"
            self.retained.push(entry.id, (entry.keep_until_us, entry.seq))
        if state in UNFINISHED and state != "running" and entry.expires_us is not None:
            self.expiring.push(entry.id, (entry.expires_us, entry.seq))

    def _rank(self, entry: Entry) -> Rank:
        if self.policy.order == "lifo":
            return (-entry.priority, -entry.due_us, -entry.seq)
        if self.policy.ageing_us is not None:
            return (entry.due_us - head_start_us(entry.priority, self.policy.ageing_us), entry.due_us, entry.seq)
        return (-entry.priority, entry.due_us, entry.seq)

    def _lift_running(self, entry: Entry) -> None:
        assert entry.worker is not None, "a running job has a worker"
        self._count_running(entry, -1)
        held = self._running[entry.worker]
        del held[entry.id]
        if not held:
            del self._running[entry.worker]

    def _let_go(self, entry: Entry) -> None:
        """Free the key of a job that has ended or goes. Its successor, if there is one, is scheduled for its own time."""
        heir = self.keys.let_go(entry)
        if heir is not None:
            self.lift(heir)
            self.lay(heir, "scheduled")

    def _mark_end(self, entry: Entry) -> None:
        """Forget the key of a job that did not succeed, if it was asked for; a success is marked again."""
        mark = entry.new.seen
        if mark is None or not mark.forgets_failure or entry.finished_us is None:
            return
        if entry.state == "succeeded":
            self.seen.add(mark.digest, mark.ttl_us, entry.finished_us)
        else:
            self.seen.discard(mark.digest, entry.finished_us)

    def _count_running(self, entry: Entry, by: int) -> None:
        self.round.running += by
        self.lane_of(entry).running += by
        self.round.stir(entry.lane)

    def _lift_parked(self, entry: Entry) -> None:
        orphans = self.orphans.get(entry.new.task)
        if orphans is None or entry.id not in orphans:
            return
        orphans.remove(entry.id)
        if not orphans:
            del self.orphans[entry.new.task]
