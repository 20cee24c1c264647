"""The split store: no two queues' locks at once, and nothing lost when steps of two callers interleave."""

import threading
from collections.abc import Callable

import pytest

from holdfast.errors import LeaseLost
from holdfast.model.query import Query
from holdfast.model.verdict import done
from holdfast.store.memory.handout import hand_out
from holdfast.store.memory.shelf import Shelf
from holdfast.store.memory.store import MemoryStore
from holdfast.testing.contract.sample_jobs import claimed, enlisted, job, pushed, state
from holdfast.testing.contract.virtual_clock import VirtualClock

QUEUES = ("a", "b", "c")


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def store(clock: VirtualClock) -> MemoryStore:
    return MemoryStore(clock, is_split=True)


def shelf(store: MemoryStore, queue: str) -> Shelf:
    found = store._rack.find(queue)
    assert found is not None
    return found


class CountedLock:
    """A shelf's lock that notes, in a list shared by all, which shelves are locked. For one thread."""

    def __init__(self, name: str, locked: list[str]) -> None:
        self._name = name
        self._locked = locked
        self.most = 0

    def __enter__(self) -> None:
        self._locked.append(self._name)
        self.most = max(self.most, len(set(self._locked)))

    def __exit__(self, *error: object) -> None:
        self._locked.remove(self._name)


def do_everything(store: MemoryStore, clock: VirtualClock) -> None:
    """Use every operation, each across all queues."""
    worker = enlisted(store)
    ids = [pushed(store, queue, tags=("red",)) for queue in QUEUES for _ in range(4)]
    claims = store.claim(worker, QUEUES, 6)
    store.exchange([done(claim) for claim in claims[:2]], worker, QUEUES, 1)
    store.operator.cancel(ids)
    store.beat(worker)
    store.operator.retry(ids)
    store.operator.unpark(dict.fromkeys(ids))
    store.inspector.find(Query(tag="red", after=ids[5]))
    store.inspector.count(Query())
    store.inspector.next_due()
    store.inspector.watch(ids, 0)
    store.wait(QUEUES, 0)
    store.tidy()
    clock.advance(60)
    store.rescue()
    store.leave(enlisted(store))
    store.operator.delete(ids)
    for queue in QUEUES:
        store.queues.purge(queue)


def test_no_two_shelves_are_ever_locked_at_once(store: MemoryStore, clock: VirtualClock) -> None:
    """What could not be done across two machines is not done here."""
    locked: list[str] = []
    locks = [CountedLock(queue, locked) for queue in QUEUES]
    for queue, lock in zip(QUEUES, locks, strict=True):
        store._rack.shelf(queue).lock = lock  # type: ignore[assignment]  # all that a lock is used for
    do_everything(store, clock)
    assert [lock.most for lock in locks] == [1, 1, 1]


def test_a_shelf_in_use_does_not_hold_up_another(store: MemoryStore) -> None:
    pushed(store, "a")
    job_id = pushed(store, "b")
    worker = enlisted(store)
    taken: list[str] = []
    with shelf(store, "a").lock:
        other = threading.Thread(target=lambda: taken.append(claimed(store, worker, "b").id), daemon=True)
        other.start()
        other.join(5)
    assert taken == [job_id]


def test_a_worker_rescued_in_the_midst_of_its_claim_is_refused_by_the_shelf(
    store: MemoryStore, clock: VirtualClock
) -> None:
    """I8: the shelf's own copy of the lease is looked at in the step that would hand out the job."""
    worker = enlisted(store, lease_s=10)
    pushed(store, "a")
    claimed(store, worker, "a")
    waiting = pushed(store, "a")
    lease = store._rack.roster.require(worker, clock())
    clock.advance(11)
    store.rescue()
    with pytest.raises(LeaseLost, match=worker):
        hand_out(shelf(store, "a"), lease, 1, "nonce", clock())
    assert state(store, waiting) == "ready"


def test_a_job_handed_out_behind_a_rescues_back_is_found_by_the_next_one(
    store: MemoryStore, clock: VirtualClock
) -> None:
    """I13: on a shelf where the worker had no lease yet, nothing could refuse it."""
    worker = enlisted(store, lease_s=10)
    job_id = pushed(store, "a")
    lease = store._rack.roster.require(worker, clock())
    clock.advance(11)
    store.rescue()
    assert len(hand_out(shelf(store, "a"), lease, 1, "nonce", clock())) == 1
    assert [(dead.worker, dead.jobs) for dead in store.rescue()] == [(worker, (job_id,))]
    assert state(store, job_id) == "ready"


@pytest.mark.parametrize("number", range(5))
def test_one_id_pushed_into_many_queues_at_once_lands_in_one(store: MemoryStore, number: int) -> None:
    """I3"""
    gate = threading.Barrier(3)
    decisions: list[str] = []

    def push(queue: str) -> Callable[[], None]:
        def act() -> None:
            gate.wait()
            decisions.append(store.push([job(queue, id="twin")])[0].decision)

        return act

    threads = [threading.Thread(target=push(queue)) for queue in QUEUES]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
    assert sorted(decisions) == ["created", "duplicate", "duplicate"]
    assert store.inspector.count(Query()) == 1
