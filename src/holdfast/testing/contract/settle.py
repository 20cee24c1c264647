"""Where a run's verdict brings its job, what it charges, and what is remembered of the run."""

import pytest

from holdfast.model.run import Run
from holdfast.model.verdict import CRASHED, Verdict, crashed, done, released
from holdfast.store.protocol import Store
from holdfast.testing.contract.sample_jobs import (
    cancelled,
    claimed,
    claimed_ids,
    enlisted,
    failed,
    job,
    pushed,
    record,
    retry,
    run_to,
    snoozed,
    state,
    unknown_task,
    verdict,
)
from holdfast.testing.contract.virtual_clock import VirtualClock


def test_a_done_job_has_succeeded_with_its_result(store: Store, clock: VirtualClock) -> None:
    """I6"""
    job_id = pushed(store, keep_done_s=100, keep_dead_s=200, result_ttl_s=50)
    claim = claimed(store)
    clock.advance(3)
    assert store.settle([done(claim, b"42")]) == []
    stored = record(store, job_id)
    assert (stored.state, stored.result, stored.result_until_us) == ("succeeded", b"42", clock.in_s(50))
    assert (stored.finished_us, stored.keep_until_us) == (clock(), clock.in_s(100))
    assert (stored.worker, stored.claimed_us, stored.failures, stored.crashes) == (None, None, 0, 0)


def test_a_result_of_nothing_is_a_result(store: Store, clock: VirtualClock) -> None:
    """Trap 33: the state says that it is there, not the bytes."""
    job_id = pushed(store, result_ttl_s=50)
    store.settle([done(claimed(store), None)])
    stored = record(store, job_id)
    assert (stored.state, stored.result, stored.result_until_us) == ("succeeded", None, clock.in_s(50))
    assert store.inspector.watch([job_id], 0) == [job_id]


def test_an_empty_result_is_not_taken_for_none(store: Store) -> None:
    job_id = pushed(store)
    store.settle([done(claimed(store), b"")])
    assert record(store, job_id).result == b""


def test_a_result_is_gone_when_its_time_to_live_is_over(store: Store, clock: VirtualClock) -> None:
    job_id = pushed(store, result_ttl_s=50, keep_done_s=100)
    store.settle([done(claimed(store), b"42")])
    until = clock.in_s(50)
    clock.advance(49.999_999)
    assert record(store, job_id).result == b"42"
    clock.advance(0.000_001)
    stored = record(store, job_id)
    assert (stored.state, stored.result, stored.result_until_us) == ("succeeded", None, until)


def test_a_success_wipes_off_earlier_errors(store: Store) -> None:
    job_id = pushed(store)
    store.settle([retry(claimed(store))])
    store.settle([done(claimed(store))])
    stored = record(store, job_id)
    assert (stored.reason, stored.error, stored.traceback) == (None, None, None)
    assert stored.failures == 1


def test_a_failed_job_stays_failed_with_the_evidence(store: Store, clock: VirtualClock) -> None:
    """I6, I14"""
    job_id = pushed(store, keep_done_s=100, keep_dead_s=200)
    store.settle([failed(claimed(store), "it broke")])
    stored = record(store, job_id)
    assert (stored.state, stored.failures, stored.crashes) == ("failed", 1, 0)
    assert (stored.reason, stored.error, stored.traceback) == ("raised", "it broke", "tb")
    assert (stored.finished_us, stored.keep_until_us) == (clock(), clock.in_s(200))
    assert (stored.result, stored.result_until_us) == (None, None)
    assert claimed_ids(store, enlisted(store)) == []


def test_a_retry_waits_and_is_charged_as_a_failure(store: Store, clock: VirtualClock) -> None:
    """I14, I16"""
    job_id = pushed(store)
    store.settle([retry(claimed(store), 10, "it broke")])
    stored = record(store, job_id)
    assert (stored.state, stored.due_us, stored.failures) == ("scheduled", clock.in_s(10), 1)
    assert (stored.reason, stored.error, stored.traceback) == ("raised", "it broke", "tb")
    assert (stored.finished_us, stored.keep_until_us, stored.worker) == (None, None, None)
    worker = enlisted(store)
    clock.advance(9)
    assert claimed_ids(store, worker) == []
    clock.advance(1)
    assert claimed_ids(store, worker) == [job_id]


def test_a_retry_without_delay_is_ready_at_once(store: Store, clock: VirtualClock) -> None:
    job_id = pushed(store)
    clock.advance(3)
    store.settle([retry(claimed(store), 0)])
    assert (state(store, job_id), record(store, job_id).due_us) == ("ready", clock())


def test_a_snooze_waits_and_costs_nothing(store: Store, clock: VirtualClock) -> None:
    """I7"""
    job_id = pushed(store)
    store.settle([snoozed(claimed(store), 10)])
    stored = record(store, job_id)
    assert (stored.state, stored.due_us) == ("scheduled", clock.in_s(10))
    assert (stored.failures, stored.crashes, stored.deliveries) == (0, 0, 1)


