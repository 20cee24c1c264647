"""Rates and numbers of running jobs, of queues and of lanes: they hold for all workers together (I22)."""

from collections.abc import Callable

import pytest

from holdfast.model.claim import Claim
from holdfast.model.queue import LaneRecord, Limits, QueueOverlay, QueuePolicy, QueueRecord, Rate
from holdfast.model.verdict import Verdict, crashed, done, released
from holdfast.policy.moments import SECOND
from holdfast.store.protocol import Store
from holdfast.testing.contract.background_call import Call
from holdfast.testing.contract.sample_jobs import (
    claimed,
    claimed_ids,
    enlisted,
    failed,
    jobs,
    pushed,
    retry,
    snoozed,
    state,
    unknown_task,
    verdict,
)
from holdfast.testing.contract.virtual_clock import VirtualClock

SLOW = QueuePolicy(limits=Limits(Rate(10 * SECOND, 1)))
BURST = QueuePolicy(limits=Limits(Rate(SECOND, 3)))
TWO = QueuePolicy(limits=Limits(max_running=2))
POLITE = QueuePolicy(lane_limits=Limits(Rate(10 * SECOND, 1)))
ONE_EACH = QueuePolicy(lane_limits=Limits(max_running=1))


Ending = Callable[[Claim], Verdict]


def set_policy(store: Store, policy: QueuePolicy) -> None:
    store.queues.set_policy("default", policy)


def queue(store: Store) -> QueueRecord:
    found = store.queues.get("default")
    assert found is not None
    return found


# --- rates ------------------------------------------------------------------------------------------------------


def test_a_rate_spaces_out_the_starts(store: Store, clock: VirtualClock, worker: str) -> None:
    """I22"""
    set_policy(store, SLOW)
    ids = [pushed(store) for _ in range(3)]
    assert claimed_ids(store, worker) == ids[:1]
    clock.advance(9.999_999)
    assert claimed_ids(store, worker) == []
    clock.advance(0.000_001)
    assert claimed_ids(store, worker) == ids[1:2]


def test_a_burst_goes_at_once_and_is_saved_up_again_in_a_rest(store: Store, clock: VirtualClock, worker: str) -> None:
    """I22"""
    set_policy(store, BURST)
    store.push(jobs(20))
    assert len(claimed_ids(store, worker)) == 3
    clock.advance(1)
    assert len(claimed_ids(store, worker)) == 1
    clock.advance(2)
    assert len(claimed_ids(store, worker)) == 2
    clock.advance(1000)
    assert len(claimed_ids(store, worker)) == 3, "never more than the burst"


def test_a_rate_holds_for_all_workers_together(store: Store, worker: str) -> None:
    """I22"""
    set_policy(store, BURST)
    store.push(jobs(20))
    others = [worker, *(enlisted(store) for _ in range(3))]
    assert sum(len(claimed_ids(store, one, limit=2)) for one in others) == 3


def test_what_a_rate_lets_through_it_does_not_get_back(store: Store, worker: str) -> None:
    """A start is a start, however it ends."""
    set_policy(store, SLOW)
    store.push(jobs(2))
    store.settle([released(claimed(store, worker))])
    assert claimed_ids(store, worker) == []


def test_a_lane_rate_holds_for_each_lane(store: Store, clock: VirtualClock, worker: str) -> None:
    """I22"""
    set_policy(store, POLITE)
    a, b = [pushed(store, lane="a") for _ in range(3)], [pushed(store, lane="b") for _ in range(3)]
    assert claimed_ids(store, worker) == [a[0], b[0]]
    clock.advance(10)
    assert claimed_ids(store, worker) == [a[1], b[1]]


def test_a_limited_lane_does_not_hold_up_the_others(store: Store, worker: str) -> None:
    """I21: no head-of-line blocking."""
    set_policy(store, POLITE)
    store.push([*jobs(500, lane="a", priority=9), *jobs(3, lane="b")])
    assert len(claimed_ids(store, worker)) == 2
    assert len(claimed_ids(store, worker)) == 0
    new = pushed(store, lane="c", priority=-9)
    assert claimed_ids(store, worker, limit=1) == [new]


