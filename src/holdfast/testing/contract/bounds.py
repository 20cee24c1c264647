"""Bounds hold, exactly; what finds no room is refused and counted, or set aside until there is some (I30)."""

import threading
from collections import Counter
from typing import Any

import pytest

from holdfast.model.job import Pushed
from holdfast.model.queue import QueueOverlay, QueuePolicy, QueueRecord
from holdfast.model.verdict import done, released
from holdfast.policy.bounds import FULL
from holdfast.policy.moments import SECOND
from holdfast.store.protocol import Store
from holdfast.testing.contract.background_call import Call
from holdfast.testing.contract.sample_jobs import (
    claimed,
    claimed_ids,
    enlisted,
    job,
    jobs,
    pushed,
    record,
    retry,
    run_to,
    state,
)
from holdfast.testing.contract.virtual_clock import VirtualClock

THREE = QueuePolicy(max_size=3)
SPILL = QueuePolicy(max_size=2, on_full="spill", spill_ttl_us=60 * SECOND)


def queue(store: Store) -> QueueRecord:
    found = store.queues.get("default")
    assert found is not None
    return found


def decisions(answers: list[Pushed]) -> list[str]:
    return [one.decision for one in answers]


def spilled(store: Store, **options: Any) -> str:
    """Push a job that must find no room, and give its id."""
    new = job(**options)
    answer = store.push([new])[0]
    assert (answer.id, answer.decision) == (new.id, "spilled")
    assert answer.reason
    return new.id


# --- refused ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("on_full", ["reject", "block"])
def test_a_push_to_a_full_queue_is_refused_and_leaves_nothing_behind(store: Store, on_full: str) -> None:
    """I30, trap 11"""
    store.queues.set_policy("default", QueuePolicy(max_size=3, on_full=on_full))  # type: ignore[arg-type]  # one of three
    batch = jobs(5)
    answers = store.push(batch)
    assert decisions(answers) == ["created"] * 3 + ["refused"] * 2
    assert [answer.reason for answer in answers[3:]] == [FULL, FULL]
    assert [store.inspector.get(new.id) for new in batch[3:]] == [None, None]
    assert (queue(store).size, queue(store).is_full, queue(store).refused) == (3, True, 2)


def test_a_refused_id_can_be_pushed_again(store: Store, worker: str) -> None:
    """I3"""
    store.queues.set_policy("default", QueuePolicy(max_size=1))
    pushed(store)
    new = job()
    assert decisions(store.push([new, new])) == ["refused", "refused"]
    claimed(store, worker)
    assert decisions(store.push([new])) == ["created"]


def test_what_has_yet_to_start_counts_and_nothing_else(store: Store, worker: str) -> None:
    store.queues.set_policy("default", THREE)
    pushed(store)
    claimed(store, worker)
    for ending in ("succeeded", "failed", "parked"):
        run_to(store, ending)
    assert decisions(store.push([*jobs(2), *jobs(2, delay_us=SECOND)])) == ["created"] * 3 + ["refused"]


@pytest.mark.parametrize("how", ["claim", "cancel", "delete", "purge", "expire"])
def test_room_is_made_by_whatever_takes_a_job_out(store: Store, clock: VirtualClock, worker: str, how: str) -> None:
    store.queues.set_policy("default", QueuePolicy(max_size=1))
    job_id = pushed(store, expires_us=clock.in_s(5))
    if how == "claim":
        claimed(store, worker)
    elif how == "purge":
        store.queues.purge("default")
    elif how == "expire":
        clock.advance(5)
        store.tidy()
    else:
        getattr(store.operator, how)([job_id])
    assert decisions(store.push(jobs(2))) == ["created", "refused"]


def test_what_comes_back_is_never_refused(store: Store, clock: VirtualClock) -> None:
    store.queues.set_policy("default", THREE)
    store.push(jobs(3))
    mortal = enlisted(store)
    claims = store.claim(mortal, ["default"], 3)
    store.push(jobs(3))
    assert store.settle([retry(claims[0], 5), released(claims[1])]) == []
    clock.advance(11)
    assert store.rescue()[0].jobs == (claims[2].id,)
    store.operator.cancel([claims[1].id])
    assert store.operator.retry([claims[1].id]) == [claims[1].id]
    assert queue(store).size > 3
    assert decisions(store.push(jobs(1))) == ["refused"]


