"""What only the memory store can show: that its indexes hold the living and nothing else, and that it scales."""

import threading
import time

import pytest

from holdfast.model.queue import QueuePolicy
from holdfast.model.verdict import done
from holdfast.policy.moments import SECOND
from holdfast.store.memory.rack import Rack
from holdfast.store.memory.shelf import Shelf
from holdfast.store.memory.store import MemoryStore
from holdfast.testing.contract.sample_jobs import claimed, enlisted, job, jobs, pushed, run_to, unknown_task
from holdfast.testing.contract.virtual_clock import VirtualClock


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture(params=[False, True], ids=["whole", "split"])
def store(request: pytest.FixtureRequest, clock: VirtualClock) -> MemoryStore:
    return MemoryStore(clock, is_split=request.param)


def rack(store: MemoryStore) -> Rack:
    return store._rack


def shelf(store: MemoryStore, queue: str = "default") -> Shelf:
    found = rack(store).find(queue)
    assert found is not None
    return found


def ready_ids(one: Shelf) -> list[str]:
    return [job_id for lane in one.round.lanes.values() for _, job_id in lane.ready]


def sizes(store: MemoryStore) -> dict[str, int]:
    """Count what every index of the queue holds; those that hold nothing are left out."""
    one = shelf(store)
    held = {
        "entries": len(one.entries), "tagged": len(one.tagged), "ready": len(ready_ids(one)),
        "scheduled": len(one.scheduled), "expiring": len(one.expiring), "retained": len(one.retained),
        "orphans": len(one.orphans), "running": len(one._running), "directory": len(rack(store)._queue_of),
    }  # fmt: skip
    return {name: number for name, number in held.items() if number}


def test_cancelled_delayed_jobs_leave_no_entries_where_they_waited(store: MemoryStore, clock: VirtualClock) -> None:
    """Trap 3"""
    batch = jobs(1000, delay_us=3600 * SECOND, expires_us=clock.in_s(7200))
    store.push(batch)
    store.operator.cancel(new.id for new in batch)
    assert sizes(store) == {"entries": 1000, "retained": 1000, "directory": 1000}


@pytest.mark.parametrize("ending", ["succeeded", "failed", "parked", "released", "crashed"])
def test_a_deleted_job_leaves_nothing_at_all(store: MemoryStore, clock: VirtualClock, ending: str) -> None:
    """Trap 3"""
    job_id = run_to(store, ending, tags=("red", "red", "blue"), expires_us=clock.in_s(60))
    assert sizes(store)
    store.operator.delete([job_id])
    assert sizes(store) == {}


def test_pruned_jobs_leave_nothing_at_all(store: MemoryStore, clock: VirtualClock) -> None:
    for _ in range(50):
        run_to(store, "succeeded", keep_done_s=1, tags=("red",))
    clock.advance(1)
    assert store.tidy().pruned == 50
    assert sizes(store) == {}


def test_a_running_job_is_in_no_waiting_index(store: MemoryStore, clock: VirtualClock) -> None:
    pushed(store, expires_us=clock.in_s(60))
    claimed(store)
    assert sizes(store) == {"entries": 1, "running": 1, "directory": 1}


def test_cancelling_among_a_hundred_thousand_delayed_jobs_is_cheap(store: MemoryStore) -> None:
    """Trap 2, and behaviour 4: a hundred thousand delayed jobs need no thread of their own."""
    threads = threading.active_count()
    batch = [job(id=str(number), delay_us=(1 + number * 7919 % 100_000) * SECOND) for number in range(100_000)]
    store.push(batch)
    began = time.perf_counter()
    for number in range(20_000):
        store.operator.cancel([str(number)])
    each_s = (time.perf_counter() - began) / 20_000
    assert each_s < 0.000_1
    assert threading.active_count() == threads
    assert len(shelf(store).scheduled) == 80_000


def test_a_change_of_order_ranks_the_ready_jobs_anew_and_touches_no_others(store: MemoryStore) -> None:
    store.push([*jobs(10), *jobs(5, delay_us=SECOND)])
    before = sorted(shelf(store).scheduled)
    store.queues.set_policy("default", QueuePolicy("lifo"))
    assert (len(ready_ids(shelf(store))), sorted(shelf(store).scheduled)) == (10, before)


def test_an_impossible_move_is_refused_where_it_would_happen(store: MemoryStore) -> None:
    """One table of moves, asserted on every change."""
    job_id = run_to(store, "succeeded")
    one = shelf(store)
    entry = one.entries[job_id]
    one.lift(entry)
    with pytest.raises(AssertionError, match="cannot go from succeeded to ready"):
        one.lay(entry, "ready")


def test_orphans_are_indexed_by_task(store: MemoryStore) -> None:
    """I35: a worker's claim looks at the tasks it knows, not at all that is parked."""
    for task in ("a", "a", "b"):
        pushed(store, task=task)
        store.settle([unknown_task(claimed(store, enlisted(store, tasks=())))])
    assert {task: len(heap) for task, heap in shelf(store).orphans.items()} == {"a": 2, "b": 1}
    store.settle([done(claimed(store, enlisted(store, tasks=("b",))))])
    assert set(shelf(store).orphans) == {"a"}
