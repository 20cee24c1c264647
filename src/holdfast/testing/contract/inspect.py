"""The door for readers: get, find, count, history, next_due."""

import pytest

from holdfast.model.query import Query
from holdfast.model.states import State
from holdfast.policy.moments import SECOND
from holdfast.store.protocol import Store
from holdfast.testing.contract.sample_jobs import claimed, enlisted, job, pushed, record, retry, run_to
from holdfast.testing.contract.virtual_clock import VirtualClock


def found(store: Store, **options: object) -> list[str]:
    return [one.id for one in store.inspector.find(Query(**options))]  # type: ignore[arg-type]  # a query's fields


def test_what_is_not_there_is_none(store: Store) -> None:
    assert store.inspector.get("nothing") is None
    assert store.inspector.history("nothing") == []


def test_jobs_are_found_newest_first_across_queues(store: Store) -> None:
    ids = [pushed(store, queue) for queue in ("a", "b", "a", "c", "b")]
    assert found(store) == ids[::-1]


def test_what_is_found_is_what_get_gives(store: Store) -> None:
    run_to(store, "failed", tags=("red", "blue"))
    pushed(store, "a", delay_us=SECOND)
    for one in store.inspector.find(Query()):
        assert one == record(store, one.id)


def test_newest_means_pushed_last_whatever_became_of_it(store: Store) -> None:
    first, second = pushed(store, priority=9), pushed(store)
    store.settle([retry(claimed(store))])
    assert found(store) == [second, first]


def test_jobs_are_found_by_state(store: Store) -> None:
    succeeded, failed, cancelled = (run_to(store, ending) for ending in ("succeeded", "failed", "cancelled"))
    ready = pushed(store)
    assert found(store, states=("failed",)) == [failed]
    assert found(store, states=("succeeded", "ready")) == [ready, succeeded]
    assert found(store, states=("failed", "cancelled")) == [cancelled, failed]
    assert found(store, states=("parked",)) == []


def test_a_due_job_is_found_as_ready(store: Store, clock: VirtualClock) -> None:
    job_id = pushed(store, delay_us=5 * SECOND)
    assert (found(store, states=("scheduled",)), found(store, states=("ready",))) == ([job_id], [])
    clock.advance(5)
    assert (found(store, states=("scheduled",)), found(store, states=("ready",))) == ([], [job_id])
    assert record(store, job_id).state == "ready"


@pytest.mark.parametrize("states", [("ready",), ("scheduled",), ("ready", "scheduled"), ()])
def test_counting_agrees_with_finding(store: Store, clock: VirtualClock, states: tuple[State, ...]) -> None:
    """I39"""
    for delay in (0, 1, 5, 9):
        pushed(store, delay_us=delay * SECOND)
    run_to(store, "succeeded")
    clock.advance(5)
    query = Query(states=states)
    assert store.inspector.count(query) == len(store.inspector.find(query))


def test_jobs_are_found_by_queue_task_and_tag(store: Store) -> None:
    a = pushed(store, "a", task="t1", tags=("red",))
    b = pushed(store, "b", task="t2", tags=("red", "blue"))
    c = pushed(store, "a", task="t2")
    assert found(store, queue="a") == [c, a]
    assert found(store, task="t2") == [c, b]
    assert found(store, tag="red") == [b, a]
    assert found(store, tag="blue", queue="a") == []
    assert found(store, tag="red", task="t1", queue="a", states=("ready",)) == [a]
    assert found(store, queue="nowhere") == found(store, tag="none") == found(store, task="none") == []


def test_tags_come_back_in_the_order_given(store: Store) -> None:
    tags = ("z", "order:17", "ünï ☃", "a")
    assert record(store, pushed(store, tags=tags)).tags == tags
    assert len(found(store, tag="ünï ☃")) == 1


def test_since_looks_at_the_end_of_what_ended_and_the_birth_of_the_rest(store: Store, clock: VirtualClock) -> None:
    old_ready, old_claimed = pushed(store, "other"), pushed(store)
    claim = claimed(store)
    clock.advance(10)
    moment = clock()
    store.settle([retry(claim)])
    ended = run_to(store, "succeeded", queue="third")
    fresh = pushed(store, "fourth")
    assert found(store, since_us=moment) == [fresh, ended]
    assert found(store, since_us=moment + 1) == []
    assert found(store, since_us=moment - 10 * SECOND) == [fresh, ended, old_claimed, old_ready]