def test_a_bound_concerns_one_queue(store: Store) -> None:
    store.queues.set_policy("a", QueuePolicy(max_size=1))
    assert decisions(store.push([job("a"), job("b"), job("a"), job("b")])) == [
        "created",
        "created",
        "refused",
        "created",
    ]


def test_a_merge_needs_no_room(store: Store) -> None:
    store.queues.set_policy("default", QueuePolicy(max_size=1))
    first = pushed(store, key="k")
    answer = store.push([job(key="k", priority=3)])[0]
    assert (answer.id, answer.decision, queue(store).refused) == (first, "merged", 0)


def test_a_replacement_takes_the_place_of_what_it_replaces(store: Store) -> None:
    store.queues.set_policy("default", QueuePolicy(max_size=1))
    first = pushed(store, key="k")
    second = job(key="k", on_conflict="replace")
    assert decisions(store.push([second])) == ["created"]
    assert (state(store, first), state(store, second.id)) == ("cancelled", "ready")


def test_a_successor_needs_room(store: Store, worker: str) -> None:
    store.queues.set_policy("default", QueuePolicy(max_size=1, on_full="spill"))
    pushed(store, key="k")
    claimed(store, worker)
    pushed(store)
    assert decisions(store.push([job(key="k", runs_after=True)])) == ["refused"]


def test_a_bound_can_be_changed_and_taken_away(store: Store) -> None:
    store.queues.set_policy("default", THREE)
    store.push(jobs(3))
    store.queues.set_overlay("default", QueueOverlay(max_size=4))
    assert decisions(store.push(jobs(2))) == ["created", "refused"]
    store.queues.set_overlay("default", QueueOverlay(max_size=None))
    assert decisions(store.push(jobs(9))) == ["created"] * 9
    store.queues.set_overlay("default", QueueOverlay(max_size=0))
    assert decisions(store.push(jobs(1))) == ["refused"]


def test_a_bound_is_exact_under_producers_at_the_same_time(live_store: Store) -> None:
    """I30"""
    live_store.queues.set_policy("default", QueuePolicy(max_size=50))
    found: Counter[str] = Counter()
    lock, start = threading.Lock(), threading.Barrier(4)

    def produce() -> None:
        start.wait()
        for _ in range(10):
            answers = decisions(live_store.push(jobs(3)))
            with lock:
                found.update(answers)

    producers = [Call(produce) for _ in range(4)]
    for producer in producers:
        producer.result(60)
    assert found == {"created": 50, "refused": 70}
    record = live_store.queues.get("default")
    assert record is not None
    assert (record.size, record.refused) == (50, 70)


# --- spilled ------------------------------------------------------------------------------------------------------


def test_what_finds_no_room_is_set_aside_and_enters_when_there_is_some(store: Store, worker: str) -> None:
    """Trap 21: in the step that makes room."""
    store.queues.set_policy("default", SPILL)
    first, second = pushed(store), pushed(store)
    third, fourth = spilled(store), spilled(store)
    assert (state(store, third), queue(store).size, queue(store).counts["spilled"]) == ("spilled", 2, 2)
    assert claimed_ids(store, worker, limit=1) == [first]
    assert (state(store, third), state(store, fourth)) == ("ready", "spilled")
    assert claimed_ids(store, worker) == [second, third]
    assert claimed_ids(store, worker) == [fourth]


def test_spilled_jobs_enter_by_priority_then_in_the_order_of_arrival(store: Store, worker: str) -> None:
    store.queues.set_policy("default", QueuePolicy(max_size=1, on_full="spill"))
    pushed(store)
    low, high, high_too = spilled(store), spilled(store, priority=5), spilled(store, priority=5)
    taken = [claimed(store, worker).id for _ in range(4)][1:]
    assert taken == [high, high_too, low]


