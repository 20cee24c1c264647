"""The seen-set of a queue: keys added by hand, keys marked by `once=`, exact sets and approximate ones."""

import asyncio
import math
import pickle
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from holdfast import (
    Cancel,
    DeclarationError,
    Holdfast,
    InvalidInput,
    InvalidName,
    JobNotFound,
    ShapeMismatch,
    Task,
    TaskSet,
)
from holdfast.app.seen import SeenSet
from holdfast.model.seen import SeenRecord
from holdfast.policy.seen import SEEN, digest, sketch
from holdfast.testing import inline
from holdfast.testing.contract.virtual_clock import VirtualClock
from tests.unit.app.looking import all_jobs

HOUR = timedelta(hours=1)


def fetch(url: str) -> str:
    if url == "bad":
        raise ValueError(url)
    if url == "gone":
        raise Cancel(url)
    return url


def task_of(app: Holdfast, **options: Any) -> Task[..., str]:
    return app.task(name="fetch", queue="crawl", **{"key": lambda url: url, "once": True, **options})(fetch)


@pytest.fixture
def seen(app: Holdfast) -> SeenSet:
    return app.seen("crawl")


# --- the set by hand --------------------------------------------------------------------------------------------------


def test_adding_gives_the_keys_that_were_new_in_order_and_each_once(seen: SeenSet) -> None:
    assert seen.add(["b", "a", "b"]) == ["b", "a"]
    assert seen.add(["c", "a", "d", "c"]) == ["c", "d"]
    assert seen.known(["x", "d", "a", "d"]) == ["d", "a"]
    assert (seen.count(), len(seen)) == (4, 4)
    assert "a" in seen
    assert "x" not in seen


def test_keys_may_come_from_anything_that_gives_them_one_by_one(seen: SeenSet) -> None:
    assert seen.add(f"k{number}" for number in range(2)) == ["k0", "k1"]
    assert seen.add({"k1": 1, "k2": 2}) == ["k2"]
    assert seen.add([]) == seen.known(iter(())) == []
    assert seen.discard([]) == 0


