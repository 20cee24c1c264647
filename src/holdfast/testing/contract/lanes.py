"""Lanes take turns (I21): fair between them, in order within one, and what is held back costs the others nothing."""

from collections import Counter
from itertools import pairwise
from random import Random

from holdfast.model.queue import LaneRecord, Limits, QueuePolicy, Rate
from holdfast.model.verdict import done
from holdfast.model.worker import WorkerRecord
from holdfast.policy.moments import SECOND
from holdfast.store.protocol import Store
from holdfast.testing.contract.reference_model import Model
from holdfast.testing.contract.sample_jobs import (
    claimed,
    claimed_ids,
    enlisted,
    job,
    jobs,
    pushed,
    record,
    retry,
    verdict,
)
from holdfast.testing.contract.virtual_clock import VirtualClock


def lanes_of(store: Store, ids: list[str]) -> list[str | None]:
    return [record(store, job_id).lane for job_id in ids]


def push_into(store: Store, *lanes: str | None, number: int = 10) -> None:
    for lane in lanes:
        store.push(jobs(number, lane=lane))


def test_a_job_keeps_its_lane(store: Store) -> None:
    assert record(store, pushed(store, lane="example.com")).lane == "example.com"
    assert record(store, pushed(store)).lane is None


def test_lanes_take_turns(store: Store, worker: str) -> None:
    """I21"""
    push_into(store, "a", "b", "c")
    assert lanes_of(store, claimed_ids(store, worker, limit=9)) == ["a", "b", "c"] * 3


def test_lanes_take_turns_over_many_claims(store: Store, worker: str) -> None:
    """I21: whoever asks, the round goes on where it was."""
    push_into(store, "a", "b", "c")
    others = [worker, enlisted(store, lease_s=10_000)]
    taken = [job_id for number in range(12) for job_id in claimed_ids(store, others[number % 2], limit=1)]
    assert lanes_of(store, taken) == ["a", "b", "c"] * 4


def test_a_lane_with_many_jobs_delays_a_new_lane_by_one_round_at_most(store: Store, worker: str) -> None:
    """I21"""
    push_into(store, "big", number=500)
    claimed_ids(store, worker, limit=100)
    new = pushed(store, lane="new")
    assert new in claimed_ids(store, worker, limit=2)


def test_newcomers_without_end_overtake_no_lane_that_waits(store: Store, worker: str) -> None:
    """I21: a crawl finds new domains as fast as pages are fetched, and the old ones go on all the same."""
    push_into(store, "old", number=20)
    served: list[str | None] = []
    for number in range(40):
        push_into(store, f"new{number:02}", number=1)
        served += lanes_of(store, claimed_ids(store, worker, limit=1))
    turns = [number for number, lane in enumerate(served) if lane == "old"]
    rounds = [after - before for before, after in pairwise(turns)]
    assert rounds == [3, 4, 5, 6, 7, 8], "a round is as long as there are lanes: one more waits after each of its turns"


def test_a_lane_that_was_empty_does_not_claim_what_it_missed(store: Store, worker: str) -> None:
    """I21: it comes within one round, and then waits its turn like the others."""
    push_into(store, "a", "b", number=1)
    push_into(store, "a", number=50)
    claimed_ids(store, worker, limit=40)
    push_into(store, "b", number=10)
    assert Counter(lanes_of(store, claimed_ids(store, worker, limit=8))) == {"a": 4, "b": 4}


def test_jobs_without_a_lane_are_a_lane_among_the_others(store: Store, worker: str) -> None:
    push_into(store, None, "a")
    assert lanes_of(store, claimed_ids(store, worker, limit=4)) == [None, "a"] * 2


def test_weights_give_lanes_their_shares(store: Store, worker: str) -> None:
    store.queues.set_policy("default", QueuePolicy(weights={"gold": 3}))
    push_into(store, "gold", "tin", number=100)
    assert Counter(lanes_of(store, claimed_ids(store, worker, limit=40))) == {"gold": 30, "tin": 10}


