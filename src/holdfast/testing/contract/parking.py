"""Parked jobs: shown, never run, until a worker that knows the task comes or a person lets them go (I35)."""

from typing import Any

import pytest

from holdfast.model.verdict import BAD_SEAL, UNKNOWN_TASK
from holdfast.store.protocol import Store
from holdfast.testing.contract.sample_jobs import (
    bad_seal,
    claimed,
    claimed_ids,
    enlisted,
    pushed,
    record,
    run_to,
    state,
    unknown_task,
)
from holdfast.testing.contract.virtual_clock import VirtualClock


def parked_for(store: Store, task: str, **options: Any) -> str:
    job_id = pushed(store, task=task, **options)
    stranger = enlisted(store, tasks=())
    claim = next(claim for claim in store.claim(stranger, ["default"], 100) if claim.id == job_id)
    store.settle([unknown_task(claim)])
    return job_id


def test_a_job_of_an_unknown_task_is_parked_and_says_why(store: Store) -> None:
    """I35"""
    job_id = parked_for(store, "shop.new")
    stored = record(store, job_id)
    assert (stored.state, stored.reason, stored.error) == ("parked", UNKNOWN_TASK, "no task shop.new here")
    assert store.inspector.history(job_id)[0].outcome == "parked"


def test_a_worker_that_does_not_know_the_task_does_not_get_it_again(store: Store) -> None:
    """I35: it would only bounce."""
    parked_for(store, "shop.new")
    assert claimed_ids(store, enlisted(store, tasks=("shop.old",))) == []
    assert claimed_ids(store, enlisted(store, tasks=())) == []


def test_a_worker_that_knows_the_task_gets_the_job(store: Store) -> None:
    """I35"""
    job_id = parked_for(store, "shop.new")
    claim = claimed(store, enlisted(store, tasks=("shop.old", "shop.new")))
    stored = record(store, job_id)
    assert (claim.id, stored.state, stored.deliveries) == (job_id, "running", 2)
    assert (stored.reason, stored.error) == (None, None)


def test_only_jobs_of_known_tasks_come_back_oldest_first(store: Store) -> None:
    """I35"""
    first, other, second = (parked_for(store, task) for task in ("a", "b", "a"))
    worker = enlisted(store, tasks=("a",))
    assert claimed_ids(store, worker, limit=1) == [first]
    assert claimed_ids(store, worker) == [second]
    assert state(store, other) == "parked"


def test_no_more_come_back_than_were_asked_for(store: Store) -> None:
    ids = [parked_for(store, "a") for _ in range(4)]
    claimed_ids(store, enlisted(store, tasks=("a",)), limit=2)
    assert [state(store, job_id) for job_id in ids] == ["running", "running", "parked", "parked"]


def test_what_comes_back_takes_its_place_by_order(store: Store) -> None:
    """I19"""
    low = parked_for(store, "a", priority=1)
    high = pushed(store, task="a", priority=5)
    worker = enlisted(store, tasks=("a",))
    assert claimed_ids(store, worker, limit=1) == [high]
    assert state(store, low) == "ready"
    assert claimed_ids(store, worker) == [low]


def test_a_job_with_a_bad_seal_does_not_come_back_by_itself(store: Store) -> None:
    """I33"""
    job_id = pushed(store, task="a")
    store.settle([bad_seal(claimed(store))])
    assert claimed_ids(store, enlisted(store, tasks=("a",))) == []
    assert (state(store, job_id), record(store, job_id).reason) == ("parked", BAD_SEAL)


def test_a_paused_queue_gives_nothing_back(store: Store) -> None:
    job_id = parked_for(store, "a")
    store.queues.pause("default")
    assert claimed_ids(store, enlisted(store, tasks=("a",))) == []
    assert state(store, job_id) == "parked"


def test_a_person_can_let_a_parked_job_go(store: Store) -> None:
    """I33"""
    job_id = pushed(store, seal=b"old")
    store.settle([bad_seal(claimed(store))])
    assert store.operator.unpark({job_id: None}) == [job_id]
    stored = record(store, job_id)
    assert (stored.state, stored.reason, stored.error, stored.seal) == ("ready", None, None, b"old")
    assert claimed(store).seal == b"old"


def test_a_parked_job_can_be_sealed_anew(store: Store) -> None:
    """I33"""
    job_id = pushed(store, seal=b"old")
    store.settle([bad_seal(claimed(store))])
    store.operator.unpark({job_id: b"new"})
    assert record(store, job_id).seal == b"new"
    assert claimed(store).seal == b"new"


def test_letting_go_concerns_parked_jobs_only(store: Store) -> None:
    ready, running, ended = pushed(store, "a"), pushed(store, "b"), run_to(store, "failed")
    claimed(store, queue="b")
    before = [record(store, job_id) for job_id in (ready, running, ended)]
    assert store.operator.unpark(dict.fromkeys([ready, running, ended, "nothing"], b"new")) == []
    assert [record(store, job_id) for job_id in (ready, running, ended)] == before


def test_an_unparked_job_keeps_its_place(store: Store, clock: VirtualClock) -> None:
    """I19"""
    first = pushed(store)
    store.settle([bad_seal(claimed(store))])
    clock.advance(1)
    second = pushed(store)
    clock.advance(1)
    store.operator.unpark({first: None})
    assert claimed_ids(store, enlisted(store)) == [first, second]


def test_a_parked_job_is_not_due(store: Store) -> None:
    parked_for(store, "a")
    assert store.inspector.next_due() is None


@pytest.mark.parametrize("number", [1, 12])
def test_parking_again_and_again_loses_nothing(store: Store, number: int) -> None:
    """I35, I7"""
    job_id = pushed(store, task="a")
    for _ in range(number):
        store.settle([unknown_task(claimed(store, enlisted(store, tasks=("a",))))])
    stored = record(store, job_id)
    assert (stored.state, stored.deliveries, stored.failures, stored.crashes) == ("parked", number, 0, 0)