def test_any_number_of_keys_is_added_a_thousand_at_a_time(app: Holdfast, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    real = app.store.seen.add
    monkeypatch.setattr(
        app.store.seen, "add", lambda name, keys, ttl: (sizes.append(len(keys)), real(name, keys, ttl))[1]
    )
    keys = [f"k{number}" for number in range(2001)]
    seen = app.seen("crawl")
    assert seen.add(iter(keys)) == keys
    assert sizes == [1000, 1000, 1]
    assert seen.known(keys) == keys
    assert seen.discard(keys[:1500]) == 1500
    assert seen.add(keys) == keys[:1500]


def test_each_queue_has_its_own(app: Holdfast) -> None:
    assert app.seen("one").add(["a"]) == app.seen("two").add(["a"]) == ["a"]
    assert app.seen("one").clear() == 1
    assert ("a" in app.seen("one"), "a" in app.seen("two")) == (False, True)


def test_keys_are_forgotten_one_by_one_or_all_at_once(seen: SeenSet) -> None:
    seen.add(["a", "b", "c"])
    assert seen.discard(["a", "x", "a"]) == 1
    assert seen.add(["a", "b"]) == ["a"]
    assert seen.clear() == 3
    assert seen.count() == 0


def test_a_key_lasts_as_long_as_it_was_given(seen: SeenSet, clock: VirtualClock) -> None:
    seen.add(["short"], ttl=60)
    seen.add(["long"], ttl=HOUR)
    seen.add(["ever"], ttl=math.inf)
    clock.advance(60)
    assert seen.known(["short", "long", "ever"]) == ["long", "ever"]
    clock.advance(3600)
    assert seen.known(["short", "long", "ever"]) == ["ever"]


def test_a_key_of_another_version_is_another_key(seen: SeenSet) -> None:
    assert seen.add(["a"]) == seen.add(["a"], version=2) == ["a"]
    assert seen.known(["a"], version="2") == ["a"]
    assert seen.known(["a"], version=3) == []
    assert seen.discard(["a"], version=2) == 1
    assert "a" in seen


def test_an_exact_set_is_told_as_such(seen: SeenSet) -> None:
    assert seen.record() == SeenRecord("crawl", 0)
    seen.add(["a"])
    assert seen.record() == SeenRecord("crawl", 1)
    assert repr(seen) == "<SeenSet crawl>"


def test_making_one_opens_no_store() -> None:
    app = Holdfast("nowhere://")
    app.seen("crawl", capacity=1000)
    with pytest.raises(InvalidInput, match="nowhere"):
        app.seen("crawl").add(["a"])


async def _twins(seen: SeenSet) -> list[object]:
    return [
        await seen.aadd(["a", "b"], ttl=60, version=1),
        await seen.aknown(["a", "c"], version=1),
        await seen.adiscard(["a"], version=1),
        await seen.aclear(),
    ]


def test_every_one_has_a_twin_that_does_not_block(seen: SeenSet) -> None:
    assert asyncio.run(_twins(seen)) == [["a", "b"], ["a"], 1, 1]


@pytest.mark.parametrize("act", [SeenSet.add, SeenSet.known, SeenSet.discard])
@pytest.mark.parametrize(
    ("keys", "kind", "words"),
    [
        ("https://a.org", InvalidInput, r"expected a list of keys, got one text: 'https://a.org'; give \['https"),
        (17, InvalidInput, "expected a list of keys, got: 17"),
        (None, InvalidInput, "expected a list of keys, got: None"),
        (["a", ""], InvalidName, "expected a key to be printable text of 1 to 512 characters"),
        (["a", 5], InvalidName, "got: 5"),
        (["a", "b\n"], InvalidName, "printable"),
        (["a", "x" * 513], InvalidName, "give a digest of what is longer"),
    ],
)
def test_all_keys_are_checked_before_the_first_is_touched(
    act: Callable[..., object], keys: Any, kind: type[Exception], words: str, seen: SeenSet
) -> None:
    seen.add(["here"])
    with pytest.raises(kind, match=words):
        act(seen, ["here", *keys] if isinstance(keys, list) else keys)
    assert (seen.count(), "here" in seen) == (1, True)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"ttl": 0}, "expected ttl to be more than 0 seconds, or None for ever, got: 0"),
        ({"ttl": -1}, "expected ttl to be 0 or more seconds"),
        ({"ttl": "1h"}, "expected ttl to be a number of seconds or a timedelta, got: '1h'"),
        ({"version": 1.5}, "expected a version to be printable text"),
    ],
)
def test_what_is_wrong_about_a_call_is_said_before_anything_is_stored(
    options: dict[str, Any], words: str, seen: SeenSet
) -> None:
    with pytest.raises(InvalidInput, match=words):
        seen.add(["a"], **options)
    assert seen.count() == 0


def test_a_queue_and_a_key_are_checked(app: Holdfast) -> None:
    with pytest.raises(InvalidName, match="expected a queue name"):
        app.seen("a queue")
    with pytest.raises(InvalidName, match="expected a key to be printable text"):
        assert 5 in app.seen("crawl")


# --- approximate ------------------------------------------------------------------------------------------------------


def test_an_approximate_set_tells_its_shape_its_room_and_how_often_it_errs(app: Holdfast) -> None:
    seen = app.seen("crawl", capacity=10_000, error=0.01)
    shape = sketch(10_000, 0.01)
    assert seen.record() == SeenRecord("crawl", 0, shape, most_bytes=shape.blocks * 4096, error_now=0.0)
    seen.add(f"k{number}" for number in range(10_000))
    record = seen.record()
    assert 9900 <= record.count <= 10_000
    assert record.error_now is not None
    assert 0 < record.error_now <= 0.01
    wrong = seen.known(f"other{number}" for number in range(10_000))
    assert len(wrong) / 10_000 == pytest.approx(record.error_now, rel=0.5)