def test_a_job_that_ended_since_is_found_though_it_is_old(store: Store, clock: VirtualClock) -> None:
    old = pushed(store)
    clock.advance(10)
    store.operator.cancel([old])
    assert found(store, since_us=clock()) == [old]


def test_a_limit_gives_the_newest(store: Store) -> None:
    ids = [pushed(store, queue) for queue in ("a", "b", "a", "b")]
    assert found(store, limit=3) == ids[:0:-1]
    assert found(store, limit=1) == [ids[-1]]
    assert found(store, limit=0) == []


def test_a_hundred_are_found_unless_more_are_asked_for(store: Store) -> None:
    store.push([job() for _ in range(120)])
    assert (len(found(store)), len(found(store, limit=1000))) == (100, 120)


def test_pages_follow_each_other_without_gap_or_overlap(store: Store) -> None:
    ids = [pushed(store, queue) for queue in "abcabcabcabc"]
    pages: list[str] = []
    while page := found(store, limit=5, after=pages[-1] if pages else None):
        pages += page
    assert pages == ids[::-1]


def test_a_page_can_continue_behind_a_job_that_does_not_match(store: Store) -> None:
    a, b, c = pushed(store, "a"), pushed(store, "b"), pushed(store, "a")
    assert found(store, queue="a", after=b) == [a]
    assert found(store, queue="a", after=c) == [a]


def test_new_jobs_do_not_disturb_the_pages_behind(store: Store) -> None:
    ids = [pushed(store) for _ in range(4)]
    first = found(store, limit=2)
    pushed(store)
    assert found(store, limit=2, after=first[-1]) == ids[1::-1]


def test_behind_a_job_that_is_gone_there_is_nothing(store: Store) -> None:
    pushed(store)
    assert found(store, after="nothing") == []


def test_a_count_ignores_limit_and_place(store: Store) -> None:
    ids = [pushed(store) for _ in range(5)]
    assert store.inspector.count(Query(limit=2, after=ids[1])) == 5
    assert store.inspector.count(Query(queue="nowhere")) == 0


def test_reading_changes_nothing(store: Store, clock: VirtualClock) -> None:
    job_id = pushed(store, delay_us=SECOND, expires_us=clock.in_s(2))
    clock.advance(5)
    store.inspector.find(Query())
    store.inspector.count(Query(states=("ready",)))
    store.queues.get("default")
    store.inspector.next_due()
    assert record(store, job_id).state == "ready"
    assert store.inspector.get(job_id, clock.in_s(-5)).state == "scheduled"  # type: ignore[union-attr]  # it is there


# --- next_due -------------------------------------------------------------------------------------------


def test_next_due_is_the_earliest_of_all(store: Store, clock: VirtualClock) -> None:
    assert store.inspector.next_due() is None
    pushed(store, "a", delay_us=5 * SECOND)
    pushed(store, "b", delay_us=3 * SECOND, priority=-1)
    pushed(store, "b", delay_us=9 * SECOND, priority=9)
    assert store.inspector.next_due() == clock.in_s(3)
    assert store.inspector.next_due(["a"]) == clock.in_s(5)
    assert store.inspector.next_due(["a", "b"]) == clock.in_s(3)
    assert store.inspector.next_due(["nowhere"]) is None
    assert store.inspector.next_due([]) is None


def test_a_ready_job_counts_with_the_time_it_became_due(store: Store, clock: VirtualClock) -> None:
    pushed(store)
    began = clock()
    clock.advance(5)
    pushed(store, priority=9)
    assert store.inspector.next_due() == began


def test_a_paused_queue_has_nothing_due(store: Store, clock: VirtualClock) -> None:
    pushed(store, "a")
    pushed(store, "b", delay_us=5 * SECOND)
    store.queues.pause("a")
    assert store.inspector.next_due() == clock.in_s(5)
    store.queues.pause("b")
    assert store.inspector.next_due() is None


def test_what_runs_or_has_ended_is_not_due(store: Store) -> None:
    pushed(store)
    store.claim(enlisted(store), ["default"], 1)
    run_to(store, "succeeded", queue="other")
    assert store.inspector.next_due() is None


# --- the house ------------------------------------------------------------------------------------------


def test_a_store_tells_its_time(store: Store, clock: VirtualClock) -> None:
    assert store.now() == clock()
    clock.advance(1)
    assert store.now() == clock()


def test_a_store_tells_what_it_is(store: Store) -> None:
    info = store.describe()
    assert info.kind
    assert info.where
    assert info.tier
