"""Expiry: a job that has not started in time ends as expired, and never runs."""

from holdfast.model.verdict import done
from holdfast.policy.moments import SECOND
from holdfast.store.protocol import PROMOTE_LIMIT, Store
from holdfast.testing.contract.sample_jobs import claimed, claimed_ids, jobs, pushed, record, run_to, state
from holdfast.testing.contract.virtual_clock import VirtualClock


def test_a_job_not_started_in_time_is_not_handed_out(store: Store, clock: VirtualClock, worker: str) -> None:
    job_id = pushed(store, expires_us=clock.in_s(5), keep_dead_s=200)
    clock.advance(5)
    assert claimed_ids(store, worker) == []
    stored = record(store, job_id)
    assert (stored.state, stored.reason, stored.deliveries) == ("expired", "expired", 0)
    assert (stored.finished_us, stored.keep_until_us) == (clock(), clock.in_s(200))


def test_up_to_that_moment_a_job_may_start(store: Store, clock: VirtualClock, worker: str) -> None:
    job_id = pushed(store, expires_us=clock.in_s(5))
    clock.advance(4.999_999)
    assert claimed_ids(store, worker) == [job_id]


def test_a_job_that_runs_does_not_expire(store: Store, clock: VirtualClock, worker: str) -> None:
    job_id = pushed(store, expires_us=clock.in_s(5))
    claim = claimed(store, worker)
    clock.advance(60)
    assert (store.tidy().expired, state(store, job_id)) == (0, "running")
    assert store.settle([done(claim)]) == []


def test_a_delayed_job_can_expire_before_it_is_due(store: Store, clock: VirtualClock, worker: str) -> None:
    job_id = pushed(store, delay_us=60 * SECOND, expires_us=clock.in_s(5))
    clock.advance(5)
    assert claimed_ids(store, worker) == []
    assert state(store, job_id) == "expired"


def test_a_job_that_is_due_and_past_its_time_expires(store: Store, clock: VirtualClock, worker: str) -> None:
    job_id = pushed(store, delay_us=5 * SECOND, expires_us=clock.in_s(5))
    clock.advance(5)
    assert claimed_ids(store, worker) == []
    assert state(store, job_id) == "expired"


def test_a_job_that_comes_too_late_expires_without_a_run(store: Store, clock: VirtualClock, worker: str) -> None:
    job_id = pushed(store, expires_us=clock.in_s(-1))
    assert claimed_ids(store, worker) == []
    assert state(store, job_id) == "expired"


def test_a_parked_job_that_has_never_run_expires_too(store: Store, clock: VirtualClock, worker: str) -> None:
    """A worker that learns the task too late must not run it."""
    job_id = run_to(store, "parked", expires_us=clock.in_s(5))
    clock.advance(5)
    assert claimed_ids(store, worker) == []
    assert state(store, job_id) == "expired"


def test_upkeep_ends_expired_jobs_that_nobody_asks_for(store: Store, clock: VirtualClock) -> None:
    ready = pushed(store, "a", expires_us=clock.in_s(5))
    delayed = pushed(store, "b", delay_us=60 * SECOND, expires_us=clock.in_s(6))
    parked = run_to(store, "parked", expires_us=clock.in_s(5))
    other = pushed(store, "a", expires_us=clock.in_s(7))
    clock.advance(6)
    tidied = store.tidy()
    assert (tidied.expired, tidied.is_more, tidied.next_us) == (3, False, clock.in_s(1))
    assert [state(store, job_id) for job_id in (ready, delayed, parked)] == ["expired"] * 3
    assert state(store, other) == "ready"


def test_upkeep_ends_expired_jobs_of_a_paused_queue(store: Store, clock: VirtualClock) -> None:
    job_id = pushed(store, expires_us=clock.in_s(5))
    store.queues.pause("default")
    clock.advance(5)
    assert (store.tidy().expired, state(store, job_id)) == (1, "expired")


def test_a_claim_on_a_paused_queue_ends_nothing(store: Store, clock: VirtualClock, worker: str) -> None:
    job_id = pushed(store, expires_us=clock.in_s(5))
    store.queues.pause("default")
    clock.advance(5)
    assert (claimed_ids(store, worker), state(store, job_id)) == ([], "ready")


def test_however_many_have_expired_none_is_handed_out(store: Store, clock: VirtualClock, worker: str) -> None:
    """The bound on one step must not let one through."""
    store.push(jobs(PROMOTE_LIMIT + 20, expires_us=clock.in_s(5)))
    alive = pushed(store)
    clock.advance(5)
    seen = [job_id for _ in range(3) for job_id in claimed_ids(store, worker)]
    assert seen == [alive]
    queue = store.queues.get("default")
    assert queue is not None
    assert queue.counts == {"expired": PROMOTE_LIMIT + 20, "running": 1}


def test_upkeep_works_in_slices_and_says_when_there_is_more(store: Store, clock: VirtualClock) -> None:
    store.push(jobs(1001, expires_us=clock.in_s(5)))
    clock.advance(5)
    first, second = store.tidy(), store.tidy()
    assert (first.expired, first.is_more) == (1000, True)
    assert (second.expired, second.is_more) == (1, False)