def test_the_error_is_one_in_a_thousand_unless_told(app: Holdfast) -> None:
    assert app.seen("crawl", capacity=1000).record().sketch == sketch(1000, 0.001)


def test_a_set_is_used_as_it_is_by_those_who_ask_for_no_shape(app: Holdfast) -> None:
    app.seen("crawl", capacity=1000).add(["a"])
    seen = app.seen("crawl")
    assert seen.add(["a", "b"]) == ["b"]
    assert seen.record().sketch == sketch(1000, 0.001)


@pytest.mark.parametrize("capacity", [None, 1000])
def test_an_approximate_set_says_why_it_gives_no_time_and_forgets_no_key(app: Holdfast, capacity: int | None) -> None:
    app.seen("crawl", capacity=1000).add(["a"])
    seen = app.seen("crawl", capacity=capacity)
    about = r"the seen-set of queue crawl is approximate \(for 1,000 keys at an error of 0.001\): it "
    with pytest.raises(InvalidInput, match=about + "gives no key a time of its own: leave the ttl out"):
        seen.add(["b"], ttl=60)
    with pytest.raises(InvalidInput, match=about + "cannot forget one key: clear it"):
        seen.discard(["a"])
    assert seen.known(["a", "b"]) == ["a"]


USES: list[Callable[[SeenSet], object]] = [
    lambda seen: seen.add(["b"]),
    lambda seen: seen.known(["b"]),
    lambda seen: seen.discard(["b"]),
    lambda seen: seen.record(),
    lambda seen: seen.count(),
    lambda seen: "b" in seen,
]


@pytest.mark.parametrize("use", USES)
def test_a_set_in_another_shape_is_refused_and_says_what_it_is(use: Callable[[SeenSet], object], app: Holdfast) -> None:
    app.seen("exact").add(["a"])
    with pytest.raises(ShapeMismatch) as refused:
        use(app.seen("exact", capacity=1000))
    assert str(refused.value) == (
        "the seen-set of queue exact is exact, and holds keys; an approximate one for 1,000 keys at an error of 0.001 was "
        "asked for. Ask for it as it is, or clear() it: an empty set can be shaped anew"
    )
    app.seen("shaped", capacity=1000, error=0.01).add(["a"])
    with pytest.raises(ShapeMismatch, match=r"shaped is approximate, for 1,000 keys at an error of 0\.01; an appr"):
        use(app.seen("shaped", capacity=1000))
    assert (app.seen("exact").known(["a", "b"]), app.seen("shaped").count()) == (["a"], 1)


def test_a_mismatch_is_a_declaration_error_that_can_be_pickled() -> None:
    error = ShapeMismatch("the seen-set …")
    assert isinstance(error, DeclarationError)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_set_that_was_cleared_can_be_shaped_anew(app: Holdfast) -> None:
    app.seen("crawl").add(["a"])
    assert app.seen("crawl").clear() == 1
    shaped = app.seen("crawl", capacity=1000)
    assert shaped.add(["a"]) == ["a"]
    assert shaped.clear() == 1
    assert shaped.record().sketch == sketch(1000, 0.001), "it takes on its shape again, with its next use"
    other = app.seen("crawl", capacity=5000)
    other.clear()
    assert other.record().sketch == sketch(5000, 0.001)


