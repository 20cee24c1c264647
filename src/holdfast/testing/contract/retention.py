"""Retention: a record stays until its term is over, and is then dropped in small steps."""

from holdfast.model.query import Query, Tidied
from holdfast.policy.moments import SECOND
from holdfast.store.protocol import Store
from holdfast.testing.contract.sample_jobs import claimed_ids, enlisted, job, jobs, pushed, run_to, state
from holdfast.testing.contract.virtual_clock import VirtualClock


def test_a_record_stays_until_its_term_is_over(store: Store, clock: VirtualClock) -> None:
    """I1"""
    done = run_to(store, "succeeded", keep_done_s=100, keep_dead_s=1)
    dead = run_to(store, "failed", keep_done_s=1, keep_dead_s=200, tags=("red",))
    clock.advance(99.999_999)
    assert store.tidy().pruned == 0
    clock.advance(0.000_001)
    assert store.tidy().pruned == 1
    assert (store.inspector.get(done), state(store, dead)) == (None, "failed")
    clock.advance(100)
    assert store.tidy() == Tidied(0, 1, False, None)
    assert store.inspector.count(Query()) == 0


def test_a_pruned_job_is_gone_with_history_and_tags(store: Store, clock: VirtualClock) -> None:
    job_id = run_to(store, "succeeded", keep_done_s=1, tags=("red",))
    clock.advance(1)
    store.tidy()
    assert store.inspector.history(job_id) == []
    assert store.inspector.find(Query(tag="red")) == []
    assert store.push([job(id=job_id)])[0].decision == "created"
    assert store.inspector.find(Query(tag="red")) == []


def test_cancelled_and_expired_jobs_are_kept_as_the_dead_are(store: Store, clock: VirtualClock) -> None:
    cancelled = pushed(store, keep_done_s=1, keep_dead_s=50)
    store.operator.cancel([cancelled])
    pushed(store, keep_done_s=1, keep_dead_s=50, expires_us=clock())
    store.tidy()
    clock.advance(49)
    assert store.tidy().pruned == 0
    clock.advance(1)
    assert store.tidy().pruned == 2


def test_what_is_unfinished_is_never_pruned(store: Store, clock: VirtualClock) -> None:
    """I1"""
    ready, parked = pushed(store, "a", keep_done_s=0, keep_dead_s=0), run_to(store, "parked")
    clock.advance(10 * 366 * 86_400)
    assert store.tidy().pruned == 0
    assert (state(store, ready), state(store, parked)) == ("ready", "parked")


def test_a_job_kept_for_no_time_goes_with_the_next_upkeep(store: Store) -> None:
    job_id = run_to(store, "succeeded", keep_done_s=0)
    assert state(store, job_id) == "succeeded"
    assert store.tidy().pruned == 1


def test_upkeep_says_when_there_is_something_to_do_again(store: Store, clock: VirtualClock) -> None:
    assert store.tidy() == Tidied()
    run_to(store, "succeeded", queue="a", keep_done_s=100)
    assert store.tidy().next_us == clock.in_s(100)
    pushed(store, "b", expires_us=clock.in_s(50))
    assert store.tidy().next_us == clock.in_s(50)
    clock.advance(60)
    assert store.tidy().next_us == clock.in_s(40)


def test_upkeep_prunes_in_slices_and_says_when_there_is_more(store: Store, clock: VirtualClock) -> None:
    batch = jobs(1001, keep_dead_s=5)
    store.push(batch)
    store.operator.cancel([new.id for new in batch])
    clock.advance(5)
    first, second = store.tidy(), store.tidy()
    assert (first.pruned, first.is_more) == (1000, True)
    assert (second.pruned, second.is_more, second.next_us) == (1, False, None)


def test_upkeep_disturbs_nothing_that_is_alive(store: Store, clock: VirtualClock) -> None:
    waiting = [pushed(store, delay_us=SECOND * number) for number in range(3)]
    run_to(store, "succeeded", queue="other", keep_done_s=1)
    clock.advance(5)
    store.tidy()
    assert claimed_ids(store, enlisted(store)) == waiting