def test_a_task_can_cancel_its_job(store: Store, clock: VirtualClock) -> None:
    job_id = pushed(store, keep_dead_s=200)
    store.settle([cancelled(claimed(store))])
    stored = record(store, job_id)
    assert (stored.state, stored.reason) == ("cancelled", "the task cancelled itself")
    assert (stored.failures, stored.finished_us, stored.keep_until_us) == (0, clock(), clock.in_s(200))


def test_a_released_job_is_as_if_it_had_never_been_taken(store: Store, clock: VirtualClock) -> None:
    """I18"""
    job_id = pushed(store, expires_us=clock.in_s(60))
    before = record(store, job_id)
    claim = claimed(store)
    clock.advance(3)
    store.settle([released(claim)])
    after = record(store, job_id)
    assert after.deliveries == 1
    assert [getattr(after, name) for name in after.__struct_fields__ if name != "deliveries"] == [
        getattr(before, name) for name in before.__struct_fields__ if name != "deliveries"
    ]


def test_a_release_leaves_the_last_error_to_be_seen(store: Store) -> None:
    job_id = pushed(store)
    store.settle([retry(claimed(store), error="it broke")])
    store.settle([released(claimed(store), "shutting down")])
    stored = record(store, job_id)
    assert (stored.reason, stored.error, stored.traceback) == ("raised", "it broke", "tb")


def test_a_crash_brings_the_job_back_and_is_charged(store: Store, clock: VirtualClock) -> None:
    """I14"""
    job_id = pushed(store)
    due = record(store, job_id).due_us
    clock.advance(3)
    store.settle([crashed(claimed(store), "signal 9")])
    stored = record(store, job_id)
    assert (stored.state, stored.crashes, stored.failures, stored.due_us) == ("ready", 1, 0, due)
    assert (stored.reason, stored.error) == (CRASHED, "signal 9")


@pytest.mark.parametrize(("budget", "starts"), [(0, 1), (1, 1), (2, 2), (3, 3)])
def test_a_job_that_kills_its_worker_is_given_up_when_its_budget_is_used(
    store: Store, budget: int, starts: int
) -> None:
    """I14: a budget of 0 means at most one start."""
    job_id = pushed(store, crash_budget=budget)
    worker = enlisted(store)
    seen = 0
    while claims := store.claim(worker, ["default"], 1):
        seen += 1
        store.settle([crashed(claims[0], "signal 9")])
    stored = record(store, job_id)
    assert (seen, stored.crashes, stored.state, stored.reason) == (starts, starts, "failed", CRASHED)
    assert stored.error == "signal 9"


def test_retries_do_not_use_up_the_crash_budget(store: Store) -> None:
    """I14"""
    job_id = pushed(store, crash_budget=2)
    for _ in range(5):
        store.settle([retry(claimed(store))])
    store.settle([crashed(claimed(store), "died")])
    stored = record(store, job_id)
    assert (stored.state, stored.failures, stored.crashes) == ("ready", 5, 1)


def test_a_run_is_remembered_with_all_that_is_known_of_it(store: Store, clock: VirtualClock) -> None:
    worker = enlisted(store)
    job_id = pushed(store)
    began = clock.advance(1)
    claim = claimed(store, worker)
    ended = clock.advance(2)
    store.settle([
        Verdict(
            claim.id, claim.token, claim.queue, "retry",
            took_us=1234, reason="raised", error="it broke", traceback="tb",
        )
    ])  # fmt: skip
    assert store.inspector.history(job_id) == [
        Run(job_id, 1, 1, worker, claim.token, began, ended, 1234, "retry", "raised", "it broke", "tb")
    ]


def test_every_verdict_leaves_a_run_oldest_first(store: Store) -> None:
    job_id = pushed(store)
    for ending in (retry, snoozed):
        store.settle([ending(claimed(store))])
    store.settle([released(claimed(store), took_us=5)])
    store.settle([crashed(claimed(store), "died")])
    store.settle([done(claimed(store))])
    runs = store.inspector.history(job_id)
    assert [run.outcome for run in runs] == ["retry", "snoozed", "released", "crashed", "done"]
    assert [run.number for run in runs] == [1, 2, 3, 4, 5]


def test_a_claim_that_was_handed_back_unstarted_is_no_run_and_pushes_none_out(store: Store) -> None:
    """A worker that takes more than it can start must not wipe out what is known of a job."""
    job_id = pushed(store)
    worker = enlisted(store)
    for _ in range(3):
        store.settle([retry(claimed(store, worker))])
    for _ in range(15):
        store.settle([released(claimed(store, worker))])
    store.settle([done(claimed(store, worker))])
    assert [(run.number, run.outcome) for run in store.inspector.history(job_id)] == [
        (1, "retry"), (2, "retry"), (3, "retry"), (19, "done"),
    ]  # fmt: skip


def test_the_last_ten_runs_are_kept(store: Store) -> None:
    job_id = pushed(store)
    worker = enlisted(store)
    for _ in range(13):
        store.settle([retry(claimed(store, worker))])
    assert [run.number for run in store.inspector.history(job_id)] == list(range(4, 14))
    assert record(store, job_id).deliveries == 13


