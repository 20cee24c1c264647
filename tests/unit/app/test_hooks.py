"""Calls that are enqueued when a queue has drained."""

import logging
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from holdfast import DeclarationError, Holdfast, InvalidInput, NotIncluded, TaskSet, UnknownOption
from holdfast.app.ids import derived_id
from holdfast.errors import StoreUnavailable
from holdfast.policy.names import check_job_id
from holdfast.run.hooks import DrainHooks
from holdfast.testing import drain, inline, isolated
from holdfast.testing.contract.virtual_clock import VirtualClock
from tests.unit.app.looking import all_jobs, wait_until


class Crawl:
    """Pages that lead to other pages, and what is to be done when all of them are fetched."""

    def __init__(self, app: Holdfast, **options: Any) -> None:
        self.app = app
        self.fetched: list[int] = []
        self.finished: list[tuple[str, int]] = []
        self.fetch = app.task(name="fetch", queue="crawl")(self._fetch)
        self.finish = app.task(name="finish")(self._finish)
        app.queue("crawl", on_drained=self.finish.s("crawl"), **options)

    def _fetch(self, depth: int) -> None:
        if depth:
            self.app.enqueue_many(self.fetch.s(depth - 1) for _ in range(2))
        self.fetched.append(depth)

    def _finish(self, what: str) -> None:
        self.finished.append((what, len(self.fetched)))


class Dead(BaseException):
    """The process dies here."""


def hooks_of(app: Holdfast) -> DrainHooks:
    return DrainHooks(app.store, app.bench().hooks)


def finishes(app: Holdfast) -> list[str]:
    return [job.state for job in all_jobs(app) if job.task == "finish"]


