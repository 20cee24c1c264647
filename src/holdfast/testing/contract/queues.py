"""The door to queues: policy, pause, purge, and exact counts."""

import pytest

from holdfast.model.queue import QueuePolicy, QueueRecord
from holdfast.model.verdict import done
from holdfast.policy.moments import SECOND
from holdfast.store.protocol import Store
from holdfast.testing.contract.sample_jobs import (
    claimed,
    claimed_ids,
    enlisted,
    failed,
    job,
    jobs,
    pushed,
    retry,
    run_to,
    state,
)
from holdfast.testing.contract.virtual_clock import VirtualClock

LIFO = QueuePolicy("lifo")


def queue(store: Store, name: str = "default") -> QueueRecord:
    found = store.queues.get(name)
    assert found is not None, f"there is no queue {name}"
    return found


def test_names_are_listed_in_order(store: Store) -> None:
    store.push([job("b"), job("c"), job("a"), job("b")])
    assert store.queues.names() == ["a", "b", "c"]


def test_a_queue_that_never_was_is_none(store: Store) -> None:
    assert store.queues.get("nowhere") is None


def test_a_new_queue_is_plain(store: Store, clock: VirtualClock) -> None:
    pushed(store)
    assert queue(store) == QueueRecord("default", QueuePolicy("fifo"), False, {"ready": 1}, clock(), None)


def test_a_policy_can_be_set_before_the_first_job(store: Store) -> None:
    assert store.queues.set_policy("mail", LIFO)
    assert queue(store, "mail") == QueueRecord("mail", LIFO, False, {})
    assert store.queues.names() == ["mail"]


def test_setting_the_same_policy_changes_nothing(store: Store) -> None:
    pushed(store)
    assert not store.queues.set_policy("default", QueuePolicy())
    assert store.queues.set_policy("default", LIFO)
    assert not store.queues.set_policy("default", LIFO)
    assert store.queues.set_policy("default", QueuePolicy())


def test_a_paused_queue_hands_out_nothing_until_it_is_resumed(store: Store, clock: VirtualClock) -> None:
    ready, delayed = pushed(store), pushed(store, delay_us=SECOND)
    worker = enlisted(store)
    assert store.queues.pause("default")
    clock.advance(2)
    assert claimed_ids(store, worker) == []
    assert store.queues.resume("default")
    assert claimed_ids(store, worker) == [ready, delayed]


def test_pausing_and_resuming_say_whether_they_changed_anything(store: Store) -> None:
    pushed(store)
    answers = [store.queues.resume("default"), store.queues.pause("default"), store.queues.pause("default")]
    assert answers == [False, True, False]
    assert queue(store).is_paused
    assert (store.queues.resume("default"), queue(store).is_paused) == (True, False)


def test_a_pause_is_not_forgotten_by_a_push_or_a_policy(store: Store) -> None:
    store.queues.pause("default")
    pushed(store)
    store.queues.set_policy("default", LIFO)
    assert queue(store).is_paused
    assert claimed_ids(store, enlisted(store)) == []


def test_a_queue_can_be_paused_before_its_first_job(store: Store) -> None:
    assert store.queues.pause("mail")
    assert queue(store, "mail").is_paused
    job_id = pushed(store, "mail")
    assert (claimed_ids(store, enlisted(store), "mail"), state(store, job_id)) == ([], "ready")


def test_there_is_nothing_to_resume_in_a_queue_that_never_was(store: Store) -> None:
    assert not store.queues.resume("nowhere")
    assert store.queues.names() == []


def test_a_pause_concerns_one_queue(store: Store) -> None:
    pushed(store, "a")
    b = pushed(store, "b")
    store.queues.pause("a")
    assert claimed_ids(store, enlisted(store), "a", "b") == [b]


def test_what_runs_in_a_paused_queue_runs_on(store: Store) -> None:
    worker = enlisted(store)
    one, two = pushed(store), pushed(store)
    claims = store.claim(worker, ["default"], 2)
    store.queues.pause("default")
    assert store.settle([done(claims[0]), retry(claims[1])]) == []
    assert (state(store, one), state(store, two)) == ("succeeded", "ready")


def test_a_purge_deletes_what_has_not_started_and_nothing_else(store: Store) -> None:
    kept = [run_to(store, ending) for ending in ("succeeded", "failed", "cancelled")]
    running = pushed(store)
    claim = claimed(store)
    gone = [run_to(store, "parked"), pushed(store), pushed(store, delay_us=SECOND)]
    assert store.queues.purge("default") == 3
    assert [store.inspector.get(job_id) for job_id in gone] == [None] * 3
    assert [state(store, job_id) for job_id in [*kept, running]] == [
        "succeeded", "failed", "cancelled", "running",
    ]  # fmt: skip
    assert store.settle([done(claim)]) == []