def test_a_set_that_somebody_else_clears_does_not_grow_as_an_exact_one(app: Holdfast) -> None:
    seen = app.seen("crawl", capacity=1000)
    seen.add(["a"])
    app.store.seen.clear("crawl")
    seen.add(["a"])
    assert seen.record().sketch == sketch(1000, 0.001)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"capacity": 0}, "expected capacity to be an integer of 1 or more, got: 0"),
        ({"capacity": 1e6}, "expected capacity to be an integer of 1 or more, got: 1000000.0"),
        ({"capacity": True}, "got: True"),
        ({"error": 0.01}, "expected capacity to go with error: for how many keys at most"),
        ({"capacity": 10, "error": 0}, "expected error to be from 0.000001 to 0.25, e.g. 0.001, got: 0"),
        ({"capacity": 10, "error": 0.5}, "got: 0.5"),
        ({"capacity": 10, "error": 1e-9}, "got: 1e-09"),
        ({"capacity": 10, "error": math.nan}, "got: nan"),
        ({"capacity": 10, "error": "0.1"}, "got: '0.1'"),
        (
            {"capacity": 10**12},
            r"expected a capacity of 29\d,\d{3},\d{3} keys or fewer at an error of 0.001, got: 1,000,000",
        ),
        ({"capacity": 10**400}, "expected capacity to be an integer from 1 to"),
    ],
)
def test_a_shape_that_cannot_be_is_refused_where_it_is_asked_for(
    app: Holdfast, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidInput, match=words):
        app.seen("crawl", **options)


# --- once -------------------------------------------------------------------------------------------------------------


def test_a_call_is_stored_once_also_when_its_job_is_long_gone(app: Holdfast, clock: VirtualClock) -> None:
    task = task_of(app, keep_done=10, result_ttl=10)
    first = task.enqueue("a")
    app.drain()
    clock.advance(1000)
    app.store.tidy()
    again = task.enqueue("a")
    assert (again.decision, again.reason, again != first) == ("duplicate", SEEN, True)
    with pytest.raises(JobNotFound):
        again.state()
    assert all_jobs(app) == []
    assert "a" in app.seen("crawl")


def test_a_job_that_waits_is_merged_with_as_ever(app: Holdfast) -> None:
    task = task_of(app)
    first = task.enqueue("a")
    assert (task.enqueue("a").decision, task.enqueue("a").id) == ("merged", first.id)


def test_what_was_added_by_hand_is_not_stored(app: Holdfast) -> None:
    app.seen("crawl").add(["a"])
    task = task_of(app)
    assert [job.decision for job in app.enqueue_many([task.s("a"), task.s("b")])] == ["duplicate", "created"]
    app.seen("crawl").discard(["a"])
    assert task.enqueue("a").decision == "created"


def test_once_may_be_for_a_time(app: Holdfast, clock: VirtualClock) -> None:
    task = task_of(app, once=HOUR)
    task.enqueue("a")
    app.drain()
    clock.advance(3599)
    assert task.enqueue("a").decision == "duplicate"
    clock.advance(1)
    assert task.enqueue("a").decision == "created"


@pytest.mark.parametrize("off", [False, None])
def test_a_call_may_be_made_although_the_key_was_seen(app: Holdfast, off: bool | None) -> None:
    task = task_of(app, forget_failed=True)
    app.seen("crawl").add(["a", "b"])
    assert task.using(once=off).enqueue("a").decision == "created"
    assert task.using(force=True).enqueue("b").decision == "created"


def test_infinity_is_for_ever(app: Holdfast) -> None:
    assert (
        task_of(app, once=math.inf).terms
        == app.task(name="o", queue="crawl", key=task_of)(fetch)
        .using(once=True, key=app.tasks["fetch"].terms.key)
        .terms
    )


def test_another_version_runs_anyway_and_is_another_key_of_the_set(app: Holdfast) -> None:
    task = task_of(app)
    for version, decision in (
        (None, "created"),
        (1, "created"),
        ("1", "duplicate"),
        (2, "created"),
        (None, "duplicate"),
    ):
        assert task.using(version=version).enqueue("a").decision == decision
        app.drain()
    assert app.seen("crawl").known(["a"], version=2) == ["a"]


