"""Where priorities age, a job gains a point for each `ageing_us` that it has been due (I19): exactly, and at once."""

import random

import pytest

from holdfast.model.queue import QueueOverlay, QueuePolicy
from holdfast.model.verdict import released
from holdfast.policy.ageing import LONGEST_US
from holdfast.policy.moments import SECOND
from holdfast.store.protocol import Store
from holdfast.testing.contract.reference_model import Model
from holdfast.testing.contract.sample_jobs import claimed, claimed_ids, enlisted, job, pushed, retry
from holdfast.testing.contract.virtual_clock import VirtualClock

TEN_SECONDS = QueuePolicy(ageing_us=10 * SECOND)
DAY = 86_400 * SECOND
LOWEST, HIGHEST = -(2**31), 2**31 - 1
LANES = (None, "a")


@pytest.mark.parametrize("lane", LANES)
@pytest.mark.parametrize(
    ("later_us", "is_old_enough"), [(30 * SECOND - 1, False), (30 * SECOND, True), (30 * SECOND + 1, True)]
)
def test_a_job_that_has_been_due_for_long_enough_goes_before_a_higher_priority(
    store: Store, clock: VirtualClock, worker: str, lane: str | None, later_us: int, is_old_enough: bool
) -> None:
    """I19: three points are worth thirty seconds, to the microsecond; among equals the one that is due longer is first."""
    store.queues.set_policy("default", TEN_SECONDS)
    old = pushed(store, priority=-1, lane=lane)
    clock.now_us += later_us
    urgent = pushed(store, priority=2, lane=lane)
    worker = enlisted(store)
    assert claimed_ids(store, worker) == ([old, urgent] if is_old_enough else [urgent, old])


def test_urgent_jobs_without_end_starve_no_other(store: Store, clock: VirtualClock, worker: str) -> None:
    """I19: with one job a second and a point a second, the old one is behind those of its first five seconds only."""
    store.queues.set_policy("default", QueuePolicy(ageing_us=SECOND))
    old, served = pushed(store), list[str]()
    while old not in served:
        store.push([job(priority=5), job(priority=5)])
        served.append(claimed(store, enlisted(store)).id)
        clock.advance(1)
        assert len(served) <= 11
    assert len(served) == 11


def test_ageing_begins_when_a_job_is_due(store: Store, clock: VirtualClock, worker: str) -> None:
    store.queues.set_policy("default", TEN_SECONDS)
    pushed_long_ago = pushed(store, delay_us=20 * SECOND)
    clock.advance(29)
    urgent = pushed(store, priority=1)
    assert claimed_ids(store, enlisted(store)) == [urgent, pushed_long_ago]


def test_a_job_that_runs_again_ages_from_its_new_time_and_one_that_was_handed_back_from_its_old(
    store: Store, clock: VirtualClock
) -> None:
    store.queues.set_policy("default", TEN_SECONDS)
    first, second = pushed(store), pushed(store)
    claims = store.claim(enlisted(store), ["default"], 2)
    clock.advance(9)
    store.settle([retry(claims[0], 0), released(claims[1])])
    clock.advance(2)
    urgent = pushed(store, priority=1)
    assert claimed_ids(store, enlisted(store)) == [second, urgent, first]


def test_each_lane_has_its_own_order_and_its_turn(store: Store, clock: VirtualClock) -> None:
    """I21: age in one lane is nothing to another."""
    store.queues.set_policy("default", TEN_SECONDS)
    old_a, old_b = pushed(store, lane="a"), pushed(store, lane="b", priority=-9)
    clock.advance(25)
    urgent_a, urgent_b = pushed(store, lane="a", priority=2), pushed(store, lane="b", priority=2)
    assert claimed_ids(store, enlisted(store)) == [old_a, urgent_b, urgent_a, old_b]


def test_a_change_holds_from_the_next_claim_for_what_is_there_already(store: Store, clock: VirtualClock) -> None:
    old = pushed(store)
    clock.advance(100)
    urgent = [pushed(store, priority=priority) for priority in (7, 9, 11)]
    worker = enlisted(store)
    assert claimed(store, worker).id == urgent[2]
    store.queues.set_policy("default", TEN_SECONDS)
    assert claimed(store, worker).id == old
    store.queues.set_overlay("default", QueueOverlay(ageing_us=None))
    assert claimed_ids(store, worker) == urgent[1::-1]


