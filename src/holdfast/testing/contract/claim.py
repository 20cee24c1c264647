"""What a claim hands out, to whom, and what it charges."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from holdfast.errors import LeaseLost
from holdfast.model.claim import Claim
from holdfast.model.verdict import crashed, done
from holdfast.policy.moments import SECOND
from holdfast.store.protocol import PROMOTE_LIMIT, Store
from holdfast.testing.contract.sample_jobs import (
    claimed,
    claimed_ids,
    enlisted,
    job,
    jobs,
    progress,
    pushed,
    record,
    retry,
    state,
)
from holdfast.testing.contract.virtual_clock import VirtualClock


def test_a_ready_job_goes_to_one_worker_only(store: Store) -> None:
    """I9"""
    pushed(store)
    assert len(store.claim(enlisted(store), ["default"], 10)) == 1
    assert store.claim(enlisted(store), ["default"], 10) == []


def test_the_same_worker_does_not_get_a_job_twice(store: Store) -> None:
    """I9"""
    pushed(store)
    worker = enlisted(store)
    claimed(store, worker)
    assert store.claim(worker, ["default"], 10) == []


def test_of_many_threads_each_job_reaches_one(live_store: Store) -> None:
    """I9, I7"""
    batch = jobs(400)
    live_store.push(batch)
    gate = threading.Barrier(8)

    def take_all() -> list[str]:
        worker = enlisted(live_store, lease_s=600)
        gate.wait()
        taken: list[str] = []
        while claims := live_store.claim(worker, ["default"], 3):
            taken += [claim.id for claim in claims]
        return taken

    with ThreadPoolExecutor(8) as pool:
        taken = [job_id for future in [pool.submit(take_all) for _ in range(8)] for job_id in future.result()]
    assert sorted(taken) == sorted(new.id for new in batch)


def test_pushes_from_many_threads_are_all_kept(live_store: Store) -> None:
    """I1, I3: eight threads push the same jobs; each is created once."""
    batch = jobs(50)

    def push_all() -> list[str]:
        return [answer.decision for new in batch for answer in live_store.push([new])]

    with ThreadPoolExecutor(8) as pool:
        answers = [answer for future in [pool.submit(push_all) for _ in range(8)] for answer in future.result()]
    assert (answers.count("created"), answers.count("duplicate")) == (50, 350)


def test_a_claim_is_charged_before_it_returns(store: Store, clock: VirtualClock) -> None:
    """I14, I15"""
    job_id = pushed(store)
    clock.advance(2)
    worker = enlisted(store)
    claim = claimed(store, worker)
    stored = record(store, job_id)
    assert (stored.state, stored.deliveries, stored.worker) == ("running", 1, worker)
    assert stored.claimed_us == claim.claimed_us == clock()


def test_a_claim_carries_all_that_a_run_needs(store: Store, clock: VirtualClock) -> None:
    new = job("mail", seal=b"seal", crash_budget=4)
    store.push([new])
    claim = claimed(store, queue="mail")
    assert claim == Claim(new.id, claim.token, "mail", new.task, new.envelope, b"seal", 0, 0, 4, clock(), clock())
    assert claim.attempt == 1


def test_a_claim_knows_what_went_wrong_before(store: Store) -> None:
    """I14"""
    pushed(store)
    store.settle([retry(claimed(store))])
    store.settle([crashed(claimed(store), "died")])
    claim = claimed(store)
    assert (claim.failures, claim.crashes, claim.attempt) == (1, 1, 3)


def test_a_claim_leaves_the_last_error_to_be_seen(store: Store) -> None:
    job_id = pushed(store)
    store.settle([retry(claimed(store), error="it broke")])
    claimed(store)
    assert (record(store, job_id).error, record(store, job_id).reason) == ("it broke", "raised")


def test_a_new_run_starts_without_the_last_ones_progress(store: Store) -> None:
    job_id = pushed(store)
    claim = claimed(store)
    store.note([progress(claim)])
    store.settle([retry(claim)])
    claimed(store)
    assert (record(store, job_id).progress, record(store, job_id).progress_note) == (None, None)


def test_no_more_is_handed_out_than_asked_for(store: Store) -> None:
    batch = jobs(5)
    store.push(batch)
    worker = enlisted(store)
    assert claimed_ids(store, worker, limit=2) == [new.id for new in batch[:2]]
    assert claimed_ids(store, worker, limit=2) == [new.id for new in batch[2:4]]
    assert claimed_ids(store, worker, limit=2) == [batch[4].id]


@pytest.mark.parametrize("limit", [0, -1])
def test_asking_for_nothing_gives_nothing(store: Store, limit: int) -> None:
    job_id = pushed(store)
    assert store.claim(enlisted(store), ["default"], limit) == []
    assert state(store, job_id) == "ready"


def test_a_claim_goes_on_to_the_next_queue_until_it_is_full(store: Store) -> None:
    a, b = [pushed(store, "a") for _ in range(2)], [pushed(store, "b") for _ in range(3)]
    assert claimed_ids(store, enlisted(store), "a", "b", limit=4) == [*a, *b[:2]]


def test_only_the_queues_named_are_served(store: Store) -> None:
    other = pushed(store, "other")
    assert claimed_ids(store, enlisted(store), "default", "no-such-queue") == []
    assert state(store, other) == "ready"


def test_asking_about_a_queue_does_not_make_it(store: Store) -> None:
    store.claim(enlisted(store), ["nowhere"], 1)
    assert store.queues.names() == []


def test_a_queue_named_twice_is_served_once(store: Store) -> None:
    job_id = pushed(store)
    assert claimed_ids(store, enlisted(store), "default", "default") == [job_id]


def test_a_job_is_not_handed_out_before_it_is_due(store: Store, clock: VirtualClock) -> None:
    """Behaviour 5: never early, not by a microsecond."""
    job_id = pushed(store, delay_us=SECOND)
    worker = enlisted(store)
    clock.advance(0.999_999)
    assert claimed_ids(store, worker) == []
    clock.advance(0.000_001)
    assert claimed_ids(store, worker) == [job_id]


def test_one_claim_wakes_a_bounded_number_of_due_jobs(store: Store, clock: VirtualClock) -> None:
    store.push(jobs(PROMOTE_LIMIT + 5, delay_us=SECOND))
    clock.advance(1)
    worker = enlisted(store)
    assert len(store.claim(worker, ["default"], PROMOTE_LIMIT + 100)) == PROMOTE_LIMIT
    assert len(store.claim(worker, ["default"], PROMOTE_LIMIT + 100)) == 5


def test_due_jobs_beyond_the_bound_are_still_seen_as_ready(store: Store, clock: VirtualClock) -> None:
    """I39"""
    store.push(jobs(PROMOTE_LIMIT + 5, delay_us=SECOND))
    clock.advance(1)
    store.claim(enlisted(store), ["default"], 1)
    queue = store.queues.get("default")
    assert queue is not None
    assert queue.counts == {"ready": PROMOTE_LIMIT + 4, "running": 1}


def test_without_a_lease_nothing_is_handed_out_and_nothing_changes(store: Store, clock: VirtualClock) -> None:
    """I8"""
    due, dying = pushed(store, delay_us=SECOND), pushed(store, expires_us=clock.in_s(1))
    clock.advance(2)
    before = (record(store, due), record(store, dying))
    with pytest.raises(LeaseLost, match="nobody"):
        store.claim("nobody", ["default"], 10)
    assert (record(store, due), record(store, dying)) == before


def test_a_worker_without_a_lease_is_told_so_whatever_it_asks_for(store: Store) -> None:
    """I8"""
    with pytest.raises(LeaseLost):
        store.claim("nobody", [], 1)
    with pytest.raises(LeaseLost):
        store.claim("nobody", ["default"], 0)


def test_without_faults_a_job_runs_exactly_once(store: Store) -> None:
    """I7"""
    batch = jobs(30)
    store.push(batch)
    worker = enlisted(store)
    seen: list[str] = []
    while claims := store.claim(worker, ["default"], 4):
        seen += [claim.id for claim in claims]
        assert store.settle([done(claim) for claim in claims]) == []
    assert seen == [new.id for new in batch]
    assert all(record(store, job_id).deliveries == 1 for job_id in seen)


def test_a_claim_tells_when_its_job_became_due(store: Store, clock: VirtualClock) -> None:
    """So that a worker can tell how late it was, on the store's clock."""
    due_us = clock.in_s(5)
    pushed(store, delay_us=5 * SECOND)
    clock.advance(7)
    claim = claimed(store)
    assert (claim.due_us, claim.claimed_us) == (due_us, clock())