def test_a_queue_and_its_lanes_are_limited_together(store: Store, clock: VirtualClock, worker: str) -> None:
    set_policy(store, QueuePolicy(limits=Limits(Rate(SECOND, 2)), lane_limits=Limits(Rate(10 * SECOND, 1))))
    store.push([*jobs(5, lane="a"), *jobs(5, lane="b"), *jobs(5, lane="c")])
    assert len(claimed_ids(store, worker)) == 2
    clock.advance(2)
    assert len(claimed_ids(store, worker)) == 1, "only c has not had its start"
    clock.advance(2)
    assert claimed_ids(store, worker) == []


def test_a_rate_of_nought_stops_at_once(store: Store, clock: VirtualClock, worker: str) -> None:
    """Trap 5: tokens saved up before are of no use."""
    set_policy(store, BURST)
    store.push([*jobs(5), *jobs(5, lane="a")])
    set_policy(store, QueuePolicy(limits=Limits(Rate(0, 3))))
    clock.advance(100)
    assert (claimed_ids(store, worker), queue(store).standing) == ([], "stopped")
    set_policy(store, QueuePolicy(lane_limits=Limits(Rate(0, 1))))
    assert claimed_ids(store, worker) == []
    assert {lane.standing for lane in store.queues.lanes("default")} == {"stopped"}
    set_policy(store, QueuePolicy())
    assert len(claimed_ids(store, worker)) == 10


def test_a_higher_rate_takes_effect_at_once(store: Store, clock: VirtualClock, worker: str) -> None:
    set_policy(store, QueuePolicy(lane_limits=Limits(Rate(3600 * SECOND, 1))))
    store.push([*jobs(5, lane="a"), *jobs(5, lane="b")])
    assert len(claimed_ids(store, worker)) == 2
    set_policy(store, QueuePolicy(lane_limits=Limits(Rate(SECOND, 1))))
    clock.advance(1)
    assert len(claimed_ids(store, worker)) == 2


def test_a_lower_rate_takes_effect_at_once(store: Store, clock: VirtualClock, worker: str) -> None:
    set_policy(store, QueuePolicy(limits=Limits(Rate(SECOND, 10))))
    store.push(jobs(30))
    set_policy(store, SLOW)
    assert len(claimed_ids(store, worker)) == 1
    clock.advance(9)
    assert claimed_ids(store, worker) == []


def test_a_limited_queue_tells_until_when(store: Store, clock: VirtualClock, worker: str) -> None:
    set_policy(store, QueuePolicy(limits=Limits(Rate(10 * SECOND)), lane_limits=Limits(Rate(20 * SECOND))))
    store.push(jobs(2, lane="a"))
    claimed(store, worker)
    assert (queue(store).standing, queue(store).until_us) == ("limited", clock.in_s(10))
    assert store.queues.lanes("default") == [LaneRecord("a", 1, 1, "limited", clock.in_s(20))]
    clock.advance(10)
    assert (queue(store).standing, queue(store).until_us) == ("open", None)


# --- how many run -----------------------------------------------------------------------------------------------


def test_no_more_jobs_run_than_may(store: Store, worker: str) -> None:
    """I22"""
    set_policy(store, TWO)
    store.push(jobs(5))
    assert len(claimed_ids(store, worker)) == 2
    assert claimed_ids(store, enlisted(store)) == []
    assert queue(store).standing == "full"


@pytest.mark.parametrize(
    "ending", [done, failed, retry, snoozed, released, unknown_task, lambda claim: crashed(claim, "died")]
)
def test_every_ending_makes_room(store: Store, worker: str, ending: Ending) -> None:
    """I22: a place cannot leak."""
    set_policy(store, QueuePolicy(limits=Limits(max_running=1), lane_limits=Limits(max_running=1)))
    store.push(jobs(3, lane="a", priority=-1))
    store.settle([ending(claimed(store, worker))])
    assert len(claimed_ids(store, worker)) == 1


