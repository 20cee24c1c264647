"""Keys: at most one unfinished job has one, plus a successor; every push is told what became of it, and why (I23, I24)."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from holdfast.model.claim import Claim
from holdfast.model.job import Pushed
from holdfast.model.query import Query
from holdfast.model.verdict import Verdict, crashed, done, released
from holdfast.policy.moments import SECOND
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
    snoozed,
    state,
    unknown_task,
)
from holdfast.testing.contract.virtual_clock import VirtualClock

HOUR = 3600 * SECOND


def push(store: Store, **options: Any) -> Pushed:
    """Push a job under the key k, and give the answer."""
    return store.push([job(**({"key": "k"} | options))])[0]


def keyed(store: Store, **options: Any) -> str:
    """Push a job under the key k, which must be stored, and give its id."""
    answer = push(store, **options)
    assert answer.decision == "created", answer
    return answer.id


def succeeded(store: Store, **options: Any) -> str:
    """Push a job under the key k, run it to success, and give its id."""
    job_id = keyed(store, **options)
    store.settle([done(claimed(store))])
    assert state(store, job_id) == "succeeded"
    return job_id


# --- one job has the key ------------------------------------------------------------------------------------------


def test_a_job_keeps_its_key_and_version(store: Store) -> None:
    stored = record(store, keyed(store, version="3"))
    assert (stored.key, stored.version) == ("k", "3")


def test_a_second_push_merges_into_the_job_that_waits(store: Store, worker: str) -> None:
    """I23"""
    first = keyed(store, envelope=b"first")
    answer = push(store, envelope=b"second")
    assert (answer.id, answer.decision) == (first, "merged")
    assert answer.reason
    assert [claim.envelope for claim in store.claim(worker, ["default"], 10)] == [b"first"]


def test_what_was_merged_left_nothing_behind(store: Store) -> None:
    keyed(store)
    new = job(key="k")
    store.push([new])
    assert store.inspector.get(new.id) is None
    assert store.push([job(id=new.id)])[0] == Pushed(new.id, "created"), "its id is free"


def test_a_merge_takes_the_higher_priority(store: Store, worker: str) -> None:
    """Traps 1, 2"""
    others = [pushed(store, priority=2) for _ in range(3)]
    first = keyed(store, priority=1)
    push(store, priority=3)
    assert record(store, first).priority == 3
    assert claimed_ids(store, worker) == [first, *others]


def test_a_merge_never_lowers_the_priority(store: Store) -> None:
    first = keyed(store, priority=5)
    push(store, priority=-5)
    assert record(store, first).priority == 5


def test_a_ready_job_merged_with_a_later_time_and_a_higher_priority_stays_ready_and_goes_first(
    store: Store, worker: str
) -> None:
    """Trap 1: strict order."""
    two = pushed(store, priority=2)
    first = keyed(store, priority=1)
    push(store, priority=99, delay_us=HOUR)
    assert claimed_ids(store, worker) == [first, two]


def test_a_merge_takes_the_earlier_time(store: Store, clock: VirtualClock, worker: str) -> None:
    first = keyed(store, delay_us=HOUR)
    assert push(store, delay_us=10 * SECOND).decision == "merged"
    assert (record(store, first).due_us, state(store, first)) == (clock.in_s(10), "scheduled")
    push(store)
    assert (record(store, first).due_us, state(store, first)) == (clock(), "ready")
    assert claimed_ids(store, worker) == [first]


def test_keys_of_one_batch_see_each_other(store: Store) -> None:
    first, second, other = job(key="k"), job(key="k", priority=7), job(key="other")
    answers = store.push([first, second, other])
    assert [(one.id, one.decision) for one in answers] == [
        (first.id, "created"), (first.id, "merged"), (other.id, "created"),
    ]  # fmt: skip
    assert record(store, first.id).priority == 7


def test_the_same_key_in_two_queues_is_two_keys(store: Store) -> None:
    """Trap 43"""
    answers = store.push([job("a", key="k"), job("b", key="k")])
    assert [one.decision for one in answers] == ["created", "created"]


def test_a_known_id_is_a_duplicate_whatever_its_key(store: Store) -> None:
    """I3: the caller may not know whether its push was stored."""
    new = job(key="k", on_conflict="replace")
    assert store.push([new])[0].decision == "created"
    assert store.push([new])[0] == Pushed(new.id, "duplicate", store.push([new])[0].reason)
    assert state(store, new.id) == "ready"


def test_keep_changes_nothing(store: Store) -> None:
    first = keyed(store, delay_us=HOUR)
    answer = push(store, priority=9, on_conflict="keep")
    assert (answer.id, answer.decision) == (first, "duplicate")
    assert answer.reason
    assert (record(store, first).priority, state(store, first)) == (0, "scheduled")


def test_reject_refuses_and_leaves_nothing_behind(store: Store) -> None:
    """I30"""
    first = keyed(store)
    new = job(key="k", priority=9, on_conflict="reject")
    answer = store.push([new])[0]
    assert (answer.id, answer.decision) == (new.id, "refused")
    assert first in (answer.reason or "")
    assert store.inspector.get(new.id) is None
    assert record(store, first).priority == 0


def test_replace_cancels_the_old_job_and_stores_the_new_one(store: Store, clock: VirtualClock) -> None:
    first = keyed(store, delay_us=5 * SECOND)
    second = keyed(store, delay_us=9 * SECOND, on_conflict="replace")
    assert state(store, first) == "cancelled"
    assert second in (record(store, first).reason or "")
    assert record(store, second).due_us == clock.in_s(9), "debounced: the new time counts"


def test_a_parked_job_keeps_its_key(store: Store) -> None:
    first = keyed(store)
    store.settle([unknown_task(claimed(store))])
    assert push(store) == Pushed(first, "merged", push(store).reason)


@pytest.mark.parametrize("ending", [retry, snoozed, released, lambda claim: crashed(claim, "died")])
def test_a_job_that_comes_back_keeps_its_key(store: Store, ending: Callable[[Claim], Verdict]) -> None:
    first = keyed(store)
    store.settle([ending(claimed(store))])
    assert (push(store).id, push(store).decision) == (first, "merged")


@pytest.mark.parametrize("ending", [done, failed, cancelled])
def test_the_key_is_free_when_its_job_has_ended(store: Store, ending: Callable[[Claim], Verdict]) -> None:
    keyed(store)
    store.settle([ending(claimed(store))])
    assert push(store).decision == "created"


@pytest.mark.parametrize("how", ["cancel", "delete", "purge", "expire"])
def test_the_key_is_free_when_its_job_is_gone(store: Store, clock: VirtualClock, how: str) -> None:
    first = keyed(store, expires_us=clock.in_s(5))
    if how == "cancel":
        store.operator.cancel([first])
    elif how == "delete":
        store.operator.delete([first])
    elif how == "purge":
        store.queues.purge("default")
    else:
        clock.advance(5)
        store.tidy()
    assert push(store).decision == "created"


def test_an_ended_job_is_not_opened_again_while_another_has_its_key(store: Store) -> None:
    """I23"""
    first = keyed(store)
    store.settle([failed(claimed(store))])
    second = keyed(store)
    assert store.operator.retry([first]) == []
    store.operator.cancel([second])
    assert store.operator.retry([first]) == [first]
    assert push(store).decision == "merged"
    assert store.operator.retry([second]) == []


# --- while it runs ------------------------------------------------------------------------------------------------


def test_a_push_against_a_running_job_says_so(store: Store) -> None:
    """Trap 4"""
    first = keyed(store)
    claimed(store)
    answer = push(store, priority=9)
    assert (answer.id, answer.decision) == (first, "duplicate")
    assert "running" in (answer.reason or "")
    assert push(store, on_conflict="keep").decision == "duplicate"
    assert push(store, on_conflict="reject").decision == "refused"


def test_a_successor_waits_for_the_running_job_and_runs_after_it(store: Store, worker: str) -> None:
    """I23, trap 4"""
    keyed(store)
    claim = claimed(store, worker)
    second = keyed(store, runs_after=True)
    assert (state(store, second), claimed_ids(store, worker)) == ("waiting", [])
    store.settle([done(claim)])
    assert state(store, second) == "ready"
    assert claimed_ids(store, worker) == [second]


def test_there_is_one_successor_at_most(store: Store) -> None:
    """I23"""
    keyed(store)
    claimed(store)
    second = keyed(store, runs_after=True)
    answer = push(store, runs_after=True, priority=4)
    assert (answer.id, answer.decision) == (second, "merged")
    assert record(store, second).priority == 4
    assert push(store, runs_after=True, on_conflict="keep").decision == "duplicate"
    assert push(store, runs_after=True, on_conflict="reject").decision == "refused"


def test_a_successor_keeps_the_time_it_was_pushed_for(store: Store, clock: VirtualClock, worker: str) -> None:
    keyed(store)
    claim = claimed(store, worker)
    second = keyed(store, runs_after=True, delay_us=60 * SECOND)
    store.settle([done(claim)])
    assert (state(store, second), record(store, second).due_us) == ("scheduled", clock.in_s(60))


def test_a_successor_waits_until_the_job_has_ended_for_good(store: Store, worker: str) -> None:
    first = keyed(store)
    claim = claimed(store, worker)
    second = keyed(store, runs_after=True)
    store.settle([retry(claim)])
    assert claimed_ids(store, worker) == [first]
    assert state(store, second) == "waiting"


@pytest.mark.parametrize("how", ["rescue", "cancel", "delete"])
def test_a_successor_is_let_go_however_its_holder_ends(store: Store, clock: VirtualClock, how: str) -> None:
    first = keyed(store, crash_budget=1)
    mortal = enlisted(store)
    claim = claimed(store, mortal)
    second = keyed(store, runs_after=True)
    if how == "rescue":
        clock.advance(11)
        store.rescue()
        assert state(store, first) == "failed"
    else:
        store.settle([retry(claim, 10)])
        getattr(store.operator, how)([first])
    assert state(store, second) == "ready"
    assert push(store).id == second


def test_replacing_a_running_job_asks_it_to_stop_and_runs_after_it(store: Store, worker: str) -> None:
    keyed(store)
    claim = claimed(store, worker)
    second = keyed(store, on_conflict="replace")
    assert store.beat(worker).cancelled == (claim.token,)
    assert state(store, second) == "waiting"
    third = keyed(store, on_conflict="replace")
    assert (state(store, second), state(store, third)) == ("cancelled", "waiting")
    store.settle([cancelled(claim)])
    assert claimed_ids(store, worker) == [third]


def test_replacing_a_job_that_waits_clears_its_successor_too(store: Store, worker: str) -> None:
    first = keyed(store)
    claim = claimed(store, worker)
    second = keyed(store, runs_after=True)
    store.settle([retry(claim, 10)])
    third = keyed(store, on_conflict="replace")
    assert [state(store, one) for one in (first, second, third)] == ["cancelled", "cancelled", "ready"]
    assert claimed_ids(store, worker) == [third]


def test_a_cancelled_successor_makes_room_for_another(store: Store, worker: str) -> None:
    keyed(store)
    claim = claimed(store, worker)
    second = keyed(store, runs_after=True)
    assert store.operator.cancel([second]) == {second: "cancelled"}
    third = keyed(store, runs_after=True)
    store.settle([done(claim)])
    assert claimed_ids(store, worker) == [third]


def test_a_successor_that_waits_too_long_expires(store: Store, clock: VirtualClock, worker: str) -> None:
    keyed(store)
    claim = claimed(store, worker)
    second = keyed(store, runs_after=True, expires_us=clock.in_s(5))
    clock.advance(5)
    assert store.tidy().expired == 1
    assert state(store, second) == "expired"
    store.settle([done(claim)])
    assert claimed_ids(store, worker) == []


def test_another_version_of_a_running_job_runs_after_it(store: Store) -> None:
    keyed(store, version="1")
    claimed(store)
    assert push(store, version="1").decision == "duplicate"
    assert state(store, keyed(store, version="2")) == "waiting"


# --- after it ran -------------------------------------------------------------------------------------------------


def test_a_push_is_needless_while_the_last_success_is_fresh(store: Store, clock: VirtualClock) -> None:
    first = succeeded(store)
    clock.advance(59)
    answer = push(store, fresh_for_us=60 * SECOND)
    assert (answer.id, answer.decision) == (first, "duplicate")
    assert "59.0 s ago" in (answer.reason or "")
    clock.advance(1)
    assert push(store, fresh_for_us=60 * SECOND).decision == "created"


def test_without_freshness_a_push_after_success_is_stored(store: Store) -> None:
    """Trap 8: no wish is no rule."""
    succeeded(store, fresh_for_us=HOUR)
    assert push(store).decision == "created"


@pytest.mark.parametrize("ending", [failed, cancelled])
def test_only_a_success_is_fresh(store: Store, ending: Callable[[Claim], Verdict]) -> None:
    keyed(store)
    store.settle([ending(claimed(store))])
    assert push(store, fresh_for_us=HOUR).decision == "created"


def test_force_passes_by_freshness(store: Store) -> None:
    succeeded(store)
    assert push(store, fresh_for_us=HOUR, is_forced=True).decision == "created"


def test_force_does_not_pass_by_a_job_that_has_the_key(store: Store) -> None:
    """I23"""
    keyed(store)
    assert push(store, fresh_for_us=HOUR, is_forced=True).decision == "merged"


def test_a_new_version_passes_by_freshness(store: Store) -> None:
    succeeded(store, version="1")
    assert push(store, fresh_for_us=HOUR, version="1").decision == "duplicate"
    assert push(store, fresh_for_us=HOUR).decision == "duplicate"
    assert push(store, fresh_for_us=HOUR, version="2").decision == "created"


def test_a_version_is_done_once(store: Store) -> None:
    succeeded(store, version="1")
    assert push(store, version="1").decision == "duplicate"
    assert push(store, version="1", is_forced=True).decision == "created"


def test_a_success_is_remembered_as_long_as_it_counts_as_fresh(store: Store, clock: VirtualClock) -> None:
    first = succeeded(store, keep_done_s=10, fresh_for_us=HOUR)
    clock.advance(3599)
    store.tidy()
    store.tidy()
    assert store.inspector.get(first) is None, "the record is gone, the success is not"
    assert push(store, fresh_for_us=2 * HOUR).id == first
    clock.advance(1)
    store.tidy()
    assert push(store, fresh_for_us=2 * HOUR).decision == "created"


def test_the_last_success_is_the_one_that_counts(store: Store, clock: VirtualClock) -> None:
    succeeded(store, version="1")
    clock.advance(10)
    second = succeeded(store, version="2")
    assert push(store, version="1").decision == "created", "the last success is of version 2"
    store.queues.purge("default")
    assert push(store, version="2").id == second


# --- again and again ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [done, failed])
def test_a_job_that_recurs_begins_anew_after_its_end(
    store: Store, clock: VirtualClock, worker: str, ending: Callable[[Claim], Verdict]
) -> None:
    first = keyed(store)
    store.settle([retry(claimed(store, worker))])
    store.settle([replace(ending(claimed(store, worker)), again_us=60 * SECOND)])
    stored = record(store, first)
    assert (stored.state, stored.due_us, stored.generation) == ("scheduled", clock.in_s(60), 2)
    assert (stored.failures, stored.crashes, stored.finished_us, stored.keep_until_us) == (0, 0, None, None)
    assert push(store).decision == "merged", "it still has its key"
    store.queues.purge("default")


def test_a_job_that_recurs_ends_when_it_is_cancelled(store: Store, clock: VirtualClock, worker: str) -> None:
    first = keyed(store)
    claim = claimed(store, worker)
    store.operator.cancel([first])
    store.settle([Verdict(claim.id, claim.token, claim.queue, "done", again_us=60 * SECOND)])
    assert state(store, first) == "succeeded"
    assert push(store).decision == "created"


def test_each_success_of_a_job_that_recurs_counts_as_fresh(store: Store, clock: VirtualClock, worker: str) -> None:
    first = keyed(store)
    claim = claimed(store, worker)
    store.settle([Verdict(claim.id, claim.token, claim.queue, "done", again_us=60 * SECOND)])
    store.operator.cancel([first])
    assert push(store, fresh_for_us=HOUR).decision == "duplicate"


def test_jobs_are_found_by_their_key(store: Store) -> None:
    first = pushed(store, key="k")
    store.settle([done(claimed(store))])
    second = pushed(store, key="k")
    pushed(store, key="other")
    pushed(store, "elsewhere", key="k")
    claimed(store)
    heir = pushed(store, key="k", runs_after=True)
    found = store.inspector.find(Query(queue="default", key="k"))
    assert [one.id for one in found] == [heir, second, first]
    holding = Query(("running", "scheduled", "ready", "parked", "spilled"), "default", key="k")
    assert [one.id for one in store.inspector.find(holding)] == [second]
    assert store.inspector.count(Query(key="k")) == 4
