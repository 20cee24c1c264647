"""In which order jobs are handed out (I19): priority, then due time, then arrival."""

import random
from collections.abc import Callable

import pytest

from holdfast.model.claim import Claim
from holdfast.model.queue import QueuePolicy
from holdfast.model.verdict import Verdict, crashed, released
from holdfast.policy.moments import SECOND
from holdfast.store.protocol import Store
from holdfast.testing.contract.sample_jobs import claimed, claimed_ids, job, pushed, retry, run_to, snoozed
from holdfast.testing.contract.virtual_clock import VirtualClock

LIFO = QueuePolicy("lifo")
FIFO = QueuePolicy("fifo")


def test_equal_jobs_come_out_as_they_came_in(store: Store, worker: str) -> None:
    """I19, trap 16"""
    ids = [pushed(store) for _ in range(20)]
    assert claimed_ids(store, worker) == ids


def test_claims_one_by_one_keep_the_order_of_claims_in_bulk(store: Store, worker: str) -> None:
    """I19"""
    ids = [pushed(store, priority=number % 3) for number in range(12)]
    expected = sorted(ids, key=lambda job_id: -(ids.index(job_id) % 3))
    assert [claimed(store, worker).id for _ in ids] == expected


def test_higher_priority_goes_first(store: Store, worker: str) -> None:
    """I19"""
    low, high, negative, middle = (pushed(store, priority=priority) for priority in (0, 9, -5, 3))
    assert claimed_ids(store, worker) == [high, middle, low, negative]


def test_equal_due_times_keep_the_order_of_arrival(store: Store, clock: VirtualClock, worker: str) -> None:
    """I19, trap 16: not shuffled, however they were laid into the heap."""
    ids = [pushed(store, at_us=clock.in_s(10)) for _ in range(50)]
    clock.advance(10)
    assert claimed_ids(store, worker) == ids


def test_what_is_due_earlier_goes_first_though_it_came_later(store: Store, clock: VirtualClock, worker: str) -> None:
    """I19, behaviour 1"""
    late = pushed(store, delay_us=20 * SECOND)
    early = pushed(store, delay_us=10 * SECOND)
    clock.advance(30)
    assert claimed_ids(store, worker) == [early, late]


def test_a_job_that_became_due_keeps_its_place_among_those_pushed_since(
    store: Store, clock: VirtualClock, worker: str
) -> None:
    """I19: by the time it became due, not by the time somebody noticed."""
    delayed = pushed(store, delay_us=5 * SECOND)
    clock.advance(3)
    before = pushed(store)
    clock.advance(7)
    after = pushed(store)
    assert claimed_ids(store, worker) == [before, delayed, after]


def test_priority_counts_only_once_a_job_is_due(store: Store, clock: VirtualClock, worker: str) -> None:
    """I19"""
    urgent = pushed(store, delay_us=10 * SECOND, priority=99)
    plain = pushed(store)
    assert claimed_ids(store, worker) == [plain]
    another = pushed(store)
    clock.advance(10)
    assert claimed_ids(store, worker) == [urgent, another]


def test_a_moment_in_the_past_does_not_overtake_what_waits(store: Store, clock: VirtualClock, worker: str) -> None:
    """I19, P-04"""
    first = pushed(store)
    second = pushed(store, at_us=clock.in_s(-1000))
    third = pushed(store, priority=1, at_us=1)
    assert claimed_ids(store, worker) == [third, first, second]


def test_a_lifo_queue_hands_out_the_latest_first(store: Store, worker: str) -> None:
    """I19"""
    store.queues.set_policy("default", LIFO)
    ids = [pushed(store) for _ in range(10)]
    assert claimed_ids(store, worker) == ids[::-1]


def test_a_lifo_queue_hands_out_the_latest_due_first(store: Store, clock: VirtualClock, worker: str) -> None:
    """I19: due time and arrival are both turned around."""
    store.queues.set_policy("default", LIFO)
    early, late, also_late = (pushed(store, delay_us=delay * SECOND) for delay in (1, 2, 2))
    clock.advance(5)
    assert claimed_ids(store, worker) == [also_late, late, early]


