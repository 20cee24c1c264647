"""The seen-set of a queue: exact or approximate, and asked by a push in its own step (I24)."""

from random import Random
from typing import Any

import pytest

from holdfast.model.queue import QueuePolicy
from holdfast.model.seen import SeenMark, SeenRecord, Sketch
from holdfast.model.verdict import done
from holdfast.policy.moments import SECOND
from holdfast.policy.seen import BLOCK_BYTES, SEEN, digest, place, put, sketch
from holdfast.store.protocol import Store
from holdfast.testing.contract.sample_jobs import cancelled, claimed, failed, job, jobs, pushed, retry, state
from holdfast.testing.contract.virtual_clock import VirtualClock

A, B, C = digest("a"), digest("b"), digest("c")


def decision(store: Store, **options: Any) -> str:
    return store.push([job(**{"key": "a", "seen": SeenMark(A), **options})])[0].decision


# --- the set itself -------------------------------------------------------------------------------------------------


def test_a_key_is_new_once(store: Store) -> None:
    assert store.seen.add("crawl", [A, B]) == [True, True]
    assert store.seen.add("crawl", [B, C]) == [False, True]
    assert store.seen.has("crawl", [A, digest("d"), C]) == [True, False, True]
    assert store.seen.get("crawl") == SeenRecord("crawl", 3)


def test_a_key_that_comes_twice_in_one_batch_is_new_the_first_time(store: Store) -> None:
    assert store.seen.add("crawl", [A, B, A]) == [True, True, False]


def test_nothing_is_no_trouble(store: Store) -> None:
    assert store.seen.add("crawl", []) == []
    assert store.seen.has("nowhere", [A]) == [False]
    assert store.seen.discard("nowhere", [A]) == [False]
    assert store.seen.clear("nowhere") == 0
    assert store.seen.get("nowhere") == SeenRecord("nowhere", 0)
    assert store.seen.shape("nowhere") is None
    assert "nowhere" not in store.queues.names(), "looking makes no queue"


def test_each_queue_has_a_set_of_its_own(store: Store) -> None:
    """Trap 22"""
    store.seen.add("one", [A])
    assert store.seen.add("two", [A]) == [True]
    assert store.seen.clear("one") == 1
    assert store.seen.has("two", [A]) == [True]


def test_a_key_is_forgotten_when_its_time_is_over(store: Store, clock: VirtualClock) -> None:
    store.seen.add("crawl", [A], 5 * SECOND)
    store.seen.add("crawl", [B])
    clock.advance(4.999)
    assert store.seen.has("crawl", [A, B]) == [True, True]
    clock.advance(0.001)
    assert store.seen.has("crawl", [A, B]) == [False, True]
    assert store.seen.get("crawl").count == 1
    assert store.seen.add("crawl", [A, B]) == [True, False]


def test_a_key_that_is_seen_again_keeps_its_term(store: Store, clock: VirtualClock) -> None:
    store.seen.add("crawl", [A], 5 * SECOND)
    clock.advance(3)
    assert store.seen.add("crawl", [A], 5 * SECOND) == [False]
    clock.advance(2)
    assert store.seen.add("crawl", [A]) == [True]
    clock.advance(1000)
    assert store.seen.has("crawl", [A]) == [True]


def test_upkeep_drops_what_is_past_its_term(store: Store, clock: VirtualClock) -> None:
    store.seen.add("crawl", [digest(str(number)) for number in range(2500)], SECOND)
    store.seen.add("crawl", [A])
    clock.advance(1)
    for _ in range(4):
        store.tidy()
    assert store.seen.clear("crawl") == 1, "the rest is gone already"


def test_keys_can_be_forgotten(store: Store) -> None:
    store.seen.add("crawl", [A, B])
    assert store.seen.discard("crawl", [A, C, A]) == [True, False, False]
    assert store.seen.add("crawl", [A, B]) == [True, False]


def test_a_set_is_cleared_whole(store: Store) -> None:
    many = [digest(str(number)) for number in range(2500)]
    assert all(store.seen.add("crawl", many))
    assert store.seen.clear("crawl") == 2500
    assert store.seen.get("crawl").count == 0
    assert all(store.seen.add("crawl", many))


# --- approximate ----------------------------------------------------------------------------------------------------


def test_a_set_takes_on_a_shape_while_it_is_empty(store: Store) -> None:
    shape = sketch(1000, 0.01)
    assert store.seen.shape("crawl") is None
    assert store.seen.shape("crawl", shape) == shape
    assert store.seen.shape("crawl", sketch(5, 0.1)) == shape, "the first one stands"
    assert store.seen.get("crawl") == SeenRecord("crawl", 0, shape)
    store.seen.add("other", [A])
    assert store.seen.shape("other", shape) is None, "it is exact, and holds a key"


