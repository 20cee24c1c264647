"""What a push stores, and what it leaves alone."""

import pytest

from holdfast.model.job import JobRecord
from holdfast.model.query import Query
from holdfast.model.verdict import done
from holdfast.store.protocol import Store
from holdfast.testing.contract.sample_jobs import (
    claimed,
    claimed_ids,
    enlisted,
    job,
    jobs,
    pushed,
    record,
    run_to,
    state,
)
from holdfast.testing.contract.virtual_clock import VirtualClock


def test_a_pushed_job_is_there_with_all_it_was_given(store: Store, clock: VirtualClock) -> None:
    """I1"""
    new = job(
        "mail", task="shop.send", envelope=b"\x00\xffbytes", seal=b"seal", priority=7,
        expires_us=clock.in_s(60), crash_budget=5, tags=("order:17", "red"),
    )  # fmt: skip
    assert [answer.decision for answer in store.push([new])] == ["created"]
    assert store.inspector.get(new.id) == JobRecord(
        id=new.id, queue="mail", task="shop.send", state="ready", priority=7, due_us=clock(), created_us=clock(),
        envelope=b"\x00\xffbytes", seal=b"seal", expires_us=clock.in_s(60), crash_budget=5,
        tags=("order:17", "red"),
    )  # fmt: skip


def test_what_runs_is_what_was_pushed(store: Store) -> None:
    """I2"""
    new = job(envelope=bytes(range(256)), seal=b"\x00seal")
    store.push([new])
    claim = claimed(store)
    assert (claim.id, claim.queue, claim.task) == (new.id, new.queue, new.task)
    assert (claim.envelope, claim.seal) == (new.envelope, new.seal)


def test_nothing_can_be_claimed_that_was_not_pushed(store: Store) -> None:
    """I2"""
    assert store.claim(enlisted(store), ["default"], 10) == []


def test_a_known_id_is_a_duplicate_and_changes_nothing(store: Store, clock: VirtualClock) -> None:
    """I3"""
    first = job(priority=1)
    store.push([first])
    before = record(store, first.id)
    clock.advance(5)
    again = job("other", id=first.id, priority=9, envelope=b"other", task="other", tags=("new",), delay_us=1)
    answer = store.push([again])[0]
    assert (answer.id, answer.decision) == (first.id, "duplicate")
    assert record(store, first.id) == before
    assert claimed_ids(store, enlisted(store), "default", "other") == [first.id]


def test_a_running_job_pushed_again_is_a_duplicate(store: Store) -> None:
    """I3"""
    new = job()
    store.push([new])
    claim = claimed(store)
    assert store.push([new])[0].decision == "duplicate"
    assert store.settle([done(claim)]) == []
    assert claimed_ids(store, enlisted(store)) == []


@pytest.mark.parametrize("ending", ["succeeded", "failed", "cancelled", "parked"])
def test_an_ended_job_pushed_again_is_a_duplicate_and_does_not_run_again(store: Store, ending: str) -> None:
    """I3, I6"""
    job_id = run_to(store, ending)
    assert store.push([job(id=job_id)])[0].decision == "duplicate"
    assert state(store, job_id) == ending


def test_of_two_equal_ids_in_one_batch_the_first_stands(store: Store) -> None:
    """I3"""
    first, second = job(id="twin", priority=1, tags=("red",)), job(id="twin", priority=2, tags=("blue",))
    answers = store.push([first, second])
    assert [(answer.id, answer.decision) for answer in answers] == [("twin", "created"), ("twin", "duplicate")]
    assert (record(store, "twin").priority, record(store, "twin").tags) == (1, ("red",))
    assert [store.inspector.count(Query(tag=tag)) for tag in ("red", "blue")] == [1, 0]


def test_an_id_in_two_queues_of_one_batch_goes_to_the_first(store: Store) -> None:
    """I3: in the order given, also where a batch is several steps."""
    answers = store.push([job("a"), job("b", id="twin"), job("a", id="twin")])
    assert [answer.decision for answer in answers] == ["created", "created", "duplicate"]
    assert record(store, "twin").queue == "b"


def test_a_duplicate_does_not_hinder_the_rest_of_its_batch(store: Store) -> None:
    """I3, I1"""
    known = pushed(store)
    one, two = job(), job("other")
    answers = store.push([one, job(id=known), two])
    assert [answer.decision for answer in answers] == ["created", "duplicate", "created"]
    assert claimed_ids(store, enlisted(store), "default", "other") == [known, one.id, two.id]


def test_answers_come_in_the_order_of_the_jobs(store: Store) -> None:
    batch = [job(queue) for queue in ("b", "a", "b", "c", "a")]
    assert [answer.id for answer in store.push(batch)] == [new.id for new in batch]


def test_a_thousand_jobs_in_one_batch_are_all_there_in_order(store: Store) -> None:
    """I1, I19"""
    batch = jobs(1000)
    store.push(batch)
    assert claimed_ids(store, enlisted(store)) == [new.id for new in batch]


def test_an_empty_batch_is_nothing(store: Store) -> None:
    assert store.push([]) == []
    assert store.queues.names() == []


def test_a_queue_comes_into_being_with_its_first_job(store: Store) -> None:
    assert store.queues.get("mail") is None
    pushed(store, "mail")
    assert store.queues.names() == ["mail"]


def test_a_delay_counts_from_the_stores_own_now(store: Store, clock: VirtualClock) -> None:
    job_id = pushed(store, delay_us=5_000_000)
    assert (state(store, job_id), record(store, job_id).due_us) == ("scheduled", clock.in_s(5))


def test_a_moment_given_with_at_wins_over_a_delay(store: Store, clock: VirtualClock) -> None:
    job_id = pushed(store, delay_us=5_000_000, at_us=clock.in_s(2))
    assert record(store, job_id).due_us == clock.in_s(2)


def test_a_moment_in_the_past_means_now(store: Store, clock: VirtualClock) -> None:
    """Trap 15: a past-due job runs at once."""
    job_id = pushed(store, at_us=clock.in_s(-3600))
    assert (state(store, job_id), record(store, job_id).due_us) == ("ready", clock())
    assert claimed_ids(store, enlisted(store)) == [job_id]


def test_this_very_moment_is_not_the_future(store: Store, clock: VirtualClock) -> None:
    assert state(store, pushed(store, at_us=clock())) == "ready"


def test_the_id_of_a_deleted_job_is_free(store: Store) -> None:
    job_id = run_to(store, "succeeded")
    store.operator.delete([job_id])
    assert store.push([job(id=job_id, priority=3)])[0].decision == "created"
    assert (state(store, job_id), store.inspector.history(job_id)) == ("ready", [])


def test_a_moment_passed_in_counts_as_now(store: Store, clock: VirtualClock) -> None:
    new = job(delay_us=1_000_000)
    store.push([new], clock.in_s(100))
    stored = record(store, new.id)
    assert (stored.created_us, stored.due_us) == (clock.in_s(100), clock.in_s(101))
