"""Leases: how long a worker's silence is believed, and what happens to its jobs afterwards."""

import pytest

from holdfast.errors import LeaseLost
from holdfast.model.verdict import CRASHED, done
from holdfast.model.worker import Beat, ChildReport, Rescued, WorkerRecord, WorkerReport
from holdfast.policy.moments import SECOND
from holdfast.store.protocol import Store
from holdfast.testing.contract.sample_jobs import claimed, claimed_ids, enlisted, pushed, record, retry, state
from holdfast.testing.contract.virtual_clock import VirtualClock


def test_an_id_can_enlist_once(store: Store) -> None:
    """I8"""
    worker = enlisted(store)
    with pytest.raises(LeaseLost, match=worker):
        store.enlist(WorkerRecord(worker, "host", 1))


def test_an_enlisted_worker_is_listed_with_the_stores_time(store: Store, clock: VirtualClock) -> None:
    store.enlist(WorkerRecord("w-a", "host", 42, ("t1", "t2"), ("q1",), 5 * SECOND, started_us=1))
    assert store.inspector.workers() == [
        WorkerRecord("w-a", "host", 42, ("t1", "t2"), ("q1",), 5 * SECOND, started_us=clock())
    ]


def test_a_lease_lives_to_its_last_microsecond(store: Store, clock: VirtualClock) -> None:
    worker = enlisted(store, lease_s=10)
    pushed(store)
    clock.advance(10)
    assert store.rescue() == []
    assert len(store.claim(worker, ["default"], 1)) == 1
    assert store.beat(worker).is_alive


def test_a_lease_ends_after_its_last_microsecond(store: Store, clock: VirtualClock) -> None:
    worker = enlisted(store, lease_s=10)
    job_id = pushed(store)
    clock.advance(10.000_001)
    with pytest.raises(LeaseLost, match=worker):
        store.claim(worker, ["default"], 1)
    assert state(store, job_id) == "ready"
    assert store.inspector.workers() == []


def test_a_beat_renews_the_lease(store: Store, clock: VirtualClock) -> None:
    """I13: redelivery hangs on silence, not on how long a job takes."""
    worker = enlisted(store, lease_s=10)
    job_id = pushed(store)
    claim = claimed(store, worker)
    for _ in range(20):
        clock.advance(9)
        assert store.beat(worker) == Beat(is_alive=True)
        assert store.rescue() == []
    assert state(store, job_id) == "running"
    assert store.settle([done(claim)]) == []


def test_a_claim_does_not_renew_the_lease(store: Store, clock: VirtualClock) -> None:
    worker = enlisted(store, lease_s=10)
    clock.advance(9)
    store.claim(worker, ["default"], 1)
    clock.advance(2)
    assert not store.beat(worker).is_alive


def test_a_beat_never_brings_an_ended_lease_back(store: Store, clock: VirtualClock) -> None:
    """I8: also when no rescue has passed yet."""
    worker = enlisted(store, lease_s=10)
    job_id = pushed(store)
    claimed(store, worker)
    clock.advance(11)
    assert store.beat(worker) == Beat(is_alive=False)
    assert store.beat(worker) == Beat(is_alive=False)
    assert [rescued.jobs for rescued in store.rescue()] == [(job_id,)]


def test_a_stranger_has_no_lease_to_renew(store: Store) -> None:
    assert store.beat("nobody") == Beat(is_alive=False)


def test_a_dead_workers_jobs_are_claimable_again(store: Store, clock: VirtualClock) -> None:
    """I13, I14"""
    worker = enlisted(store, lease_s=10)
    job_id = pushed(store)
    token = claimed(store, worker).token
    clock.advance(11)
    assert store.rescue() == [Rescued(worker, (job_id,))]
    stored = record(store, job_id)
    assert (stored.state, stored.crashes, stored.failures, stored.worker) == ("ready", 1, 0, None)
    assert (stored.reason, stored.error) == (CRASHED, f"worker {worker} fell silent: its lease ended")
    run = store.inspector.history(job_id)[0]
    assert (run.worker, run.token, run.outcome, run.ended_us) == (worker, token, "crashed", clock())
    assert (run.reason, run.error) == (CRASHED, stored.error)
    assert claimed_ids(store, enlisted(store)) == [job_id]


def test_a_rescue_takes_a_workers_jobs_from_every_queue(store: Store, clock: VirtualClock) -> None:
    worker = enlisted(store, lease_s=10)
    ids = [pushed(store, queue) for queue in ("a", "b", "c", "a")]
    store.claim(worker, ["a", "b", "c"], 10)
    clock.advance(11)
    rescued = store.rescue()
    assert [dead.worker for dead in rescued] == [worker]
    assert sorted(rescued[0].jobs) == sorted(ids)
    assert {state(store, job_id) for job_id in ids} == {"ready"}


def test_a_rescue_leaves_the_living_alone(store: Store, clock: VirtualClock) -> None:
    dying, living = enlisted(store, lease_s=10), enlisted(store, lease_s=100)
    first, second = pushed(store), pushed(store)
    claimed(store, dying)
    claim = claimed(store, living)
    clock.advance(11)
    assert store.rescue() == [Rescued(dying, (first,))]
    assert state(store, second) == "running"
    assert store.settle([done(claim)]) == []


def test_a_rescue_leaves_settled_jobs_alone(store: Store, clock: VirtualClock) -> None:
    worker = enlisted(store, lease_s=10)
    one, two = pushed(store), pushed(store)
    claims = store.claim(worker, ["default"], 2)
    store.settle([done(claims[0]), retry(claims[1], 60)])
    clock.advance(11)
    assert store.rescue() == [Rescued(worker, ())]
    assert (state(store, one), state(store, two)) == ("succeeded", "scheduled")
    assert record(store, two).crashes == 0


