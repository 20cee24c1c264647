"""Tokens: whoever presents another than the job's current one changes nothing and is told so (I8-I10)."""

from collections.abc import Callable

import pytest

from holdfast.model.claim import Claim
from holdfast.model.verdict import Verdict, crashed, done, released
from holdfast.store.protocol import Store
from holdfast.testing.contract.sample_jobs import (
    cancelled,
    claimed,
    enlisted,
    failed,
    job,
    progress,
    pushed,
    record,
    retry,
    run_to,
    snoozed,
    state,
    unknown_task,
)
from holdfast.testing.contract.virtual_clock import VirtualClock

Ending = Callable[[Claim], Verdict]


def crash(claim: Claim) -> Verdict:
    return crashed(claim, "died")


ENDINGS: list[Ending] = [done, failed, retry, snoozed, cancelled, released, crash, unknown_task]


def test_no_token_is_issued_twice(store: Store) -> None:
    """I8: not to the same job, not to another, not after a retry by hand, not after the id was used anew."""
    store.push([job(id="a"), job(id="b")])
    worker = enlisted(store)
    tokens: list[str] = []
    for _ in range(10):
        claims = store.claim(worker, ["default"], 2)
        tokens += [claim.token for claim in claims]
        store.settle([failed(claim) for claim in claims])
        store.operator.retry(["a", "b"])
    store.operator.delete(["a", "b"])
    store.push([job(id="a"), job(id="b")])
    tokens += [claim.token for claim in store.claim(worker, ["default"], 2)]
    assert len(tokens) == len(set(tokens)) == 22


def test_a_token_begins_with_the_number_of_the_delivery(store: Store) -> None:
    """I8"""
    pushed(store)
    worker = enlisted(store)
    for number in (1, 2, 3):
        claim = claimed(store, worker)
        count, _, nonce = claim.token.partition("-")
        assert (count, len(nonce) >= 16) == (str(number), True)
        store.settle([released(claim)])


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_second_verdict_on_one_claim_is_lost(store: Store, ending: Ending) -> None:
    """I10, I6: settle is idempotent by token; never two endings of one run."""
    job_id = pushed(store)
    claim = claimed(store)
    store.settle([done(claim, b"first")])
    before, runs = record(store, job_id), store.inspector.history(job_id)
    lost = store.settle([ending(claim)])
    assert [(one.id, one.token) for one in lost] == [(claim.id, claim.token)]
    assert lost[0].why
    assert (record(store, job_id), store.inspector.history(job_id)) == (before, runs)


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_old_token_does_not_end_someone_elses_run(store: Store, ending: Ending) -> None:
    """I10, trap 39: an expired holder cannot answer for the next one."""
    job_id = pushed(store)
    stale = claimed(store)
    store.settle([released(stale)])
    current = claimed(store)
    before, runs = record(store, job_id), store.inspector.history(job_id)
    lost = store.settle([ending(stale)])
    assert [one.id for one in lost] == [job_id]
    assert "claimed again" in lost[0].why
    assert (record(store, job_id), store.inspector.history(job_id)) == (before, runs)
    assert store.settle([done(current)]) == []


def test_a_verdict_that_comes_after_the_rescue_is_refused_with_the_reason(store: Store, clock: VirtualClock) -> None:
    """I10, trap 6"""
    job_id = pushed(store)
    late = claimed(store, enlisted(store, lease_s=10))
    clock.advance(11)
    store.rescue()
    lost = store.settle([done(late, b"late")])
    assert [one.id for one in lost] == [job_id]
    assert "not running any more" in lost[0].why
    assert state(store, job_id) == "ready"
    store.settle([done(claimed(store), b"in time")])
    assert record(store, job_id).result == b"in time"


def test_a_late_verdict_is_accepted_while_nobody_else_owns_the_job(store: Store, clock: VirtualClock) -> None:
    """Trap 6: the lease has ended, but no rescue has passed; the work is done, and counts."""
    job_id = pushed(store)
    late = claimed(store, enlisted(store, lease_s=10))
    clock.advance(11)
    assert store.settle([done(late, b"late")]) == []
    assert store.rescue()[0].jobs == ()
    assert (state(store, job_id), record(store, job_id).result) == ("succeeded", b"late")


def test_a_made_up_token_is_lost(store: Store) -> None:
    """I10"""
    job_id = pushed(store)
    claim = claimed(store)
    forged = Verdict(job_id, "1-0000000000000000", claim.queue, "done")
    assert [one.token for one in store.settle([forged])] == ["1-0000000000000000"]
    assert state(store, job_id) == "running"


