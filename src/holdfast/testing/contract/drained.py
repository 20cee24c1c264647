"""Drained queues: each drain is found, has a number, and is told until somebody acts on it. Jobs found by lane."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from holdfast.model.claim import Claim
from holdfast.model.query import Query
from holdfast.model.queue import Drained, Limits, QueueOverlay, QueuePolicy, Rate
from holdfast.model.states import UNFINISHED, State
from holdfast.model.verdict import crashed, done, released
from holdfast.policy.moments import SECOND
from holdfast.store.protocol import Store
from holdfast.testing.contract.sample_jobs import (
    bad_seal,
    claimed,
    enlisted,
    failed,
    job,
    jobs,
    pushed,
    retry,
    unknown_task,
)
from holdfast.testing.contract.virtual_clock import VirtualClock

TELLING = QueuePolicy(tells_drained=True)
OPEN: tuple[State, ...] = tuple(state for state in UNFINISHED if state != "parked")


def watched(store: Store, queue: str = "default", policy: QueuePolicy = TELLING) -> None:
    store.queues.set_policy(queue, policy)


def found(store: Store, *queues: str) -> list[tuple[str, int]]:
    return [(one.queue, one.number) for one in store.queues.find_drained(queues or ("default",))]


def drains(store: Store, queue: str = "default") -> int:
    record = store.queues.get(queue)
    assert record is not None
    return record.drains


def worked_off(store: Store, worker: str, queue: str = "default") -> None:
    while claims := store.claim(worker, [queue], 10):
        assert store.settle([done(claim) for claim in claims]) == []


# --- when a queue has drained -------------------------------------------------------------------------------


def test_a_queue_is_found_drained_when_its_last_job_has_ended(store: Store, worker: str) -> None:
    watched(store)
    store.push(jobs(2))
    assert found(store) == [], "two are ready"
    first, second = store.claim(worker, ["default"], 2)
    assert found(store) == [], "two run"
    store.settle([done(first)])
    assert found(store) == [], "one runs"
    store.settle([done(second)])
    assert store.queues.find_drained(["default"]) == [Drained("default", 1)]
    assert drains(store) == 1


def test_a_queue_that_was_never_busy_has_not_drained(store: Store) -> None:
    watched(store)
    assert found(store) == []
    ids = [pushed(store), pushed(store)]
    store.operator.cancel(ids[:1])
    store.operator.delete(ids[1:])
    assert found(store) == [], "nothing has ever started"
    assert drains(store) == 0


def test_a_drain_is_told_until_somebody_has_acted_on_it_and_then_no_more(store: Store, worker: str) -> None:
    watched(store)
    pushed(store)
    worked_off(store, worker)
    assert found(store) == [("default", 1)]
    assert found(store) == [("default", 1)], "whoever was told may have died"
    store.queues.tell_drained("default", 1)
    assert found(store) == []
    assert drains(store) == 1


def test_each_time_a_queue_drains_has_a_number_of_its_own(store: Store, worker: str) -> None:
    watched(store)
    for number in (1, 2, 3):
        store.push(jobs(2))
        worked_off(store, worker)
        assert found(store) == [("default", number)]
        store.queues.tell_drained("default", number)


def test_drains_that_nobody_was_told_of_are_told_as_one(store: Store, worker: str) -> None:
    watched(store)
    for _ in range(3):
        pushed(store)
        worked_off(store, worker)
        store.queues.find_drained(["default"])
    assert found(store) == [("default", 3)]
    store.queues.tell_drained("default", 1)
    assert found(store) == [("default", 3)], "somebody came late with an old one"
    store.queues.tell_drained("default", 3)
    store.queues.tell_drained("default", 2)
    assert found(store) == []


def test_a_drain_that_is_told_while_the_queue_is_busy_again_stays_told(store: Store, worker: str) -> None:
    watched(store)
    pushed(store)
    worked_off(store, worker)
    assert found(store) == [("default", 1)]
    pushed(store)
    claim = claimed(store, worker)
    assert found(store) == [("default", 1)], "it has drained, whatever has come since"
    store.queues.tell_drained("default", 1)
    assert found(store) == []
    store.settle([done(claim)])
    assert found(store) == [("default", 2)]


def test_a_drain_that_never_was_cannot_be_acted_on(store: Store, worker: str) -> None:
    watched(store)
    pushed(store)
    store.queues.tell_drained("default", 99)
    worked_off(store, worker)
    assert found(store) == [("default", 1)]
    store.queues.tell_drained("nowhere", 1)
    assert store.queues.get("nowhere") is None


@pytest.mark.parametrize("held", ["scheduled", "waiting", "spilled", "retried", "released", "crashed"])
def test_what_has_yet_to_start_keeps_a_queue_from_draining(
    store: Store, clock: VirtualClock, worker: str, held: str
) -> None:
    watched(store, policy=QueuePolicy(tells_drained=True, max_size=1, on_full="spill"))
    pushed(store, key="k")
    claim = claimed(store, worker)
    if held in ("scheduled", "spilled"):
        pushed(store, delay_us=5 * SECOND)
    if held == "spilled":
        assert store.push([job()])[0].decision == "spilled"
    if held == "waiting":
        pushed(store, key="k", runs_after=True)
    endings = {"retried": retry(claim, 5), "released": released(claim), "crashed": crashed(claim, "it died")}
    assert store.settle([endings.get(held) or done(claim)]) == []
    assert found(store) == []
    clock.advance(10)
    worked_off(store, worker)
    assert found(store) == [("default", 1)]


def test_a_spilled_job_alone_keeps_a_queue_from_draining(store: Store, worker: str) -> None:
    watched(store, policy=QueuePolicy(tells_drained=True, max_size=1, on_full="spill"))
    pushed(store)
    claim = claimed(store, worker)
    store.queues.set_overlay("default", QueueOverlay(max_size=0))
    assert store.push([job()])[0].decision == "spilled"
    store.settle([done(claim)])
    counts = store.queues.get("default")
    assert counts is not None
    assert counts.counts == {"succeeded": 1, "spilled": 1}
    assert found(store) == []


def test_a_parked_job_waits_for_a_person_and_keeps_no_queue_from_draining(store: Store, worker: str) -> None:
    watched(store)
    pushed(store)
    store.settle([unknown_task(claimed(store, worker))])
    assert found(store) == [("default", 1)]


def test_a_job_that_waits_for_a_parked_one_keeps_a_queue_from_draining(store: Store, worker: str) -> None:
    watched(store)
    pushed(store, key="k")
    claim = claimed(store, worker)
    pushed(store, key="k", runs_after=True)
    store.settle([bad_seal(claim)])
    record = store.queues.get("default")
    assert record is not None
    assert record.counts == {"parked": 1, "waiting": 1}
    assert found(store) == []


def test_a_failure_ends_a_job_as_well_as_a_success(store: Store, worker: str) -> None:
    watched(store)
    pushed(store)
    store.settle([failed(claimed(store, worker))])
    assert found(store) == [("default", 1)]


@pytest.mark.parametrize("way", ["cancel", "delete", "purge", "expire"])
def test_a_queue_drains_when_the_rest_of_it_is_taken_away(
    store: Store, clock: VirtualClock, worker: str, way: str
) -> None:
    watched(store)
    store.push([job(expires_us=clock.in_s(5)) for _ in range(3)])
    store.settle([done(claimed(store, worker))])
    assert found(store) == []
    rest = [one.id for one in store.inspector.find(Query(("ready",)))]
    if way == "expire":
        clock.advance(6)
        store.tidy()
    elif way == "purge":
        assert store.queues.purge("default") == 2
    else:
        getattr(store.operator, way)(rest)
    assert found(store) == [("default", 1)]


def test_a_queue_drains_when_its_worker_has_died_and_the_budget_is_used_up(store: Store, clock: VirtualClock) -> None:
    watched(store)
    pushed(store, crash_budget=1)
    claimed(store, enlisted(store, lease_s=10))
    clock.advance(11)
    assert found(store) == [], "nobody has taken its job yet"
    store.rescue()
    assert found(store) == [("default", 1)]


def test_a_job_that_is_retried_by_a_person_makes_the_queue_busy_again(store: Store, worker: str) -> None:
    watched(store)
    job_id = pushed(store)
    store.settle([failed(claimed(store, worker))])
    assert found(store) == [("default", 1)]
    store.queues.tell_drained("default", 1)
    store.operator.retry([job_id])
    assert found(store) == []
    worked_off(store, worker)
    assert found(store) == [("default", 2)]


def test_lanes_and_limits_do_not_matter(store: Store, clock: VirtualClock, worker: str) -> None:
    limits = Limits(Rate(SECOND, 1))
    watched(store, policy=QueuePolicy(tells_drained=True, lane_limits=limits, weights={"x": 2}))
    store.push([job(lane=lane) for lane in ("x", "x", "y", None)])
    worked_off(store, worker)
    assert found(store) == [], "the second of lane x may not start yet"
    clock.advance(1)
    worked_off(store, worker)
    assert found(store) == [("default", 1)]


def test_workers_that_end_the_last_jobs_at_one_moment_find_the_drain_whoever_looks_last(live_store: Store) -> None:
    watched(live_store)
    workers = [enlisted(live_store, lease_s=1000) for _ in range(2)]

    def end_and_look(claim: Claim) -> list[Drained]:
        assert live_store.settle([done(claim)]) == []
        return live_store.queues.find_drained(["default"])

    with ThreadPoolExecutor(2) as pool:
        for number in range(1, 31):
            live_store.push(jobs(2))
            claims = [claimed(live_store, worker) for worker in workers]
            seen = [one for answer in pool.map(end_and_look, claims) for one in answer]
            assert set(seen) == {Drained("default", number)}
            live_store.queues.tell_drained("default", number)
    assert drains(live_store) == 30


# --- who is told of what ------------------------------------------------------------------------------------


def test_a_queue_whose_policy_does_not_want_it_tells_nothing(store: Store, worker: str) -> None:
    store.queues.set_policy("laned", QueuePolicy(weights={"x": 2}))
    for queue in ("default", "laned"):
        pushed(store, queue)
        worked_off(store, worker, queue)
    assert found(store, "default", "laned", "nowhere") == []
    assert [drains(store, queue) for queue in ("default", "laned")] == [0, 0]


def test_queues_are_told_in_the_order_asked_and_each_once(store: Store, worker: str) -> None:
    for queue in ("a", "b", "c"):
        watched(store, queue)
    for queue in ("a", "b"):
        pushed(store, queue)
        worked_off(store, worker, queue)
    pushed(store, "c")
    assert found(store, "b", "c", "nowhere", "a", "b") == [("b", 1), ("a", 1)]
    assert found(store, "a") == [("a", 1)]
    assert store.queues.find_drained([]) == []


def test_what_has_ended_before_anybody_wanted_to_be_told_is_not_told(store: Store, worker: str) -> None:
    pushed(store, lane="x")
    worked_off(store, worker)
    watched(store)
    assert found(store) == []
    pushed(store)
    worked_off(store, worker)
    assert found(store) == [("default", 1)]
    watched(store, policy=QueuePolicy())
    assert found(store) == []
    pushed(store)
    worked_off(store, worker)
    watched(store)
    assert found(store) == []
    pushed(store)
    worked_off(store, worker)
    assert found(store) == [("default", 2)]


def test_what_ran_already_when_somebody_wanted_to_be_told_counts(store: Store, worker: str) -> None:
    pushed(store)
    claim = claimed(store, worker)
    watched(store)
    assert found(store) == []
    store.settle([done(claim)])
    assert found(store) == [("default", 1)]


def test_another_policy_and_what_an_operator_sets_leave_the_count_alone(store: Store, worker: str) -> None:
    watched(store)
    pushed(store)
    claim = claimed(store, worker)
    watched(store, policy=QueuePolicy("lifo", tells_drained=True))
    store.queues.set_overlay("default", QueueOverlay(max_running=3))
    store.settle([done(claim)])
    assert found(store) == [("default", 1)]


def test_a_queue_with_a_telling_policy_is_not_limited(store: Store, worker: str) -> None:
    watched(store)
    store.push(jobs(3))
    claims = store.claim(worker, ["default"], 1, ahead=2)
    assert len(claims) == 3
    assert not any(claim.is_limited for claim in claims)


# --- lanes --------------------------------------------------------------------------------------------------


def lane_ids(
    store: Store, lane: str | None, queue: str | None = "default", states: tuple[State, ...] = ()
) -> list[str]:
    query = Query(states, queue, lane=lane)
    records = store.inspector.find(query)
    assert store.inspector.count(query) == len(records)
    return [one.id for one in records]


def test_jobs_are_found_and_counted_by_lane(store: Store, worker: str) -> None:
    x1, y, bare, x2 = (pushed(store, lane=lane) for lane in ("x", "y", None, "x"))
    other = pushed(store, "other", lane="x")
    assert lane_ids(store, "x") == [x2, x1]
    assert lane_ids(store, "x", None) == [other, x2, x1]
    assert lane_ids(store, "y") == [y]
    assert lane_ids(store, "") == [bare]
    assert lane_ids(store, None) == [x2, bare, y, x1]
    assert lane_ids(store, "none such") == []


def test_jobs_of_a_lane_are_found_by_state(store: Store, worker: str) -> None:
    first, second = pushed(store, lane="x"), pushed(store, lane="x")
    later, bare = pushed(store, lane="x", delay_us=SECOND), pushed(store)
    claims: list[Claim] = store.claim(worker, ["default"], 10)
    ended = {claim.id: claim for claim in claims}
    store.settle([done(ended[first]), done(ended[bare])])
    assert lane_ids(store, "x", states=OPEN) == [later, second]
    assert lane_ids(store, "x", states=("succeeded",)) == [first]
    assert lane_ids(store, "x", states=("running", "succeeded")) == [second, first]
    assert lane_ids(store, "", states=OPEN) == []
    assert lane_ids(store, "", states=("succeeded",)) == [bare]
    assert store.inspector.find(Query(OPEN, "default", limit=1, lane="x"))[0].id == later
    assert [one.id for one in store.inspector.find(Query(OPEN, "default", after=later, lane="x"))] == [second]