def test_a_dead_workers_jobs_make_room(store: Store, clock: VirtualClock, worker: str) -> None:
    """I22, I13"""
    set_policy(store, QueuePolicy(limits=Limits(max_running=2), lane_limits=Limits(max_running=1)))
    store.push([*jobs(2, lane="a"), *jobs(2, lane="b")])
    mortal = enlisted(store, lease_s=10)
    assert len(claimed_ids(store, mortal)) == 2
    assert claimed_ids(store, worker) == []
    clock.advance(11)
    store.rescue()
    assert len(claimed_ids(store, worker)) == 2


def test_a_worker_that_leaves_makes_room(store: Store, worker: str) -> None:
    set_policy(store, TWO)
    store.push(jobs(4))
    other = enlisted(store)
    assert len(claimed_ids(store, other)) == 2
    store.leave(other)
    assert len(claimed_ids(store, worker)) == 2


def test_in_each_lane_no_more_jobs_run_than_may(store: Store, worker: str) -> None:
    """I22"""
    set_policy(store, ONE_EACH)
    a, b = [pushed(store, lane="a") for _ in range(3)], [pushed(store, lane="b") for _ in range(3)]
    assert claimed_ids(store, worker) == [a[0], b[0]]
    assert claimed_ids(store, worker) == []
    assert [lane.standing for lane in store.queues.lanes("default")] == ["full", "full"]


def test_room_in_a_lane_is_used_in_the_step_that_makes_it(store: Store, worker: str) -> None:
    set_policy(store, ONE_EACH)
    first, second = pushed(store, lane="a"), pushed(store, lane="a")
    claim = claimed(store, worker)
    lost, claims = store.exchange([done(claim)], worker, ["default"], 5)
    assert (claim.id, lost, [one.id for one in claims]) == (first, [], [second])


def test_a_higher_number_takes_effect_at_once(store: Store, worker: str) -> None:
    set_policy(store, ONE_EACH)
    store.push(jobs(5, lane="a"))
    assert len(claimed_ids(store, worker)) == 1
    set_policy(store, QueuePolicy(lane_limits=Limits(max_running=3)))
    assert len(claimed_ids(store, worker)) == 2


def test_a_lower_number_lets_what_runs_run_on(store: Store, worker: str) -> None:
    set_policy(store, QueuePolicy(limits=Limits(max_running=3)))
    store.push(jobs(5))
    claims = store.claim(worker, ["default"], 10)
    set_policy(store, QueuePolicy(limits=Limits(max_running=1)))
    store.settle([done(claims[0]), done(claims[1])])
    assert claimed_ids(store, worker) == []
    store.settle([done(claims[2])])
    assert len(claimed_ids(store, worker)) == 1


def test_a_limit_that_comes_while_jobs_run_counts_them(store: Store, worker: str) -> None:
    store.push([*jobs(2), *jobs(2, lane="a")])
    assert len(claimed_ids(store, worker, limit=2)) == 2
    set_policy(store, TWO)
    assert claimed_ids(store, worker) == []


# --- ahead ------------------------------------------------------------------------------------------------------


def test_jobs_are_handed_out_ahead_only_from_queues_without_limits(store: Store, worker: str) -> None:
    store.queues.set_policy("limited", QueuePolicy(limits=Limits(max_running=100)))
    store.push([*jobs(5, "limited"), *jobs(5, "plain")])
    assert [one.queue for one in store.claim(worker, ["limited", "plain"], 2, ahead=1)] == ["limited"] * 2 + ["plain"]
    assert [one.queue for one in store.claim(worker, ["plain", "limited"], 1, ahead=2)] == ["plain"] * 3
    _, claims = store.exchange([], worker, ["limited"], 1, ahead=5)
    assert len(claims) == 1


def test_a_claim_tells_whether_its_queue_has_limits(store: Store, worker: str) -> None:
    store.queues.set_policy("limited", QueuePolicy(lane_limits=Limits(max_running=100)))
    store.queues.set_policy("weighted", QueuePolicy(weights={"a": 2}))
    store.push([*jobs(1, "limited"), *jobs(1, "weighted", lane="a"), *jobs(1, "plain")])
    claims = store.claim(worker, ["limited", "weighted", "plain"], 10)
    assert [(one.queue, one.is_limited) for one in claims] == [("limited", True), ("weighted", False), ("plain", False)]