def test_an_approximate_set_forgets_no_key_and_seldom_takes_a_new_one_for_seen(store: Store) -> None:
    store.seen.shape("crawl", sketch(2000, 0.01))
    keys = [digest(f"key {number}") for number in range(2000)]
    new = sum(sum(store.seen.add("crawl", keys[at : at + 500])) for at in range(0, 2000, 500))
    assert new >= 1980, "at most one in a hundred is taken for seen, and fewer while it fills"
    assert all(store.seen.has("crawl", keys))
    assert store.seen.get("crawl").count == new
    others = store.seen.has("crawl", [digest(f"other {number}") for number in range(2000)])
    assert sum(others) <= 40, "the error is one in a hundred when it is full"


def test_stores_agree_in_what_an_approximate_set_errs(store: Store) -> None:
    """I41: a set that is far too full, so that it errs often."""
    shape = Sketch(10, 0.5, blocks=3, hashes=2)
    lots = Random(3)  # noqa: S311  the same keys every time
    keys = [lots.randbytes(16) for _ in range(60_000)]
    blocks = [bytearray(BLOCK_BYTES) for _ in range(shape.blocks)]
    expected = [put(blocks[block], bits) for block, bits in (place(key, shape) for key in keys)]
    assert 20_000 < sum(expected) < 50_000
    store.seen.shape("crawl", shape)
    answers = [new for at in range(0, len(keys), 20_000) for new in store.seen.add("crawl", keys[at : at + 20_000])]
    assert answers == expected


def test_an_approximate_set_keeps_what_it_has_seen(store: Store, clock: VirtualClock) -> None:
    store.seen.shape("crawl", sketch(100, 0.01))
    store.seen.add("crawl", [A], 5 * SECOND)
    assert store.seen.discard("crawl", [A]) == [False]
    clock.advance(1000)
    assert store.seen.has("crawl", [A]) == [True]


def test_clearing_an_approximate_set_makes_it_exact(store: Store) -> None:
    store.seen.shape("crawl", sketch(100, 0.01))
    store.seen.add("crawl", [A, B])
    assert store.seen.clear("crawl") == 2
    assert store.seen.shape("crawl") is None
    assert store.seen.has("crawl", [A]) == [False]


def test_a_push_asks_an_approximate_set_too(store: Store) -> None:
    store.seen.shape("default", sketch(100, 0.01))
    assert [decision(store), decision(store, key="other")] == ["created", "duplicate"]
    assert store.seen.get("default").count == 1


# --- a push that asks -----------------------------------------------------------------------------------------------


def test_a_push_is_stored_if_its_key_was_not_seen(store: Store) -> None:
    """N-8"""
    first, second = job(key="a", seen=SeenMark(A)), job(key="b", seen=SeenMark(B))
    assert [one.decision for one in store.push([first, second])] == ["created", "created"]
    assert store.seen.has("default", [A, B]) == [True, True]


def test_a_key_that_was_seen_makes_a_push_needless_also_when_its_job_is_over(store: Store) -> None:
    pushed(store, key="a", seen=SeenMark(A))
    store.settle([done(claimed(store))])
    again = job(key="a", seen=SeenMark(A))
    (answer,) = store.push([again])
    assert (answer.id, answer.decision, answer.reason) == (again.id, "duplicate", SEEN)
    assert store.inspector.get(again.id) is None, "nothing was stored"
    assert decision(store, key="a", seen=None) == "created", "who does not ask is not asked"


def test_a_push_that_was_needless_can_be_pushed_when_the_key_is_forgotten(store: Store) -> None:
    store.seen.add("default", [A])
    new = job(key="a", seen=SeenMark(A))
    assert store.push([new])[0].decision == "duplicate"
    store.seen.discard("default", [A])
    assert store.push([new])[0].decision == "created", "its id was left free"


def test_a_batch_sees_its_own_keys(store: Store) -> None:
    batch = [job(key="a", seen=SeenMark(A), on_conflict="keep"), job(seen=SeenMark(B)), job(seen=SeenMark(B))]
    assert [one.decision for one in store.push(batch)] == ["created", "created", "duplicate"]


def test_a_repeated_push_of_the_same_job_is_a_duplicate_of_itself(store: Store) -> None:
    """I3"""
    new = job(key="a", seen=SeenMark(A))
    assert store.push([new])[0].decision == "created"
    (answer,) = store.push([new])
    assert (answer.id, answer.decision) == (new.id, "duplicate")
    assert state(store, new.id) == "ready"


def test_while_a_job_of_the_key_waits_the_push_merges_as_ever(store: Store) -> None:
    first = pushed(store, key="a", seen=SeenMark(A), priority=1)
    (answer,) = store.push([job(key="a", seen=SeenMark(A), priority=5)])
    assert (answer.id, answer.decision) == (first, "merged")