def test_one_jobs_runs_are_not_anothers(store: Store) -> None:
    worker = enlisted(store)
    first, second = pushed(store), pushed(store)
    for _ in range(12):
        store.settle([retry(claim) for claim in store.claim(worker, ["default"], 2)])
    assert {run.job_id for run in store.inspector.history(first)} == {first}
    assert len(store.inspector.history(second)) == 10


def test_a_batch_settles_jobs_of_many_queues(store: Store) -> None:
    ids = [pushed(store, queue) for queue in ("a", "b", "a")]
    claims = store.claim(enlisted(store), ["a", "b"], 10)
    assert store.settle([done(claims[0]), failed(claims[2]), snoozed(claims[1], 5)]) == []
    assert [state(store, job_id) for job_id in ids] == ["succeeded", "failed", "scheduled"]


def test_no_verdicts_are_no_work(store: Store) -> None:
    assert store.settle([]) == []


@pytest.mark.parametrize("outcome", ["retry", "snoozed", "crashed"])
def test_a_job_that_has_truly_started_does_not_expire_any_more(store: Store, clock: VirtualClock, outcome: str) -> None:
    job_id = pushed(store, expires_us=clock.in_s(5))
    store.settle([verdict(claimed(store), outcome)])  # type: ignore[arg-type]  # one of the outcomes
    clock.advance(10)
    assert record(store, job_id).expires_us is None
    assert store.tidy().expired == 0
    assert claimed_ids(store, enlisted(store)) == [job_id]


def test_a_job_that_was_only_handed_back_can_still_expire(store: Store, clock: VirtualClock) -> None:
    job_id = pushed(store, expires_us=clock.in_s(5))
    store.settle([released(claimed(store))])
    clock.advance(5)
    assert claimed_ids(store, enlisted(store)) == []
    assert state(store, job_id) == "expired"


# --- exchange: settle and claim in one ------------------------------------------------------------------


def test_an_exchange_settles_and_then_claims(store: Store) -> None:
    first, second = pushed(store), pushed(store)
    worker = enlisted(store)
    claim = claimed(store, worker)
    lost, claims = store.exchange([done(claim)], worker, ["default"], 1)
    assert (lost, [claim.id for claim in claims]) == ([], [second])
    assert (state(store, first), state(store, second)) == ("succeeded", "running")


def test_an_exchange_can_hand_out_what_it_brought_back(store: Store) -> None:
    """I8: under a token of its own."""
    job_id = pushed(store)
    worker = enlisted(store)
    claim = claimed(store, worker)
    _, claims = store.exchange([retry(claim)], worker, ["default"], 1)
    assert [again.id for again in claims] == [job_id]
    assert claims[0].token != claim.token


def test_an_exchange_reports_what_was_lost(store: Store) -> None:
    """I10"""
    pushed(store)
    worker = enlisted(store)
    claim = claimed(store, worker)
    store.settle([done(claim)])
    lost, claims = store.exchange([done(claim)], worker, ["default"], 1)
    assert ([one.id for one in lost], claims) == ([claim.id], [])


def test_a_lost_lease_refuses_the_claim_of_an_exchange_and_not_its_verdicts(store: Store, clock: VirtualClock) -> None:
    first, second = pushed(store), pushed(store)
    worker = enlisted(store, lease_s=10)
    claim = claimed(store, worker)
    clock.advance(11)
    assert store.exchange([done(claim)], worker, ["default"], 1) == ([], [])
    assert (state(store, first), state(store, second)) == ("succeeded", "ready")


def test_an_exchange_without_verdicts_is_a_claim(store: Store) -> None:
    job_id = pushed(store)
    _, claims = store.exchange([], enlisted(store), ["default"], 1)
    assert [claim.id for claim in claims] == [job_id]


def test_an_exchange_that_asks_for_nothing_is_a_settle(store: Store) -> None:
    job_id = pushed(store)
    worker = enlisted(store)
    assert store.exchange([done(claimed(store, worker))], worker, ["default"], 0) == ([], [])
    assert state(store, job_id) == "succeeded"


# --- final is final -------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["succeeded", "failed", "cancelled"])
def test_a_final_state_absorbs(store: Store, clock: VirtualClock, ending: str) -> None:
    """I6"""
    job_id = run_to(store, ending)
    before = record(store, job_id)
    clock.advance(1)
    assert claimed_ids(store, enlisted(store)) == []
    store.operator.cancel([job_id])
    store.operator.unpark({job_id: None})
    store.push([job(id=job_id)])
    store.rescue()
    store.tidy()
    assert record(store, job_id) == before


def test_parking_sets_a_job_aside_uncharged(store: Store) -> None:
    """I35"""
    job_id = pushed(store)
    store.settle([unknown_task(claimed(store))])
    stored = record(store, job_id)
    assert (stored.state, stored.failures, stored.crashes) == ("parked", 0, 0)
    assert (stored.reason, stored.finished_us) == ("unknown task", None)