# --- overlays ---------------------------------------------------------------------------------------------------


def test_what_an_operator_sets_goes_before_what_is_declared(store: Store, worker: str) -> None:
    set_policy(store, QueuePolicy(limits=Limits(max_running=5)))
    assert store.queues.set_overlay("default", QueueOverlay(max_running=1))
    assert not store.queues.set_overlay("default", QueueOverlay(max_running=1))
    set_policy(store, QueuePolicy(limits=Limits(max_running=6)))
    store.push(jobs(9))
    assert len(claimed_ids(store, worker)) == 1
    record = queue(store)
    assert (record.policy.limits.max_running, record.overlay.max_running) == (1, 1)
    assert store.queues.set_overlay("default", QueueOverlay())
    assert len(claimed_ids(store, worker)) == 5


def test_an_operator_can_take_a_limit_away(store: Store, worker: str) -> None:
    set_policy(store, TWO)
    store.queues.set_overlay("default", QueueOverlay(max_running=None, lane_rate=Rate(SECOND, 7)))
    store.push(jobs(9))
    assert len(claimed_ids(store, worker)) == 7


# --- slowed by a task -------------------------------------------------------------------------------------------


def test_a_task_can_have_its_lane_left_alone(store: Store, clock: VirtualClock, worker: str) -> None:
    a = [pushed(store, lane="a") for _ in range(2)]
    b = [pushed(store, lane="b") for _ in range(2)]
    claim = claimed(store, worker)
    store.settle([verdict(claim, "snoozed", delay_us=30 * SECOND, slows_us=30 * SECOND)])
    assert claimed_ids(store, worker) == b
    assert store.queues.lanes("default")[0] == LaneRecord("a", 1, 0, "slowed", clock.in_s(30))
    clock.advance(30)
    assert sorted(claimed_ids(store, worker)) == sorted(a)


def test_without_a_lane_it_is_the_queue_that_is_left_alone(store: Store, clock: VirtualClock, worker: str) -> None:
    store.push([*jobs(2), *jobs(2, lane="z")])
    claim = claimed(store, worker)
    store.settle([verdict(claim, "snoozed", slows_us=30 * SECOND)])
    assert (claimed_ids(store, worker), state(store, claim.id)) == ([], "ready")
    assert (queue(store).standing, queue(store).until_us) == ("slowed", clock.in_s(30))
    clock.advance(30)
    assert len(claimed_ids(store, worker)) == 4


def test_a_person_can_let_a_slowed_lane_go(store: Store, worker: str) -> None:
    store.push(jobs(2, lane="a"))
    store.settle([verdict(claimed(store, worker), "released", slows_us=30 * SECOND)])
    assert claimed_ids(store, worker) == []
    assert store.queues.resume("default", "a")
    assert len(claimed_ids(store, worker)) == 2


# --- waiting ----------------------------------------------------------------------------------------------------


def test_a_waiter_wakes_when_a_rate_lets_the_next_job_start(live_store: Store) -> None:
    live_store.queues.set_policy("default", QueuePolicy(lane_limits=Limits(Rate(SECOND // 4, 1))))
    live_store.push(jobs(2, lane="a"))
    worker = enlisted(live_store)
    assert len(claimed_ids(live_store, worker)) == 1
    begun = live_store.now()
    while not (ids := claimed_ids(live_store, worker)):
        live_store.wait(["default"], 5)
    assert len(ids) == 1
    assert live_store.now() - begun < SECOND


def test_a_waiter_wakes_when_a_run_makes_room(live_store: Store) -> None:
    live_store.queues.set_policy("default", QueuePolicy(limits=Limits(max_running=1)))
    live_store.push(jobs(2))
    worker = enlisted(live_store)
    claim = claimed(live_store, worker)
    assert claimed_ids(live_store, worker) == []
    waiting = Call(lambda: live_store.wait(["default"], 20))
    assert not waiting.is_back(0.1), "nothing can start"
    live_store.settle([done(claim)])
    waiting.result()
    assert len(claimed_ids(live_store, worker)) == 1
