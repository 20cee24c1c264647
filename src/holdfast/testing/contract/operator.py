"""What people do to jobs: retry and delete. Cancelling and unparking have files of their own."""

import pytest

from holdfast.model.job import JobRecord
from holdfast.model.verdict import crashed, done
from holdfast.store.protocol import Store
from holdfast.testing.contract.sample_jobs import (
    claimed,
    claimed_ids,
    enlisted,
    failed,
    job,
    progress,
    pushed,
    record,
    retry,
    run_to,
    state,
)
from holdfast.testing.contract.virtual_clock import VirtualClock


def test_a_dead_letter_can_be_opened_again_with_fresh_budgets(store: Store, clock: VirtualClock) -> None:
    """I6"""
    new = job(priority=4, seal=b"seal", expires_us=clock.in_s(900), tags=("red",))
    store.push([new])
    created = clock()
    store.settle([crashed(claimed(store), "died")])
    claim = claimed(store)
    store.note([progress(claim)])
    store.operator.cancel([new.id])
    store.settle([failed(claim)])
    clock.advance(5)
    assert store.operator.retry([new.id]) == [new.id]
    assert record(store, new.id) == JobRecord(
        id=new.id, queue=new.queue, task=new.task, state="ready", priority=4, due_us=clock(), created_us=created,
        envelope=new.envelope, seal=b"seal", generation=2, deliveries=2, tags=("red",),
    )  # fmt: skip


def test_the_history_of_all_generations_is_kept(store: Store) -> None:
    """I6"""
    job_id = run_to(store, "failed")
    store.operator.retry([job_id])
    claim = claimed(store)
    assert (claim.attempt, claim.token.partition("-")[0]) == (1, "2")
    store.settle([done(claim)])
    runs = store.inspector.history(job_id)
    assert [(run.number, run.generation, run.outcome) for run in runs] == [(1, 1, "failed"), (2, 2, "done")]


@pytest.mark.parametrize("ending", ["failed", "cancelled", "expired"])
def test_what_ended_badly_can_be_retried(store: Store, clock: VirtualClock, ending: str) -> None:
    """I6"""
    if ending == "expired":
        job_id = pushed(store, expires_us=clock())
        store.tidy()
    else:
        job_id = run_to(store, ending)
    assert state(store, job_id) == ending
    assert store.operator.retry([job_id]) == [job_id]
    clock.advance(1000)
    assert store.tidy().pruned == 0
    assert claimed_ids(store, enlisted(store)) == [job_id]


def test_a_success_cannot_be_retried(store: Store) -> None:
    """I6"""
    job_id = run_to(store, "succeeded")
    assert (store.operator.retry([job_id]), state(store, job_id)) == ([], "succeeded")


def test_what_is_unfinished_cannot_be_retried(store: Store) -> None:
    """I9"""
    ready, running, parked = pushed(store, "a"), pushed(store, "b"), run_to(store, "parked")
    claimed(store, queue="b")
    before = [record(store, job_id) for job_id in (ready, running, parked)]
    assert store.operator.retry([ready, running, parked, "nothing"]) == []
    assert [record(store, job_id) for job_id in (ready, running, parked)] == before


def test_a_retry_says_which_jobs_it_took_effect_on(store: Store) -> None:
    first, second = run_to(store, "failed"), run_to(store, "cancelled")
    assert store.operator.retry(iter([second, "nothing", first, second])) == [second, first]
    assert record(store, second).generation == 2


def test_a_retried_job_has_its_whole_crash_budget_again(store: Store) -> None:
    """I14"""
    job_id = pushed(store, crash_budget=2)
    for _ in range(2):
        store.settle([crashed(claimed(store), "died")])
    assert state(store, job_id) == "failed"
    store.operator.retry([job_id])
    store.settle([crashed(claimed(store), "died")])
    assert (state(store, job_id), record(store, job_id).crashes) == ("ready", 1)


def test_the_last_ten_runs_are_kept_through_generations(store: Store) -> None:
    job_id = pushed(store)
    worker = enlisted(store)
    for _ in range(6):
        store.settle([retry(claimed(store, worker))])
        store.settle([failed(claimed(store, worker))])
        store.operator.retry([job_id])
    assert [run.number for run in store.inspector.history(job_id)] == list(range(3, 13))


def test_a_deleted_job_is_gone_with_its_history(store: Store) -> None:
    ids = [run_to(store, "failed", tags=("red",)), pushed(store, "a", tags=("red",)), run_to(store, "parked")]
    assert store.operator.delete(iter([*ids, "nothing"])) == ids
    assert [store.inspector.get(job_id) for job_id in ids] == [None] * 3
    assert [store.inspector.history(job_id) for job_id in ids] == [[]] * 3
    assert claimed_ids(store, enlisted(store), "default", "a") == []


def test_a_running_job_cannot_be_deleted(store: Store) -> None:
    """I1"""
    job_id = pushed(store)
    claim = claimed(store)
    assert store.operator.delete([job_id]) == []
    assert store.settle([done(claim)]) == []
    assert state(store, job_id) == "succeeded"