def test_a_purge_takes_history_and_tags_along(store: Store) -> None:
    job_id = pushed(store, tags=("red",))
    store.settle([retry(claimed(store))])
    store.queues.purge("default")
    assert store.inspector.history(job_id) == []
    assert store.push([job(id=job_id)])[0].decision == "created"
    assert store.inspector.history(job_id) == []


def test_a_purged_queue_remains_with_its_settings(store: Store) -> None:
    store.queues.set_policy("default", LIFO)
    store.queues.pause("default")
    pushed(store)
    store.queues.purge("default")
    assert queue(store) == QueueRecord("default", LIFO, True, {})


def test_a_purge_concerns_one_queue(store: Store) -> None:
    pushed(store, "a")
    b = pushed(store, "b")
    assert store.queues.purge("a") == 1
    assert state(store, b) == "ready"


def test_there_is_nothing_to_purge_in_a_queue_that_never_was(store: Store) -> None:
    assert store.queues.purge("nowhere") == 0
    assert store.queues.names() == []


def test_counts_are_those_of_the_states_that_occur(store: Store) -> None:
    """I39"""
    for ending in ("succeeded", "failed", "failed", "cancelled"):
        run_to(store, ending)
    pushed(store)
    claimed(store)
    run_to(store, "parked")
    store.push([*jobs(3), *jobs(2, delay_us=60 * SECOND)])
    assert queue(store).counts == {
        "parked": 1, "succeeded": 1, "failed": 2, "cancelled": 1, "running": 1, "ready": 3, "scheduled": 2,
    }  # fmt: skip
    assert queue(store).size == 5


def test_counts_show_due_jobs_as_ready(store: Store, clock: VirtualClock) -> None:
    """I39: whether or not a worker has asked since."""
    store.push([*jobs(2, delay_us=5 * SECOND), *jobs(1, delay_us=9 * SECOND)])
    assert queue(store).counts == {"scheduled": 3}
    clock.advance(5)
    assert queue(store).counts == {"ready": 2, "scheduled": 1}


def test_counts_equal_recounts_through_a_jobs_whole_life(store: Store, clock: VirtualClock) -> None:
    """I39, trap 10"""
    job_id = pushed(store, delay_us=SECOND)
    seen = [queue(store).counts]
    clock.advance(1)
    claim = claimed(store)
    seen.append(queue(store).counts)
    store.settle([retry(claim, 1)])
    seen.append(queue(store).counts)
    clock.advance(1)
    store.settle([failed(claimed(store))])
    seen.append(queue(store).counts)
    store.operator.retry([job_id])
    seen.append(queue(store).counts)
    store.operator.cancel([job_id])
    seen.append(queue(store).counts)
    store.operator.delete([job_id])
    seen.append(queue(store).counts)
    assert seen == [
        {"scheduled": 1}, {"running": 1}, {"scheduled": 1}, {"failed": 1}, {"ready": 1}, {"cancelled": 1}, {},
    ]  # fmt: skip


def test_a_queue_tells_its_oldest_ready_and_its_next_due_job(store: Store, clock: VirtualClock) -> None:
    pushed(store, delay_us=3 * SECOND)
    pushed(store, delay_us=8 * SECOND, priority=5)
    pushed(store, delay_us=9 * SECOND)
    began = clock()
    assert (queue(store).oldest_ready_us, queue(store).next_due_us) == (None, began + 3 * SECOND)
    clock.advance(8)
    assert (queue(store).oldest_ready_us, queue(store).next_due_us) == (began + 3 * SECOND, began + 9 * SECOND)
    claimed(store)
    assert (queue(store).oldest_ready_us, queue(store).next_due_us) == (began + 3 * SECOND, began + 9 * SECOND)
    clock.advance(1)
    assert (queue(store).oldest_ready_us, queue(store).next_due_us) == (began + 3 * SECOND, None)


@pytest.mark.parametrize("order", [QueuePolicy("fifo"), LIFO])
def test_the_oldest_ready_job_is_told_in_any_order(store: Store, clock: VirtualClock, order: QueuePolicy) -> None:
    store.queues.set_policy("default", order)
    oldest = clock()
    for priority in (0, 1, 2):
        pushed(store, priority=priority)
        clock.advance(1)
    assert queue(store).oldest_ready_us == oldest


def test_a_moment_passed_in_decides_what_is_due(store: Store, clock: VirtualClock) -> None:
    pushed(store, delay_us=5 * SECOND)
    later = store.queues.get("default", clock.in_s(5))
    assert later is not None
    assert later.counts == {"ready": 1}
    assert queue(store).counts == {"scheduled": 1}