def cut(door: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let whoever calls this operation of the store die before it does anything."""

    def die(*_: object) -> None:
        raise Dead

    monkeypatch.setattr(door, name, die)


# --- when it is enqueued --------------------------------------------------------------------------------------


def test_a_drain_in_this_thread_runs_the_hook_once_when_all_is_done(app: Holdfast) -> None:
    crawl = Crawl(app)
    crawl.fetch.enqueue(3)
    assert app.drain() == 15 + 1
    assert crawl.finished == [("crawl", 15)]
    assert app.drain() == 0
    crawl.fetch.enqueue(0)
    assert app.drain() == 2
    assert crawl.finished == [("crawl", 15), ("crawl", 16)]
    assert app.queues["crawl"].record().drains == 2


def test_a_drain_of_the_queue_alone_enqueues_the_hook_and_leaves_it(app: Holdfast) -> None:
    crawl = Crawl(app)
    crawl.fetch.enqueue(0)
    assert app.drain(["crawl"]) == 1
    assert finishes(app) == ["ready"]


def test_a_drain_that_stops_at_its_limit_runs_no_hook_beyond(app: Holdfast) -> None:
    crawl = Crawl(app)
    crawl.fetch.enqueue(0)
    assert app.drain(limit=1) == 1
    assert finishes(app) == ["ready"]


def test_a_worker_inside_the_program_runs_the_hook_as_soon_as_the_last_job_has_ended(live: Holdfast) -> None:
    crawl = Crawl(live)
    with live.worker(threads=2, lease=3600):  # upkeep looks every half hour
        crawl.fetch.enqueue(2)
        wait_until(lambda: len(crawl.finished) == 1, "the hook")
        crawl.fetch.enqueue(2)
        wait_until(lambda: len(crawl.finished) == 2, "the hook again")
    assert crawl.finished == [("crawl", 7), ("crawl", 14)]


def test_upkeep_finds_a_queue_that_was_drained_by_a_person(live: Holdfast) -> None:
    crawl = Crawl(live)
    with live.consumer("crawl") as consumer:
        crawl.fetch.enqueue(0)
        crawl.fetch.enqueue(0)
        consumer.claim()[0].done()
    live.queues["crawl"].purge()
    with live.worker(threads=1):
        wait_until(lambda: crawl.finished, "the hook")
    assert crawl.finished == [("crawl", 0)]


def test_a_queue_in_which_nothing_ever_started_brings_no_hook_about(app: Holdfast) -> None:
    crawl = Crawl(app)
    crawl.fetch.enqueue(0).cancel()
    assert app.drain() == 0
    assert crawl.finished == []


def test_the_hook_has_the_options_of_its_call(app: Holdfast, clock: VirtualClock) -> None:
    finish = app.task(name="finish")(lambda: None)
    fetch = app.task(name="fetch", queue="crawl")(lambda: None)
    app.queue("crawl", on_drained=finish.using(queue="after", delay=60, tags=["end"], priority=7).s())
    fetch.enqueue()
    app.drain()
    (job,) = [job for job in all_jobs(app) if job.task == "finish"]
    assert (job.queue, job.state, job.tags, job.priority) == ("after", "scheduled", ("end",), 7)
    assert job.due_us == clock() + 60_000_000


def test_hooks_of_hooks(app: Holdfast) -> None:
    order: list[str] = []
    one = app.task(name="one", queue="a")(lambda: order.append("one"))
    two = app.task(name="two", queue="b")(lambda: order.append("two"))
    three = app.task(name="three", queue="c")(lambda: order.append("three"))
    app.queue("a", on_drained=two.s())
    app.queue("b", on_drained=three.s())
    one.enqueue()
    assert app.drain() == 3
    assert order == ["one", "two", "three"]


def test_an_app_that_declares_no_hook_enqueues_none(app: Holdfast) -> None:
    crawl = Crawl(app)
    crawl.fetch.enqueue(0)
    other = Holdfast("memory://")
    other.attach(app.store)
    ran: list[int] = []
    other.task(name="fetch", queue="crawl")(ran.append)
    assert other.drain() == 1
    assert finishes(app) == []
    assert app.drain() == 1, "an app that does declare it finds the drain"
    assert crawl.finished == [("crawl", 0)]


def test_a_declaration_without_the_hook_ends_it(app: Holdfast) -> None:
    crawl = Crawl(app)
    crawl.fetch.enqueue(0)
    later = Holdfast("memory://")
    later.attach(app.store)
    later.task(name="fetch", queue="crawl")(lambda depth: None)
    later.queue("crawl")
    assert later.drain() == 1
    record = app.queues["crawl"].record()
    assert not record.policy.tells_drained
    assert record.drains == 0


# --- once, whatever dies when ---------------------------------------------------------------------------------


def test_a_process_that_dies_between_push_and_note_leaves_one_job(
    app: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl = Crawl(app)
    crawl.fetch.enqueue(0)
    with monkeypatch.context() as patch:
        cut(app.store.queues, "tell_drained", patch)
        with pytest.raises(Dead):
            app.drain()
    assert finishes(app) == ["ready"], "it was pushed"
    assert hooks_of(app).run_once() == [], "it is there already"
    assert finishes(app) == ["ready"]
    assert app.store.queues.find_drained(["crawl"]) == []
    app.drain()
    assert crawl.finished == [("crawl", 1)]


def test_a_process_that_dies_before_the_push_leaves_the_drain_to_the_next(
    app: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl = Crawl(app)
    crawl.fetch.enqueue(0)
    app.declare_queues()
    with monkeypatch.context() as patch:
        cut(app.store, "push", patch)
        with pytest.raises(Dead):
            app.drain()
    assert finishes(app) == []
    assert app.drain() == 1
    assert crawl.finished == [("crawl", 1)]


def test_a_hook_that_has_run_is_not_run_again_by_one_who_comes_late(
    app: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl = Crawl(app)
    crawl.fetch.enqueue(0)
    with monkeypatch.context() as patch:
        patch.setattr(app.store.queues, "tell_drained", lambda *_: None)
        app.drain()
    assert crawl.finished == [("crawl", 1)]
    assert app.drain() == 0
    assert crawl.finished == [("crawl", 1)]


def test_a_hook_that_finds_no_room_is_enqueued_when_there_is_some(
    app: Holdfast, caplog: pytest.LogCaptureFixture
) -> None:
    crawl = Crawl(app)
    app.queue("default", max_size=1)
    other = crawl.finish.using(delay=60).enqueue("other")
    crawl.fetch.enqueue(0)
    app.drain()
    assert finishes(app) == ["scheduled"]
    assert "found no room in queue default" in caplog.text
    other.cancel()
    app.drain()
    assert crawl.finished == [("crawl", 1)]


def test_a_hook_that_cannot_be_written_down_is_tried_again(app: Holdfast, caplog: pytest.LogCaptureFixture) -> None:
    mood = {"bad": True}

    def lane() -> str:
        if mood["bad"]:
            raise ValueError("not today")
        return "good"

    finish = app.task(name="finish")(lambda: None)
    app.queue("crawl", on_drained=finish.using(lane=lane).s())
    app.task(name="fetch", queue="crawl")(lambda: None).enqueue()
    with caplog.at_level(logging.ERROR):
        assert app.drain() == 1
    assert "the hook of queue crawl could not be written down" in caplog.text
    mood["bad"] = False
    assert app.drain() == 1


def test_a_store_that_fails_puts_the_hook_off(live: Holdfast, monkeypatch: pytest.MonkeyPatch) -> None:
    crawl = Crawl(live)
    real, failures = live.store.queues.find_drained, [1, 2]

    def find(*given: Any) -> Any:
        if failures:
            failures.pop()
            raise StoreUnavailable("the disk is full")
        return real(*given)

    monkeypatch.setattr(live.store.queues, "find_drained", find)
    with live.worker(threads=1, lease=1):
        crawl.fetch.enqueue(0)
        wait_until(lambda: crawl.finished, "the hook")


def test_the_id_follows_from_namespace_queue_and_number() -> None:
    ids = {
        derived_id("holdfast", "crawl", "1"),
        derived_id("holdfast", "crawl", "2"),
        derived_id("other", "crawl", "1"),
    }
    ids |= {derived_id("holdfast", "crawl2", "1"), derived_id("holdfast", "crawl", "21")}
    assert len(ids) == 5
    assert all(check_job_id(one) and one[14] == "8" and one[19] in "89ab" for one in ids)
    code = "from holdfast.app.ids import derived_id; print(derived_id('holdfast', 'crawl', '1'))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert told.stdout.strip() == derived_id("holdfast", "crawl", "1"), "in every process"


# --- in the kit for tests -------------------------------------------------------------------------------------


def test_the_kit_runs_hooks_inline(app: Holdfast) -> None:
    crawl = Crawl(app)
    with inline(app) as ran:
        crawl.fetch.enqueue(2)
    assert [one.task for one in ran].count("finish") == 1
    assert crawl.finished == [("crawl", 7)]


def test_the_kit_runs_hooks_at_the_end_of_a_drain(app: Holdfast) -> None:
    crawl = Crawl(app)
    with isolated(app):
        crawl.fetch.using(delay=3600).enqueue(1)
        assert [one.task for one in drain(app)] == ["fetch", "fetch", "fetch", "finish"]
    assert crawl.finished == [("crawl", 3)]


# --- what is refused ------------------------------------------------------------------------------------------


def _plain(app: Holdfast) -> Any:
    return app.task(name="finish")(lambda what="": None)


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        (
            lambda task: task,
            InvalidInput,
            r"expected on_drained to be a call, made by task\.s\(…\), got: <Task finish>",
        ),
        (lambda task: "finish", InvalidInput, "got: 'finish'"),
        (lambda task: task.s(1, 2, 3), InvalidInput, "takes 1 argument by position, got 3"),
        (lambda task: task.using(id="mine").s(), InvalidInput, "without an id, got: id='mine'"),
        (lambda task: task.using(queue="crawl").s(), DeclarationError, "drain again by it, and so for ever"),
        (lambda task: TaskSet().task(name="lost")(lambda: None).s(), NotIncluded, "lost"),
        (lambda task: Holdfast("memory://").task(name="far")(lambda: None).s(), DeclarationError, "another app"),
    ],
)
def test_what_cannot_be_a_hook_is_refused_when_it_is_declared(
    app: Holdfast, given: Callable[[Any], Any], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        app.queue("crawl", on_drained=given(_plain(app)))
    assert app.declared_queues == {}


def test_hooks_that_would_go_round_for_ever_are_refused(app: Holdfast) -> None:
    task = _plain(app)
    app.queue("a", on_drained=task.using(queue="b").s())
    app.queue("b", on_drained=task.using(queue="c").s())
    with pytest.raises(DeclarationError, match="go round for ever: 'c' → 'a' → 'b' → 'c'"):
        app.queue("c", on_drained=task.using(queue="a").s())
    app.queue("c", on_drained=task.using(queue="d").s())


def test_a_queue_is_declared_twice_with_the_same_hook_only(app: Holdfast) -> None:
    task = _plain(app)
    app.queue("crawl", on_drained=task.s("a"))
    app.queue("crawl", on_drained=task.s("a"))
    with pytest.raises(DeclarationError, match="declared twice, with different on_drained"):
        app.queue("crawl", on_drained=task.s("b"))
    with pytest.raises(DeclarationError, match="declared twice"):
        app.queue("crawl")


def test_arguments_that_cannot_be_stored_keep_a_worker_from_starting(app: Holdfast) -> None:
    task = _plain(app)
    app.queue("crawl", on_drained=task.s(object()))
    with pytest.raises(InvalidInput, match="object"):
        app.drain()


def test_a_hook_is_declared_and_not_set_by_hand(app: Holdfast) -> None:
    with pytest.raises(UnknownOption, match="on_drained belongs to the program"):
        app.queues["crawl"].set(on_drained=None)  # type: ignore[call-arg]
