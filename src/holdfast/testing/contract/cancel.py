"""Cancelling: at once where a job has not started, by asking where it runs."""

from collections.abc import Callable

import pytest

from holdfast.model.claim import Claim
from holdfast.model.verdict import Verdict, crashed, done, released
from holdfast.policy.moments import SECOND
from holdfast.store.protocol import Store
from holdfast.testing.contract.sample_jobs import (
    cancelled,
    claimed,
    claimed_ids,
    enlisted,
    failed,
    pushed,
    record,
    retry,
    run_to,
    snoozed,
    state,
    unknown_task,
)
from holdfast.testing.contract.virtual_clock import VirtualClock


def crash(claim: Claim) -> Verdict:
    return crashed(claim, "died")


@pytest.mark.parametrize("delay_s", [0, 60])
def test_a_job_that_has_not_started_is_cancelled_at_once(store: Store, clock: VirtualClock, delay_s: int) -> None:
    job_id = pushed(store, delay_us=delay_s * SECOND, keep_dead_s=200)
    clock.advance(1)
    assert store.operator.cancel([job_id]) == {job_id: "cancelled"}
    stored = record(store, job_id)
    assert (stored.state, stored.reason) == ("cancelled", "cancelled")
    assert (stored.finished_us, stored.keep_until_us) == (clock(), clock.in_s(200))
    clock.advance(100)
    assert claimed_ids(store, enlisted(store)) == []


def test_a_parked_job_is_cancelled_at_once(store: Store) -> None:
    job_id = run_to(store, "parked")
    assert store.operator.cancel([job_id]) == {job_id: "cancelled"}
    assert claimed_ids(store, enlisted(store)) == []
    assert state(store, job_id) == "cancelled"


def test_a_running_job_is_asked_and_its_worker_told(store: Store) -> None:
    worker = enlisted(store)
    job_id, other = pushed(store), pushed(store, "other")
    claim = claimed(store, worker)
    claimed(store, worker, "other")
    assert store.operator.cancel([job_id]) == {job_id: "asked"}
    assert (state(store, job_id), record(store, job_id).cancel_asked) == ("running", True)
    assert store.beat(worker).cancelled == (claim.token,)
    assert store.beat(worker).cancelled == (claim.token,), "told until it ends, not once"
    assert not record(store, other).cancel_asked


def test_nobody_elses_worker_is_told(store: Store) -> None:
    job_id = pushed(store)
    claimed(store)
    store.operator.cancel([job_id])
    assert store.beat(enlisted(store)).cancelled == ()


def test_all_cancelled_runs_of_a_worker_are_told_in_one_beat(store: Store) -> None:
    worker = enlisted(store)
    ids = [pushed(store, queue) for queue in ("a", "b", "a")]
    claims = store.claim(worker, ["a", "b"], 10)
    store.operator.cancel(ids[1:])
    assert sorted(store.beat(worker).cancelled) == sorted(claim.token for claim in claims if claim.id in ids[1:])


@pytest.mark.parametrize("ending", [retry, snoozed, released, crash, unknown_task])
def test_a_job_asked_to_cancel_does_not_come_back(
    store: Store, clock: VirtualClock, ending: Callable[[Claim], Verdict]
) -> None:
    job_id = pushed(store)
    claim = claimed(store)
    store.operator.cancel([job_id])
    assert store.settle([ending(claim)]) == []
    stored = record(store, job_id)
    assert (stored.state, stored.reason) == ("cancelled", "cancelled while it ran")
    assert (stored.finished_us, stored.worker) == (clock(), None)
    assert claimed_ids(store, enlisted(store)) == []


@pytest.mark.parametrize(("ending", "end"), [(done, "succeeded"), (failed, "failed"), (cancelled, "cancelled")])
def test_a_job_that_ends_before_it_hears_has_ended_as_it_did(
    store: Store, ending: Callable[[Claim], Verdict], end: str
) -> None:
    """I6"""
    job_id = pushed(store)
    claim = claimed(store)
    store.operator.cancel([job_id])
    store.settle([ending(claim)])
    assert state(store, job_id) == end


def test_a_dead_workers_job_that_was_cancelled_does_not_come_back(store: Store, clock: VirtualClock) -> None:
    job_id = pushed(store)
    claimed(store, enlisted(store, lease_s=10))
    store.operator.cancel([job_id])
    clock.advance(11)
    store.rescue()
    assert (state(store, job_id), record(store, job_id).crashes) == ("cancelled", 1)


def test_a_leaving_workers_job_that_was_cancelled_does_not_come_back(store: Store) -> None:
    worker = enlisted(store)
    job_id = pushed(store)
    claimed(store, worker)
    store.operator.cancel([job_id])
    store.leave(worker)
    assert state(store, job_id) == "cancelled"


@pytest.mark.parametrize("ending", ["succeeded", "failed", "cancelled"])
def test_what_is_final_cannot_be_cancelled(store: Store, ending: str) -> None:
    """I6"""
    job_id = run_to(store, ending)
    before = record(store, job_id)
    assert store.operator.cancel([job_id]) == {job_id: "final"}
    assert record(store, job_id) == before


def test_what_is_not_there_is_unknown(store: Store) -> None:
    assert store.operator.cancel(["nothing"]) == {"nothing": "unknown"}


def test_each_of_many_gets_its_own_answer(store: Store) -> None:
    running, ended = pushed(store, "a"), run_to(store, "succeeded")
    claimed(store, queue="a")
    waiting = pushed(store, "b")
    ids = iter([waiting, "nothing", running, ended])
    assert store.operator.cancel(ids) == {
        waiting: "cancelled",
        "nothing": "unknown",
        running: "asked",
        ended: "final",
    }


def test_an_id_given_twice_is_cancelled_once(store: Store) -> None:
    job_id = pushed(store)
    assert store.operator.cancel([job_id, job_id]) == {job_id: "cancelled"}


def test_cancelling_leaves_no_trace_in_the_counts(store: Store, clock: VirtualClock) -> None:
    """I39, trap 10; trap 3: a cancelled delayed job leaves nothing that would still fall due."""
    store.push([])
    ids = [pushed(store, delay_us=3600 * SECOND) for _ in range(50)]
    store.operator.cancel(ids)
    queue = store.queues.get("default")
    assert queue is not None
    assert (queue.counts, queue.size, queue.next_due_us) == ({"cancelled": 50}, 0, None)
    assert store.inspector.next_due() is None
    clock.advance(7200)
    assert claimed_ids(store, enlisted(store)) == []