def test_what_would_replace_or_follow_a_job_is_needless_too(store: Store) -> None:
    pushed(store, key="a", seen=SeenMark(A))
    assert decision(store, on_conflict="replace") == "duplicate"
    claimed(store)
    assert decision(store, runs_after=True) == "duplicate"


def test_force_passes_by_the_seen_set_and_marks(store: Store) -> None:
    store.seen.add("default", [A])
    assert decision(store, is_forced=True) == "created"
    assert decision(store, key="b", seen=SeenMark(B), is_forced=True) == "created"
    assert store.seen.has("default", [A, B]) == [True, True]


def test_a_push_that_was_refused_has_marked_nothing(store: Store) -> None:
    """I30"""
    store.queues.set_policy("default", QueuePolicy(max_size=1))
    pushed(store)
    assert decision(store) == "refused"
    assert store.seen.has("default", [A]) == [False]


def test_a_push_that_was_spilled_has_marked_its_key(store: Store) -> None:
    store.queues.set_policy("default", QueuePolicy(max_size=1, on_full="spill"))
    pushed(store)
    assert decision(store) == "spilled"
    assert decision(store, key=None) == "duplicate"


def test_a_job_may_be_pushed_again_after_a_time(store: Store, clock: VirtualClock) -> None:
    mark = SeenMark(A, 60 * SECOND)
    pushed(store, key="a", seen=mark)
    store.settle([done(claimed(store))])
    clock.advance(59.9)
    assert decision(store, seen=mark) == "duplicate"
    clock.advance(0.1)
    assert decision(store, seen=mark) == "created"


@pytest.mark.parametrize("ending", [failed, cancelled])
def test_a_key_whose_job_failed_is_new_again_if_that_was_asked_for(store: Store, ending: object) -> None:
    """N-8"""
    mark = SeenMark(A, forgets_failure=True)
    pushed(store, key="a", seen=mark)
    claim = claimed(store)
    store.settle([ending(claim)])  # type: ignore[operator]
    assert store.seen.has("default", [A]) == [False]
    assert decision(store, seen=mark) == "created"


def test_a_key_whose_job_failed_stays_seen_otherwise(store: Store) -> None:
    pushed(store, key="a", seen=SeenMark(A))
    store.settle([failed(claimed(store))])
    assert decision(store) == "duplicate"


def test_a_retry_forgets_nothing(store: Store) -> None:
    pushed(store, key="a", seen=SeenMark(A, forgets_failure=True))
    store.settle([retry(claimed(store), 5)])
    assert store.seen.has("default", [A]) == [True]


def test_a_cancelled_or_expired_job_frees_its_key_if_that_was_asked_for(store: Store, clock: VirtualClock) -> None:
    one = pushed(store, key="a", seen=SeenMark(A, forgets_failure=True))
    store.operator.cancel([one])
    pushed(store, key="b", seen=SeenMark(B, forgets_failure=True), expires_us=clock.in_s(1))
    clock.advance(2)
    store.tidy()
    assert store.seen.has("default", [A, B]) == [False, False]


def test_a_job_that_crashed_for_good_frees_its_key_if_that_was_asked_for(store: Store, clock: VirtualClock) -> None:
    pushed(store, key="a", seen=SeenMark(A, forgets_failure=True), crash_budget=0)
    claimed(store)
    clock.advance(60)
    store.rescue()
    assert store.seen.has("default", [A]) == [False]


def test_a_success_after_a_retry_by_hand_is_seen_again(store: Store) -> None:
    one = pushed(store, key="a", seen=SeenMark(A, forgets_failure=True))
    store.settle([failed(claimed(store))])
    store.operator.retry([one])
    store.settle([done(claimed(store))])
    assert store.seen.has("default", [A]) == [True]


def test_deleting_a_job_leaves_its_key_seen(store: Store) -> None:
    one = pushed(store, key="a", seen=SeenMark(A, forgets_failure=True))
    store.operator.delete([one])
    assert store.seen.has("default", [A]) == [True]


def test_a_large_batch_with_keys_seen_and_new_ones_is_told_in_order(store: Store) -> None:
    batch = jobs(600)
    marked = [job(key=f"k{number}", seen=SeenMark(digest(f"k{number}"))) for number in range(600)]
    store.seen.add("default", [one.seen.digest for one in marked[::3] if one.seen])
    answers = store.push([one for pair in zip(batch, marked, strict=True) for one in pair])
    assert [one.decision for one in answers[::2]] == ["created"] * 600
    assert [one.decision for one in answers[1::2]] == ["duplicate", "created", "created"] * 200