def test_within_a_lane_priority_goes_first_then_the_order_of_arrival(store: Store, worker: str) -> None:
    """I19"""
    low, low_too, high = (pushed(store, lane="a", priority=priority) for priority in (0, 0, 5))
    other = pushed(store, lane="b", priority=-5)
    assert claimed_ids(store, worker) == [high, other, low, low_too]


def test_a_lifo_queue_turns_the_order_around_within_each_lane(store: Store, worker: str) -> None:
    store.queues.set_policy("default", QueuePolicy("lifo"))
    a = [pushed(store, lane="a") for _ in range(2)]
    b = [pushed(store, lane="b") for _ in range(2)]
    assert claimed_ids(store, worker) == [a[1], b[1], a[0], b[0]]


def test_a_job_that_becomes_due_joins_its_lane(store: Store, clock: VirtualClock, worker: str) -> None:
    later = pushed(store, lane="b", delay_us=5 * SECOND)
    push_into(store, "a")
    claimed_ids(store, worker, limit=3)
    clock.advance(5)
    assert later in claimed_ids(store, worker, limit=2)


def test_a_retried_job_comes_back_to_its_lane(store: Store, worker: str) -> None:
    job_id = pushed(store, lane="a")
    store.settle([retry(claimed(store, worker))])
    assert store.queues.lanes("default") == [LaneRecord("a", 1, 0, "open")]
    assert claimed_ids(store, worker) == [job_id]


def test_the_same_lane_in_two_queues_is_two_lanes(store: Store, worker: str) -> None:
    """Trap 43"""
    store.queues.set_policy("one", QueuePolicy(lane_limits=Limits(max_running=1)))
    store.push([*jobs(3, "one", lane="x"), *jobs(3, "two", lane="x")])
    assert len(claimed_ids(store, worker, "one", "two")) == 1 + 3


def test_lanes_are_shown_with_what_they_hold(store: Store, worker: str) -> None:
    push_into(store, "a", "b", None, number=2)
    claimed_ids(store, worker, limit=2)
    assert store.queues.lanes("default") == [
        LaneRecord("", 1, 1, "open"),
        LaneRecord("a", 1, 1, "open"),
        LaneRecord("b", 2, 0, "open"),
    ]
    assert store.queues.lanes("nowhere") == []


def test_a_lane_that_holds_nothing_is_not_shown(store: Store, worker: str) -> None:
    push_into(store, "a", number=1)
    store.settle([done(claimed(store, worker))])
    assert store.queues.lanes("default") == []


def test_a_paused_lane_hands_out_nothing_and_holds_up_nobody(store: Store, worker: str) -> None:
    push_into(store, "a", "b", number=2)
    assert store.queues.pause("default", "a")
    assert not store.queues.pause("default", "a")
    assert lanes_of(store, claimed_ids(store, worker)) == ["b", "b"]
    assert store.queues.lanes("default")[0] == LaneRecord("a", 2, 0, "paused")
    assert store.queues.resume("default", "a")
    assert not store.queues.resume("default", "a")
    assert lanes_of(store, claimed_ids(store, worker)) == ["a", "a"]


def test_a_lane_can_be_paused_before_its_first_job(store: Store, worker: str) -> None:
    assert store.queues.pause("default", "a")
    push_into(store, "a", number=1)
    assert claimed_ids(store, worker) == []
    assert store.queues.lanes("default") == [LaneRecord("a", 1, 0, "paused")]


def test_resuming_a_queue_leaves_its_paused_lanes_alone(store: Store, worker: str) -> None:
    push_into(store, "a", "b", number=1)
    store.queues.pause("default", "a")
    store.queues.pause("default")
    assert store.queues.resume("default")
    assert lanes_of(store, claimed_ids(store, worker)) == ["b"]


def test_there_is_no_lane_to_resume_where_none_ever_was(store: Store) -> None:
    pushed(store)
    assert not store.queues.resume("default", "a")
    assert not store.queues.resume("nowhere", "a")