def test_the_dead_are_reported_once_also_without_jobs(store: Store, clock: VirtualClock) -> None:
    worker = enlisted(store, lease_s=10)
    clock.advance(11)
    assert store.rescue() == [Rescued(worker, ())]
    assert store.rescue() == []


def test_a_rescued_worker_is_dead_for_ever(store: Store, clock: VirtualClock) -> None:
    """I8: every door is shut to one that wakes up late."""
    worker = enlisted(store, lease_s=10)
    claim_from = pushed(store)
    clock.advance(11)
    store.rescue()
    assert store.beat(worker) == Beat(is_alive=False)
    with pytest.raises(LeaseLost):
        store.claim(worker, ["default"], 1)
    with pytest.raises(LeaseLost):
        store.enlist(WorkerRecord(worker, "host", 1))
    assert state(store, claim_from) == "ready"


def test_a_job_that_kills_its_workers_ends_as_failed(store: Store, clock: VirtualClock) -> None:
    """I14, trap 28: the limit holds, and the record says why."""
    job_id = pushed(store, crash_budget=3)
    for _ in range(3):
        claimed(store, enlisted(store, lease_s=10))
        clock.advance(11)
        store.rescue()
    stored = record(store, job_id)
    assert (stored.state, stored.crashes, stored.reason) == ("failed", 3, CRASHED)
    assert len(store.inspector.history(job_id)) == 3
    assert claimed_ids(store, enlisted(store)) == []


def test_who_leaves_hands_back_uncharged_what_it_holds(store: Store, clock: VirtualClock) -> None:
    """I18"""
    worker = enlisted(store)
    ids = [pushed(store, queue) for queue in ("a", "b")]
    store.claim(worker, ["a", "b"], 10)
    clock.advance(1)
    store.leave(worker)
    stored = [record(store, job_id) for job_id in ids]
    assert [(one.state, one.failures, one.crashes, one.worker) for one in stored] == [("ready", 0, 0, None)] * 2
    assert [store.inspector.history(job_id) for job_id in ids] == [[], []]


def test_who_has_left_is_gone_for_ever_and_not_rescued(store: Store, clock: VirtualClock) -> None:
    worker = enlisted(store, lease_s=10)
    pushed(store)
    store.leave(worker)
    assert store.beat(worker) == Beat(is_alive=False)
    assert store.inspector.workers() == []
    with pytest.raises(LeaseLost):
        store.claim(worker, ["default"], 1)
    with pytest.raises(LeaseLost):
        store.enlist(WorkerRecord(worker, "host", 1))
    clock.advance(60)
    assert store.rescue() == []


def test_leaving_voids_the_tokens_of_what_was_held(store: Store) -> None:
    """I10"""
    worker = enlisted(store)
    job_id = pushed(store)
    claim = claimed(store, worker)
    store.leave(worker)
    assert [one.id for one in store.settle([done(claim)])] == [job_id]
    assert state(store, job_id) == "ready"


def test_a_stranger_may_leave(store: Store) -> None:
    store.leave("nobody")
    assert store.rescue() == []


def test_only_live_workers_are_listed(store: Store, clock: VirtualClock) -> None:
    brief, lasting, gone = enlisted(store, lease_s=5), enlisted(store, lease_s=50), enlisted(store, lease_s=50)
    store.leave(gone)
    assert sorted(worker.id for worker in store.inspector.workers()) == sorted([brief, lasting])
    clock.advance(6)
    assert [worker.id for worker in store.inspector.workers()] == [lasting]


def test_a_moment_passed_in_decides_about_leases_too(store: Store, clock: VirtualClock) -> None:
    worker = enlisted(store, lease_s=10)
    assert store.beat(worker, clock.in_s(9)).is_alive
    assert store.rescue(clock.in_s(19)) == []
    assert [dead.worker for dead in store.rescue(clock.in_s(19.000_001))] == [worker]


def test_a_worker_that_is_asked_to_stop_learns_of_it_with_its_next_beat(store: Store) -> None:
    asked, other = enlisted(store), enlisted(store)
    assert store.operator.dismiss([asked, asked, "nobody"]) == [asked]
    assert store.beat(asked) == Beat(is_alive=True, must_leave=True)
    assert store.beat(other) == Beat(is_alive=True)
    assert {worker.id: worker.is_leaving for worker in store.inspector.workers()} == {asked: True, other: False}


def test_a_worker_whose_lease_has_ended_cannot_be_asked_anything(store: Store, clock: VirtualClock) -> None:
    worker = enlisted(store, lease_s=10)
    clock.advance(11)
    assert store.operator.dismiss([worker]) == []


def test_a_worker_that_is_asked_to_stop_still_claims_and_settles(store: Store) -> None:
    """Stopping in order is the worker's own doing: nothing is taken from it."""
    worker = enlisted(store)
    job_id = pushed(store)
    store.operator.dismiss([worker])
    claim = claimed(store, worker)
    assert store.settle([done(claim)]) == []
    assert state(store, job_id) == "succeeded"


def test_what_a_worker_says_of_itself_is_shown_until_it_says_more(store: Store) -> None:
    worker = enlisted(store)
    first = WorkerReport((ChildReport(7, 2**20, 12, ("job-1",)),))
    store.beat(worker, report=first)
    store.beat(worker)
    assert store.inspector.workers()[0].report == first
    store.beat(worker, report=WorkerReport())
    assert store.inspector.workers()[0].report == WorkerReport()