def test_a_spilled_job_keeps_its_time(store: Store, clock: VirtualClock, worker: str) -> None:
    store.queues.set_policy("default", QueuePolicy(max_size=1, on_full="spill"))
    pushed(store)
    later = spilled(store, delay_us=30 * SECOND)
    claimed(store, worker)
    assert (state(store, later), record(store, later).due_us) == ("scheduled", clock.in_s(30))


def test_a_spilled_job_holds_its_key(store: Store) -> None:
    store.queues.set_policy("default", SPILL)
    store.push(jobs(2))
    first = spilled(store, key="k")
    answer = store.push([job(key="k", priority=7)])[0]
    assert (answer.id, answer.decision, record(store, first).priority) == (first, "merged", 7)


def test_a_spilled_job_expires_when_it_finds_no_room_in_time(store: Store, clock: VirtualClock) -> None:
    store.queues.set_policy("default", SPILL)
    store.push(jobs(2))
    late, soon = spilled(store), spilled(store, expires_us=clock.in_s(10))
    assert record(store, late).expires_us == clock.in_s(60)
    clock.advance(10)
    assert (store.tidy().expired, state(store, soon)) == (1, "expired")
    clock.advance(50)
    assert (store.tidy().expired, state(store, late)) == (1, "expired")


def test_a_spilled_job_that_has_entered_expires_by_its_own_time_only(
    store: Store, clock: VirtualClock, worker: str
) -> None:
    store.queues.set_policy("default", SPILL)
    store.push(jobs(2))
    never, sometime = spilled(store), spilled(store, expires_us=clock.in_s(1000))
    claimed_ids(store, worker)
    assert (record(store, never).expires_us, record(store, sometime).expires_us) == (None, clock.in_s(1000))
    clock.advance(61)
    assert claimed_ids(store, worker) == [never, sometime]


@pytest.mark.parametrize("how", ["cancel", "delete", "purge"])
def test_a_spilled_job_can_be_taken_out(store: Store, how: str) -> None:
    store.queues.set_policy("default", SPILL)
    store.push(jobs(2))
    one = spilled(store)
    if how == "purge":
        assert store.queues.purge("default") == 3
    else:
        getattr(store.operator, how)([one])
    assert "spilled" not in queue(store).counts


def test_a_wider_bound_lets_spilled_jobs_in_at_once(store: Store) -> None:
    store.queues.set_policy("default", SPILL)
    store.push(jobs(2))
    waiting = [spilled(store) for _ in range(3)]
    store.queues.set_policy("default", QueuePolicy(max_size=4, on_full="spill"))
    assert [state(store, one) for one in waiting] == ["ready", "ready", "spilled"]


def test_a_cancelled_job_makes_room_for_a_spilled_one(store: Store) -> None:
    store.queues.set_policy("default", SPILL)
    first, _ = pushed(store), pushed(store)
    third = spilled(store)
    store.operator.cancel([first])
    assert state(store, third) == "ready"


# --- waiting for room ---------------------------------------------------------------------------------------------


def test_a_producer_that_waits_for_room_is_woken_by_what_makes_it(live_store: Store) -> None:
    live_store.queues.set_policy("default", QueuePolicy(max_size=1, on_full="block"))
    pushed(live_store)
    worker = enlisted(live_store)
    waiting = Call(lambda: live_store.wait_for_room("default", 20))
    assert not waiting.is_back(0.1)
    live_store.settle([done(claimed(live_store, worker))])
    assert waiting.result()


def test_a_producer_does_not_wait_where_there_is_room(live_store: Store) -> None:
    assert live_store.wait_for_room("nowhere", 20)
    pushed(live_store)
    assert live_store.wait_for_room("default", 20)


def test_a_producer_that_waits_in_vain_is_told(live_store: Store) -> None:
    live_store.queues.set_policy("default", QueuePolicy(max_size=1))
    pushed(live_store)
    assert not live_store.wait_for_room("default", 0.05)