def test_a_verdict_on_a_job_that_never_was_is_lost(store: Store) -> None:
    """I10"""
    lost = store.settle([Verdict("nothing", "1-0", "default", "done")])
    assert [one.id for one in lost] == ["nothing"]
    assert lost[0].why


def test_a_verdict_on_a_job_that_was_never_claimed_is_lost(store: Store) -> None:
    """I10"""
    job_id = pushed(store)
    assert [one.id for one in store.settle([Verdict(job_id, "", "default", "done")])] == [job_id]
    assert state(store, job_id) == "ready"


def test_of_two_verdicts_on_one_claim_in_one_batch_the_first_holds(store: Store) -> None:
    """I10"""
    job_id = pushed(store)
    claim = claimed(store)
    assert [one.id for one in store.settle([done(claim, b"1"), failed(claim)])] == [job_id]
    assert (state(store, job_id), len(store.inspector.history(job_id))) == ("succeeded", 1)


def test_a_lost_verdict_does_not_hinder_the_rest_of_its_batch(store: Store) -> None:
    """I10"""
    worker = enlisted(store)
    one, two, three = pushed(store, "a"), pushed(store, "b"), pushed(store, "a")
    claims = {claim.id: claim for claim in store.claim(worker, ["a", "b"], 3)}
    store.settle([done(claims[two])])
    lost = store.settle([done(claims[one]), failed(claims[two]), done(claims[three])])
    assert [one.id for one in lost] == [two]
    assert [state(store, job_id) for job_id in (one, two, three)] == ["succeeded"] * 3


def test_a_batch_sent_twice_changes_nothing_the_second_time(store: Store) -> None:
    """I10, I1: a caller that lost the answer sends it again."""
    ids = [pushed(store) for _ in range(3)]
    verdicts = [done(claim) for claim in store.claim(enlisted(store), ["default"], 3)]
    store.settle(verdicts)
    before = [record(store, job_id) for job_id in ids]
    assert [one.id for one in store.settle(verdicts)] == ids
    assert [record(store, job_id) for job_id in ids] == before


# --- notes ----------------------------------------------------------------------------------------------


def test_a_note_tells_how_far_a_run_has_come(store: Store) -> None:
    job_id = pushed(store)
    claim = claimed(store)
    assert store.note([progress(claim, 0.25, "a quarter")]) == []
    assert (record(store, job_id).progress, record(store, job_id).progress_note) == (0.25, "a quarter")
    assert store.note([progress(claim, 0.0, "")]) == []
    assert (record(store, job_id).progress, record(store, job_id).progress_note) == (0.0, "")


def test_a_note_replaces_the_one_before_it_as_a_whole(store: Store) -> None:
    job_id = pushed(store)
    claim = claimed(store)
    store.note([progress(claim, 0.25, "a quarter")])
    store.note([progress(claim, 0.5, None)])
    assert (record(store, job_id).progress, record(store, job_id).progress_note) == (0.5, None)


def test_the_last_progress_of_a_success_is_kept(store: Store) -> None:
    job_id = pushed(store)
    claim = claimed(store)
    store.note([progress(claim, 1.0, "all of it")])
    store.settle([done(claim)])
    assert (record(store, job_id).progress, record(store, job_id).progress_note) == (1.0, "all of it")


def test_a_note_with_an_old_token_is_lost(store: Store) -> None:
    """I10"""
    job_id = pushed(store)
    stale = claimed(store)
    store.settle([released(stale)])
    assert [one.id for one in store.note([progress(stale)])] == [job_id]
    current = claimed(store)
    lost = store.note([progress(stale, 0.1), progress(current, 0.7)])
    assert [one.token for one in lost] == [stale.token]
    assert record(store, job_id).progress == 0.7


def test_a_note_on_an_ended_job_is_lost(store: Store) -> None:
    """I10"""
    job_id = pushed(store)
    claim = claimed(store)
    store.settle([done(claim)])
    assert [one.id for one in store.note([progress(claim, 0.9)])] == [job_id]
    assert record(store, job_id).progress is None


def test_a_retried_jobs_old_token_stays_void(store: Store) -> None:
    """I8, I6"""
    job_id = run_to(store, "failed")
    token = store.inspector.history(job_id)[0].token
    store.operator.retry([job_id])
    current = claimed(store)
    assert [one.id for one in store.settle([Verdict(job_id, token, "default", "done")])] == [job_id]
    assert store.settle([done(current)]) == []