def test_a_merge_into_a_higher_priority_moves_a_job_by_the_points(store: Store, clock: VirtualClock) -> None:
    store.queues.set_policy("default", TEN_SECONDS)
    store.push([job(id="old", key="k")])
    clock.advance(25)
    urgent = pushed(store, priority=3)
    store.push([job(key="k", priority=1)])
    assert claimed_ids(store, enlisted(store)) == ["old", urgent]


def test_in_a_lifo_queue_nothing_ages_whoever_wanted_it(store: Store, clock: VirtualClock, worker: str) -> None:
    store.queues.set_policy("default", TEN_SECONDS)
    store.queues.set_overlay("default", QueueOverlay(order="lifo"))
    old, less_old = pushed(store), pushed(store)
    clock.advance(100)
    urgent = pushed(store, priority=1)
    worker = enlisted(store)
    assert claimed(store, worker).id == urgent
    store.queues.set_overlay("default", QueueOverlay(ageing_us=SECOND))
    store.queues.set_policy("default", QueuePolicy("lifo"))
    assert claimed(store, worker).id == less_old
    found = store.queues.get("default")
    assert found is not None
    assert (found.policy, found.overlay) == (QueuePolicy("lifo"), QueueOverlay(ageing_us=SECOND))
    assert claimed(store, worker).id == old


@pytest.mark.parametrize("lane", LANES)
@pytest.mark.parametrize(
    ("ageing_us", "expected"),
    [
        (1, ["highest", "ten", "old", "two", "none", "minus two", "lowest"]),
        (60 * SECOND, ["highest", "ten", "two", "old", "none", "minus two", "lowest"]),
        (DAY, ["highest", "ten", "two", "old", "none", "minus two", "lowest"]),
        (LONGEST_US - 1, ["two", "highest", "ten", "old", "none", "lowest", "minus two"]),
        (LONGEST_US, ["two", "highest", "ten", "old", "none", "lowest", "minus two"]),
    ],
)
def test_the_longest_time_and_the_furthest_priorities_are_exact(
    store: Store, clock: VirtualClock, lane: str | None, ageing_us: int, expected: list[str]
) -> None:
    """A head start is a hundred years at most: beyond that, those that arrived first go first."""
    store.queues.set_policy("default", QueuePolicy(ageing_us=ageing_us))
    store.push([job(id="old", lane=lane)])
    clock.now_us += 5
    priorities = {"two": 2, "lowest": LOWEST, "none": 0, "highest": HIGHEST, "ten": 10, "minus two": -2}
    store.push([job(id=name, priority=priority, lane=lane) for name, priority in priorities.items()])
    assert claimed_ids(store, enlisted(store)) == expected


def test_it_counts_by_the_microsecond_at_the_furthest_head_start(store: Store, clock: VirtualClock) -> None:
    """The numbers are larger than any other here by far; one that was rounded would have the later one go first."""
    store.queues.set_policy("default", QueuePolicy(ageing_us=LONGEST_US))
    ids = []
    for priority in (7, HIGHEST, 1, LOWEST, -1):
        ids.append(pushed(store, priority=priority))
        clock.now_us += 1
    assert claimed_ids(store, enlisted(store)) == ids


@pytest.mark.parametrize("ageing_us", [1, 3, SECOND, 7 * SECOND + 1, DAY, 40_000 * DAY // 3])
def test_a_shuffle_comes_out_as_the_model_has_it(store: Store, clock: VirtualClock, ageing_us: int) -> None:
    """I19, I41: in one lane and in several, by ones and in bulk, also while more are coming."""
    chance = random.Random(ageing_us)  # noqa: S311 - the same shuffle each time, not a secret
    model = Model(clock)
    store.queues.set_policy("default", QueuePolicy(ageing_us=ageing_us))
    model.set_policy("default", QueuePolicy(ageing_us=ageing_us))
    worker = enlisted(store)
    model.enlist(store.inspector.workers()[0])
    for _ in range(12):
        batch = [
            job(
                priority=chance.choice((0, 1, -1, 5, chance.randrange(-50, 50), HIGHEST, LOWEST)),
                delay_us=chance.randrange(3) * chance.randrange(SECOND),
                lane=chance.choice((None, None, "a", "b")),
            )
            for _ in range(20)
        ]
        store.push(batch)
        model.push(batch)
        clock.now_us += chance.choice((0, 1, 2, SECOND // 2))
        for limit in (1, 1, chance.randrange(20)):
            expected = [claim.id for claim in model.claim(worker, ["default"], limit)]
            assert claimed_ids(store, worker, limit=limit) == expected
        store.beat(worker)
        model.beat(worker)
    rest = [claim.id for claim in model.claim(worker, ["default"], 1000)]
    assert claimed_ids(store, worker) == rest