def test_a_lifo_queue_still_puts_priority_first(store: Store, worker: str) -> None:
    """I19"""
    store.queues.set_policy("default", LIFO)
    high, low, also_high = (pushed(store, priority=priority) for priority in (5, 1, 5))
    assert claimed_ids(store, worker) == [also_high, high, low]
    more = [pushed(store, priority=priority) for priority in (1, 2, 3)]
    assert [claimed(store, worker).id for _ in more] == more[::-1]


def test_a_change_of_policy_holds_for_what_is_there_already(store: Store, clock: VirtualClock, worker: str) -> None:
    """I19"""
    delayed = [pushed(store, delay_us=SECOND) for _ in range(3)]
    clock.advance(1)
    ready = [pushed(store) for _ in range(3)]
    store.queues.set_policy("default", LIFO)
    assert claimed(store, worker).id == ready[-1]
    store.queues.set_policy("default", FIFO)
    assert claimed_ids(store, worker) == [*delayed, *ready[:-1]]


def test_one_queues_policy_is_not_anothers(store: Store, worker: str) -> None:
    store.queues.set_policy("a", LIFO)
    a, b = [pushed(store, "a") for _ in range(2)], [pushed(store, "b") for _ in range(2)]
    assert claimed_ids(store, worker, "a", "b") == [*a[::-1], *b]


def test_queues_are_served_in_the_order_given(store: Store, worker: str) -> None:
    """Whatever the priorities: those order the jobs of one queue."""
    a, b, c = pushed(store, "a"), pushed(store, "b", priority=9), pushed(store, "c")
    assert claimed_ids(store, worker, "c", "a", "b") == [c, a, b]


def test_a_released_job_takes_the_place_it_had(store: Store, clock: VirtualClock, worker: str) -> None:
    """I19, I18"""
    first, second = pushed(store), pushed(store)
    claim = claimed(store, worker)
    clock.advance(5)
    third = pushed(store)
    store.settle([released(claim)])
    assert claimed_ids(store, worker) == [first, second, third]


def test_a_crashed_job_takes_the_place_it_had(store: Store, worker: str) -> None:
    """I19"""
    first, second = pushed(store), pushed(store)
    store.settle([crashed(claimed(store, worker), "died")])
    assert claimed_ids(store, worker) == [first, second]


@pytest.mark.parametrize("again", [retry, snoozed])
def test_a_job_that_runs_again_later_takes_its_place_by_its_new_time(
    store: Store, clock: VirtualClock, worker: str, again: Callable[[Claim, float], Verdict]
) -> None:
    """I19"""
    first, second = pushed(store), pushed(store)
    clock.advance(1)
    store.settle([again(claimed(store, worker), 0)])
    assert claimed_ids(store, worker) == [second, first]


def test_a_reopened_job_is_due_from_now(store: Store, clock: VirtualClock, worker: str) -> None:
    """I19, I6"""
    dead = run_to(store, "failed")
    clock.advance(1)
    waiting = pushed(store)
    clock.advance(1)
    store.operator.retry([dead])
    assert claimed_ids(store, worker) == [waiting, dead]


@pytest.mark.parametrize("order", ["fifo", "lifo"])
def test_a_shuffled_thousand_comes_out_in_strict_order(
    store: Store, clock: VirtualClock, worker: str, order: str
) -> None:
    """I19, trap 1: whatever was cancelled, released or retried in between."""
    chance = random.Random(7)  # noqa: S311 - the same shuffle each time, not a secret
    store.queues.set_policy("default", QueuePolicy("lifo" if order == "lifo" else "fifo"))
    batch = [
        job(priority=chance.randrange(4), delay_us=chance.randrange(5) * SECOND, id=f"{number:04}")
        for number in range(1000)
    ]
    store.push(batch)
    clock.advance(2)
    store.settle([released(claim) for claim in store.claim(worker, ["default"], 100)])
    gone = {new.id for new in chance.sample(batch, 200)}
    store.operator.cancel(gone)
    clock.advance(10)
    sign = -1 if order == "lifo" else 1
    expected = sorted(
        (new for new in batch if new.id not in gone),
        key=lambda new: (-new.priority, sign * new.delay_us, sign * batch.index(new)),
    )
    assert claimed_ids(store, worker) == [new.id for new in expected]
