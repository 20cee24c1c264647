"""What becomes of a batch of pushes, where keys, bounds or seen-sets have a say: decided here, carried out by a SQL store.

The store looks up what the batch touches (`Known`), holding what keeps that true until its commit. Each job is then judged
in the order given, and sees the ones before it; what comes of it all is a `Plan`: rows to insert and a few changes to rows
that are there. So a batch costs a store the same few statements, however many jobs it has.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from holdfast.model.job import NewJob, Pushed
from holdfast.model.queue import QueuePolicy
from holdfast.model.states import State
from holdfast.policy.bounds import has_room, refused, spilled, spilled_until_us
from holdfast.policy.identity import Holder, KeyState, Ruling, Success, is_needless, rule, seen
from holdfast.policy.moments import SECOND
from holdfast.store.seenset import SeenSet, remembered

SIZED: Final[frozenset[State]] = frozenset({"waiting", "scheduled", "ready"})
"""The states of jobs that count towards the size of a queue."""

Place = tuple[str, str]
"""A queue and a key."""


class KeyRow(msgspec.Struct, frozen=True, array_like=True):
    """An unfinished job that has a key."""

    queue: str
    key: str
    id: str
    state: State
    version: str | None
    digest: bytes | None
    """What is to be forgotten when it does not succeed."""


class SuccessRow(msgspec.Struct, frozen=True, array_like=True):
    """The last success under a key."""

    queue: str
    key: str
    id: str
    at_us: int
    until_us: int
    version: str | None


class Known(msgspec.Struct, frozen=True):
    """What is there of all that a batch names: ids, keys, successes, the queues that have a bound, with their size, and the
    seen-sets that are asked.
    """

    ids: set[str]
    holders: Iterable[KeyRow] = ()
    successes: Iterable[SuccessRow] = ()
    sizes: dict[str, tuple[QueuePolicy, int]] = {}
    seen: dict[str, SeenSet] = {}


class Arrival(msgspec.Struct):
    """A row to be inserted. It may have been merged with, or cancelled, by a later job of its batch."""

    new: NewJob
    state: State
    priority: int
    due_us: int
    expires_us: int | None
    finished_us: int | None = None
    keep_until_us: int | None = None
    reason: str | None = None


class Plan(msgspec.Struct):
    """What is to be done, in this order. Jobs that are there are named by their ids."""

    cancels: list[tuple[str, str]] = []
    """Jobs to be cancelled, each with the reason."""
    asks: list[str] = []
    """Running jobs that are to be asked to stop."""
    merges: list[tuple[str, int, int]] = []
    """Jobs that take this priority if it is higher, and this due time if it is earlier."""
    arrivals: list[Arrival] = []
    refused: Counter[str] = msgspec.field(default_factory=Counter)
    """How many were refused for want of room, by queue."""
    growth: Counter[str] = msgspec.field(default_factory=Counter)
    """By how much the size of each bounded queue changes."""
    forgotten: dict[str, set[bytes]] = {}
    """Digests that leave the seen-sets, by queue. What `seen` has of them comes after."""
    seen: dict[str, SeenSet] = {}
    """The seen-sets that were asked, with what was added to them, by queue."""


class _Job:
    """A job that has a key or waits for one: in the store, or on its way into it (`arrival`)."""

    __slots__ = ("arrival", "digest", "id", "state", "version")

    def __init__(
        self, job_id: str, state: State, version: str | None, digest: bytes | None, arrival: Arrival | None = None
    ) -> None:
        self.id = job_id
        self.state = state
        self.version = version
        self.digest = digest
        self.arrival = arrival

    def shown(self) -> Holder:
        return Holder(self.id, self.state == "running", self.version)


class _Key:
    """Who has one key at the moment."""

    __slots__ = ("holder", "success", "successor")

    def __init__(self) -> None:
        self.holder: _Job | None = None
        self.successor: _Job | None = None
        self.success: Success | None = None

    def shown(self) -> KeyState:
        return KeyState(
            self.holder.shown() if self.holder else None,
            self.successor.shown() if self.successor else None,
            self.success,
        )

    def put(self, job: _Job) -> None:
        if job.state == "waiting":
            self.successor = job
        else:
            self.holder = job


class Admission:
    """One batch. `plan` is what to do when all its jobs have been taken in."""

    def __init__(self, known: Known, now_us: int) -> None:
        self.plan = Plan(seen=known.seen)
        self._now_us = now_us
        self._ids = set(known.ids)
        self._sizes = {queue: size for queue, (_, size) in known.sizes.items()}
        self._policies = {queue: policy for queue, (policy, _) in known.sizes.items()}
        self._keys: dict[Place, _Key] = {}
        for row in known.holders:
            self._key((row.queue, row.key)).put(_Job(row.id, row.state, row.version, row.digest))
        for one in known.successes:
            self._key((one.queue, one.key)).success = Success(one.id, one.at_us, one.until_us, one.version)

    def take_in(self, job: NewJob) -> Pushed:
        """Decide what becomes of the next job of the batch."""
        if job.id in self._ids:
            return Pushed(job.id, "duplicate", f"job {job.id} is there already")
        key = _Key() if job.key is None else self._key((job.queue, job.key))
        ruling = _CREATE if job.key is None else rule(job, key.shown(), self._now_us)
        target = _target(key, ruling)
        if ruling.act in ("merge", "nothing"):
            if target is not None:
                self._merge(target, job)
            return ruling.answer
        if is_needless(job, self._was_seen(job)):
            return seen(job.id)
        freed = ruling.act == "replace" and target is not None and target.state in SIZED
        if not self._has_room(job.queue, freed):
            return self._turn_away(job, key, ruling)
        self._store(job, key, self._make_way(job, key, ruling, target))
        return ruling.answer if job.key is not None else Pushed(job.id, "created")

    def _key(self, place: Place) -> _Key:
        return self._keys.setdefault(place, _Key())

    def _was_seen(self, job: NewJob) -> bool:
        return job.seen is not None and self.plan.seen[job.queue].has(job.seen.digest)

    def _has_room(self, queue: str, freed: bool) -> bool:
        policy = self._policies.get(queue)
        return policy is None or has_room(policy, self._sizes[queue] - freed)

    def _turn_away(self, job: NewJob, key: _Key, ruling: Ruling) -> Pushed:
        """Refuse for want of room, or set aside. A successor cannot be set aside: there is a job before it already."""
        policy = self._policies[job.queue]
        if policy.on_full != "spill" or ruling.act != "create":
            self.plan.refused[job.queue] += 1
            return refused(job.id)
        self._store(job, key, "spilled")
        return spilled(job.id, policy)

    def _make_way(self, job: NewJob, key: _Key, ruling: Ruling, target: _Job | None) -> State | None:
        """Do to the job in the way what the ruling says. Give the state in which the new one is stored, if that is fixed."""
        if ruling.act == "replace":
            assert target is not None, "a replacement has a target"
            return self._clear(job, key, target)
        if ruling.act == "follow":
            if target is not None:
                self.plan.asks.append(target.id)
            return "waiting"
        return None

    def _clear(self, job: NewJob, key: _Key, target: _Job) -> State | None:
        """Cancel the job to be replaced, and a successor that waits for it."""
        if target is key.successor:
            self._cancel(job, target)
            return "waiting"
        if key.successor is not None:
            self._cancel(job, key.successor)
        self._cancel(job, target)
        key.holder = key.successor = None
        return None

    def _cancel(self, job: NewJob, target: _Job) -> None:
        reason = f"replaced by job {job.id}"
        self._grow(job.queue, -(target.state in SIZED))
        self._forget(job.queue, target.digest)
        if target.arrival is None:
            self.plan.cancels.append((target.id, reason))
            return
        arrival = target.arrival
        arrival.state, arrival.reason, arrival.finished_us = "cancelled", reason, self._now_us
        arrival.keep_until_us = self._now_us + arrival.new.keep_dead_s * SECOND

    def _merge(self, target: _Job, job: NewJob) -> None:
        """Give a job that has yet to start the higher priority and the earlier time."""
        due = due_us(job, self._now_us)
        if target.arrival is None:
            self.plan.merges.append((target.id, job.priority, due))
        else:
            target.arrival.priority = max(target.arrival.priority, job.priority)
            target.arrival.due_us = min(target.arrival.due_us, due)

    def _store(self, job: NewJob, key: _Key, state: State | None) -> None:
        due = due_us(job, self._now_us)
        state = state or ("scheduled" if due > self._now_us else "ready")
        expires_us = job.expires_us
        if state == "spilled":
            expires_us = spilled_until_us(self._policies[job.queue], expires_us, self._now_us)
        arrival = Arrival(job, state, job.priority, due, expires_us)
        self.plan.arrivals.append(arrival)
        self._ids.add(job.id)
        self._grow(job.queue, state in SIZED)
        if job.seen is not None:
            self.plan.seen[job.queue].add(job.seen.digest, job.seen.ttl_us)
        key.put(_Job(job.id, state, job.version, remembered(job.seen)[0], arrival))

    def _forget(self, queue: str, digest: bytes | None) -> None:
        """Make the key of a job that was cancelled new again, if that was asked for."""
        if digest is None:
            return
        self.plan.forgotten.setdefault(queue, set()).add(digest)
        if queue in self.plan.seen:
            self.plan.seen[queue].discard(digest)

    def _grow(self, queue: str, by: int) -> None:
        if queue in self._sizes:
            self._sizes[queue] += by
            self.plan.growth[queue] += by


_CREATE: Final = Ruling("create", Pushed("", "created"))
"""What becomes of a push without a key."""


def due_us(job: NewJob, now_us: int) -> int:
    """Tell when a job that arrives now is due. A time in the past means now: it must not overtake others."""
    return max(now_us, now_us + job.delay_us if job.at_us is None else job.at_us)


def places(jobs: Sequence[NewJob]) -> list[Place]:
    """List the queues and keys that a batch names, each once."""
    return list(dict.fromkeys((job.queue, job.key) for job in jobs if job.key is not None))


def _target(key: _Key, ruling: Ruling) -> _Job | None:
    named = (job for job in (key.holder, key.successor) if job is not None and job.id == ruling.target)
    return next(named, None)