def test_a_failure_leaves_its_key_seen_unless_it_is_to_be_forgotten(app: Holdfast) -> None:
    task = task_of(app)
    app.enqueue_many(task.s(url) for url in ("bad", "gone", "good"))
    app.drain()
    assert app.seen("crawl").known(["bad", "gone", "good"]) == ["bad", "gone", "good"]
    app.seen("crawl").clear()
    task = task.using(forget_failed=True)
    app.enqueue_many(task.s(url) for url in ("bad", "gone", "good"))
    app.drain()
    assert app.seen("crawl").known(["bad", "gone", "good"]) == ["good"]
    assert task.enqueue("bad").decision == "created"


def test_a_call_without_a_key_is_not_kept_out(app: Holdfast) -> None:
    task = task_of(app, key=lambda url: None)
    assert [task.enqueue("a").decision for _ in range(2)] == ["created", "created"]
    assert app.seen("crawl").count() == 0


def test_the_set_is_that_of_the_queue_to_which_the_call_goes(app: Holdfast) -> None:
    task = task_of(app)
    task.enqueue("a")
    assert task.using(queue="other").enqueue("a").decision == "created"
    assert "a" in app.seen("other")


def test_a_set_takes_on_its_declared_shape_with_the_first_push_that_asks_it(app: Holdfast) -> None:
    app.seen("crawl", capacity=1000)
    task = task_of(app)
    task.using(once=False).enqueue("x")
    assert app.store.seen.shape("crawl") is None, "nobody has asked"
    app.enqueue_many([task.s("a"), task.s("a")])
    assert app.store.seen.shape("crawl") == sketch(1000, 0.001)
    app.drain()
    assert task.enqueue("a").decision == "duplicate"


def test_a_push_to_a_set_that_is_shaped_otherwise_stores_nothing(app: Holdfast) -> None:
    app.seen("crawl").add(["x"])
    app.seen("crawl", capacity=1000)
    with pytest.raises(ShapeMismatch):
        task_of(app).enqueue("a")
    assert all_jobs(app) == []


def test_a_library_may_ask_for_it_too(app: Holdfast) -> None:
    tasks = TaskSet()
    task = tasks.task(name="get", key=lambda url: url, once=True, forget_failed=True)(fetch)
    app.include(tasks)
    task.enqueue("a")
    app.drain()
    assert task.enqueue("a").decision == "duplicate"


def test_inline_runs_a_call_once(app: Holdfast) -> None:
    task = task_of(app)
    with inline(app) as ran:
        assert [task.enqueue("a").decision for _ in range(2)] == ["created", "duplicate"]
        assert app.seen("crawl").known(["a"]) == ["a"]
    assert len(ran) == 1


def _asked(app: Holdfast) -> Iterator[bytes]:
    task = task_of(app)
    task.using(version=3).enqueue("a")
    yield digest("a", "3")


def test_the_digest_is_that_of_key_and_version(app: Holdfast) -> None:
    (mark,) = _asked(app)
    assert app.store.seen.has("crawl", [mark, digest("a")]) == [True, False]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"once": True}, "expected a key to go with once: it says what makes two calls the same"),
        ({"forget_failed": True}, "expected a key to go with forget_failed"),
        ({"key": "k", "forget_failed": True}, "expected once to go with forget_failed: only a call with once=True"),
        ({"key": "k", "forget_failed": True, "once": False}, "expected once to go with forget_failed"),
        ({"key": "k", "once": 0}, "expected once to be True, False or more than 0 seconds, got: 0"),
        ({"key": "k", "once": -1}, "expected once to be 0 or more seconds"),
        ({"key": "k", "once": "yes"}, "expected once to be a number of seconds or a timedelta, got: 'yes'"),
        ({"key": "k", "once": True, "forget_failed": 1}, "expected forget_failed to be True or False, got: 1"),
    ],
)
def test_what_makes_no_sense_is_refused_where_it_is_said(app: Holdfast, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        app.task(name="fetch")(fetch).using(**options)


def test_whether_a_call_is_made_once_is_no_default_of_an_app() -> None:
    for name in ("once", "forget_failed"):
        with pytest.raises(InvalidInput, match=f"has no option '{name}'"):
            Holdfast("memory://", defaults={name: True})  # type: ignore[misc]
