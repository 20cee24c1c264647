"""The breaker: failures in a row hold a queue or a lane back, a few probes decide, and nothing hangs in between."""

from collections.abc import Callable

import pytest

from holdfast.model.claim import Claim
from holdfast.model.queue import Breaker, LaneRecord, Limits, QueuePolicy, QueueRecord
from holdfast.model.verdict import Verdict, crashed, done, released
from holdfast.policy.moments import SECOND
from holdfast.store.protocol import Store
from holdfast.testing.contract.sample_jobs import (
    cancelled,
    claimed,
    claimed_ids,
    enlisted,
    failed,
    jobs,
    retry,
    snoozed,
    unknown_task,
)
from holdfast.testing.contract.virtual_clock import VirtualClock

BREAKER = Breaker(failures=3, pause_us=60 * SECOND, probes=2)
ON_LANES = QueuePolicy(lane_limits=Limits(breaker=BREAKER))
ON_QUEUE = QueuePolicy(limits=Limits(breaker=BREAKER))
Ending = Callable[[Claim], Verdict]


def queue(store: Store) -> QueueRecord:
    found = store.queues.get("default")
    assert found is not None
    return found


def lane(store: Store, name: str = "a") -> LaneRecord:
    return next(one for one in store.queues.lanes("default") if one.name == name)


def run(store: Store, worker: str, *endings: Ending) -> None:
    """Run as many jobs, one after the other, to these endings."""
    for ending in endings:
        assert store.settle([ending(claimed(store, worker))]) == []


def broken(store: Store, worker: str, policy: QueuePolicy = ON_LANES) -> None:
    """Push many jobs into lane a, and let three fail."""
    store.queues.set_policy("default", policy)
    store.push(jobs(20, lane="a"))
    run(store, worker, failed, failed, failed)


@pytest.mark.parametrize("ending", [failed, retry, lambda claim: crashed(claim, "died")])
def test_failures_in_a_row_open_the_breaker(store: Store, clock: VirtualClock, worker: str, ending: Ending) -> None:
    store.queues.set_policy("default", ON_LANES)
    store.push(jobs(20, lane="a"))
    run(store, worker, ending, ending)
    assert lane(store).standing == "open"
    run(store, worker, ending)
    assert (lane(store).standing, lane(store).until_us) == ("broken", clock.in_s(60))
    assert claimed_ids(store, worker) == []


def test_a_success_in_between_begins_the_count_anew(store: Store, worker: str) -> None:
    store.queues.set_policy("default", ON_LANES)
    store.push(jobs(20, lane="a"))
    run(store, worker, failed, failed, done, failed, failed)
    assert len(claimed_ids(store, worker, limit=1)) == 1


@pytest.mark.parametrize("ending", [released, snoozed, cancelled, unknown_task])
def test_what_is_no_result_does_not_count(store: Store, worker: str, ending: Ending) -> None:
    store.queues.set_policy("default", ON_LANES)
    store.push(jobs(20, lane="a"))
    run(store, worker, failed, failed, ending, ending, ending)
    assert len(claimed_ids(store, worker, limit=1)) == 1


def test_a_broken_lane_does_not_hold_up_the_others(store: Store, worker: str) -> None:
    broken(store, worker)
    store.push(jobs(5, lane="b"))
    assert len(claimed_ids(store, worker)) == 5


def test_a_broken_queue_hands_out_nothing(store: Store, clock: VirtualClock, worker: str) -> None:
    broken(store, worker, ON_QUEUE)
    store.push(jobs(5, lane="b"))
    assert (claimed_ids(store, worker), queue(store).standing) == ([], "broken")
    assert queue(store).until_us == clock.in_s(60)


def test_after_the_pause_a_few_jobs_are_tried(store: Store, clock: VirtualClock, worker: str) -> None:
    broken(store, worker)
    clock.advance(59.999_999)
    assert claimed_ids(store, worker) == []
    clock.advance(0.000_001)
    assert len(claimed_ids(store, worker)) == 2
    assert (claimed_ids(store, worker), lane(store).standing) == ([], "probing")


def test_a_probe_that_succeeds_closes_the_breaker(store: Store, clock: VirtualClock, worker: str) -> None:
    broken(store, worker)
    clock.advance(60)
    probe = store.claim(worker, ["default"], 10)
    store.settle([failed(probe[0]), done(probe[1])])
    assert lane(store).standing == "open"
    assert len(claimed_ids(store, worker)) == 15


def test_if_all_probes_fail_it_is_broken_again(store: Store, clock: VirtualClock, worker: str) -> None:
    broken(store, worker)
    clock.advance(60)
    probe = store.claim(worker, ["default"], 10)
    clock.advance(5)
    store.settle([failed(one) for one in probe])
    assert (lane(store).standing, lane(store).until_us) == ("broken", clock.in_s(60))
    assert claimed_ids(store, worker) == []


@pytest.mark.parametrize("ending", [released, snoozed, cancelled, unknown_task])
def test_a_probe_without_a_result_gives_its_place_to_another(
    store: Store, clock: VirtualClock, worker: str, ending: Ending
) -> None:
    """A breaker cannot hang half-way."""
    broken(store, worker)
    clock.advance(60)
    probe = store.claim(worker, ["default"], 10)
    store.settle([ending(one) for one in probe])
    assert len(claimed_ids(store, worker)) == 2


def test_a_probe_whose_worker_dies_counts_as_failed(store: Store, clock: VirtualClock, worker: str) -> None:
    broken(store, worker)
    clock.advance(60)
    assert len(claimed_ids(store, enlisted(store, lease_s=10))) == 2
    clock.advance(11)
    store.rescue()
    assert (claimed_ids(store, worker), lane(store).standing) == ([], "broken")


def test_what_was_running_when_it_broke_does_not_close_it(store: Store, worker: str) -> None:
    store.queues.set_policy("default", ON_LANES)
    store.push(jobs(20, lane="a"))
    straggler = claimed(store, worker)
    run(store, worker, failed, failed, failed)
    store.settle([done(straggler)])
    assert lane(store).standing == "broken"


def test_a_person_can_close_a_broken_lane(store: Store, worker: str) -> None:
    broken(store, worker)
    assert store.queues.resume("default", "a")
    assert lane(store).standing == "open"
    assert len(claimed_ids(store, worker)) == 17


def test_a_person_can_close_a_broken_queue(store: Store, worker: str) -> None:
    broken(store, worker, ON_QUEUE)
    assert store.queues.resume("default")
    assert not store.queues.resume("default")
    assert len(claimed_ids(store, worker)) == 17


def test_without_a_breaker_failures_hold_nothing_back(store: Store, worker: str) -> None:
    broken(store, worker)
    store.queues.set_policy("default", QueuePolicy())
    assert len(claimed_ids(store, worker)) == 17


def test_after_a_day_of_rest_failures_are_forgiven(store: Store, clock: VirtualClock, worker: str) -> None:
    store.queues.set_policy("default", ON_LANES)
    store.push(jobs(20, lane="a"))
    run(store, worker, failed, failed)
    clock.advance(86_400)
    fresh = enlisted(store)
    run(store, fresh, failed, failed)
    assert lane(store).standing == "open"
    run(store, fresh, failed)
    assert lane(store).standing == "broken"


def test_a_broken_lane_is_shown_although_it_holds_nothing(store: Store, clock: VirtualClock, worker: str) -> None:
    broken(store, worker)
    store.queues.purge("default")
    store.tidy()
    assert store.queues.lanes("default") == [LaneRecord("a", 0, 0, "broken", clock.in_s(60))]