def test_a_lane_whose_jobs_were_cancelled_or_purged_costs_the_others_nothing(store: Store, worker: str) -> None:
    push_into(store, "b", number=3)
    gone = [pushed(store, lane="a") for _ in range(2)]
    assert set(store.operator.cancel(gone).values()) == {"cancelled"}
    assert lanes_of(store, claimed_ids(store, worker, limit=1)) == ["b"]
    push_into(store, "c")
    store.queues.purge("default")
    assert claimed_ids(store, worker) == []
    push_into(store, "a", "c", number=1)
    assert lanes_of(store, claimed_ids(store, worker)) == ["a", "c"]


def test_thousands_of_lanes_are_each_served_once_a_round(store: Store, worker: str) -> None:
    """I21: from the moment at which they have joined. A claim takes in a bounded number of newcomers."""
    names = [f"lane{number:04}" for number in range(2500)]
    store.push([job(lane=name) for name in names for _ in range(2)])
    first = [lane for _ in range(3) for lane in lanes_of_claims(store, worker, 1)]
    first += lanes_of_claims(store, worker, 2500 - len(first))
    assert sorted(first) == sorted(lanes_of_claims(store, worker, 2500)) == names


def lanes_of_claims(store: Store, worker: str, number: int) -> list[str]:
    ids: list[str] = []
    while len(ids) < number:
        ids += claimed_ids(store, worker, limit=min(500, number - len(ids)))
    by_id = {one: record(store, one).lane for one in ids}
    return [by_id[one] or "" for one in ids]


def test_a_lane_that_is_held_back_no_longer_has_nothing_to_resume(
    store: Store, clock: VirtualClock, worker: str
) -> None:
    push_into(store, "a", number=1)
    store.settle([verdict(claimed(store, worker), "failed", slows_us=SECOND)])
    push_into(store, "b", number=1)
    clock.advance(2)
    assert not store.queues.resume("default", "a")
    claimed_ids(store, worker)
    store.tidy()
    assert not store.queues.resume("default", "a"), "forgotten or not, it is the same"


def test_very_many_lanes_are_served_in_the_order_of_the_model(store: Store, clock: VirtualClock, worker: str) -> None:
    """I21, I41: whatever part of the round a store looks at, the order is that of the whole."""
    model = Model(clock)
    model.enlist(WorkerRecord(worker, "host", 1, lease_us=10_000 * SECOND))
    lots = Random(1)  # noqa: S311  the same program every time
    policy = QueuePolicy(lane_limits=Limits(Rate(20 * SECOND, 3), max_running=3), weights={"lane07": 4, "lane23": 2})
    for at in (store.queues, model):
        at.set_policy("default", policy)
    for _ in range(60):
        new = [job(lane=f"lane{lots.randrange(40):02}", priority=lots.randrange(2)) for _ in range(lots.randrange(25))]
        store.push(new)
        model.push(new)
        limit = lots.choice((1, 3, 10))
        expected, claims = model.claim(worker, ["default"], limit), store.claim(worker, ["default"], limit)
        assert [one.id for one in claims] == [one.id for one in expected]
        ended = lots.sample(range(len(claims)), len(claims) // 2)
        store.settle([done(claims[which]) for which in ended])
        model.settle([done(expected[which]) for which in ended])
        waiting = [one.id for one in model.all() if one.state == "ready"]
        gone = lots.sample(waiting, len(waiting) // 3)  # so that lanes are empty which were open
        assert store.operator.cancel(gone) == model.cancel(gone)
        clock.advance(lots.choice((0, 0, 1, 5)))


def test_lanes_that_rest_are_forgotten_and_nobody_can_tell(store: Store, clock: VirtualClock, worker: str) -> None:
    store.queues.set_policy("default", QueuePolicy(lane_limits=Limits(Rate(60 * SECOND, 2))))
    push_into(store, "a", number=1)
    store.settle([done(claimed(store, worker))])
    store.tidy()
    push_into(store, "a", number=3)
    assert len(claimed_ids(store, worker)) == 1, "one of two was used up before"
    store.queues.purge("default")
    clock.advance(100_000)
    worker = enlisted(store)
    push_into(store, "z", number=1)
    claimed_ids(store, worker)
    store.tidy()
    push_into(store, "a", number=2)
    assert len(claimed_ids(store, worker)) == 2
