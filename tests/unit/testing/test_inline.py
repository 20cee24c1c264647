"""Inline mode: when enqueue returns, the job has run; through the store, and in the caller's thread."""

import asyncio
import threading
from datetime import date, timedelta
from pathlib import Path

import pytest

from holdfast import (
    ArgumentMismatch,
    Cancel,
    Holdfast,
    HoldfastError,
    JobFailed,
    NotEncodable,
    Retry,
    Snooze,
    current_job,
)
from holdfast.testing import VirtualClock, drain, enqueued, inline

from .conftest import NOON


def test_a_job_has_run_in_the_callers_thread_when_enqueue_returns(app: Holdfast) -> None:
    @app.task(name="shop.who")
    def who(day: date) -> str:
        return f"{threading.current_thread().name} {day.year} {current_job().attempt}"

    with inline(app) as ran:
        job = who.enqueue(date(2030, 1, 2))
        assert job.state() == "succeeded"
    assert job.result() == f"{threading.current_thread().name} 2030 1"
    assert [(one.job, one.args) for one in ran] == [(job, (date(2030, 1, 2),))]


def test_outside_the_block_jobs_wait_as_ever(app: Holdfast) -> None:
    @app.task(name="shop.say")
    def say() -> None: ...

    with inline(app):
        pass
    assert say.enqueue().state() == "ready"


def test_every_way_to_enqueue_runs_the_job(app: Holdfast) -> None:
    @app.task(name="shop.add")
    def add(number: int) -> int:
        return number + 1

    with inline(app) as ran:
        add.enqueue(1)
        add.delay(2)
        add.s(3).enqueue()
        app.enqueue(add, 4)
        app.enqueue("shop.add", 5)
        app.enqueue_many([add.s(6), add.using(queue="other", priority=3).s(7)])
    assert [one.result for one in ran] == [2, 3, 4, 5, 6, 7, 8]


def test_enqueue_many_runs_each_job_with_what_it_enqueues_before_the_next(app: Holdfast) -> None:
    order = []

    @app.task(name="shop.child")
    def child(name: str) -> None:
        order.append(f"child of {name}")

    @app.task(name="shop.parent")
    def parent(name: str) -> str:
        order.append(f"{name} begins")
        state = child.enqueue(name).state()
        order.append(f"{name} ends")
        return state

    with inline(app):
        jobs = app.enqueue_many(parent.s(name) for name in ("a", "b"))
    assert order == ["a begins", "child of a", "a ends", "b begins", "child of b", "b ends"]
    assert [job.result() for job in jobs] == ["succeeded", "succeeded"]


def test_async_tasks_run_when_enqueued_from_plain_code(app: Holdfast) -> None:
    @app.task(name="shop.fetch")
    async def fetch(url: str) -> str:
        await asyncio.sleep(0)
        return f"page of {url}"

    with inline(app):
        assert fetch.enqueue("x").result() == "page of x"


def test_async_tasks_run_when_enqueued_from_inside_a_loop(app: Holdfast) -> None:
    @app.task(name="shop.fetch")
    async def fetch(url: str) -> str:
        await asyncio.sleep(0)
        return f"page of {url}"

    @app.task(name="shop.crawl")
    async def crawl() -> list[str]:
        there = await fetch.aenqueue("a")
        here = fetch.enqueue("b")
        return [await there.aresult(1), here.result(1)]

    async def test() -> list[str]:
        many = await asyncio.gather(*(fetch.aenqueue(name) for name in "cd"))
        return [*(await crawl.aenqueue()).result(1), *[job.result(1) for job in many]]

    with inline(app):
        assert asyncio.run(test()) == ["page of a", "page of b", "page of c", "page of d"]


def test_what_a_task_raises_is_raised_to_the_caller_and_settled(app: Holdfast) -> None:
    error = ZeroDivisionError("by zero")

    @app.task(name="shop.fail")
    def fail() -> None:
        raise error

    @app.task(name="shop.fail_async")
    async def fail_async() -> None:
        raise error

    for task in (fail, fail_async):
        with inline(app) as ran, pytest.raises(ZeroDivisionError) as raised:
            task.enqueue()
        assert raised.value is error
        assert ran[0].job.state() == "failed"


def test_an_error_is_raised_even_if_it_will_be_retried(app: Holdfast, clock: VirtualClock) -> None:
    @app.task(name="shop.fail", retries=1, retry_delay=30)
    def fail() -> None:
        if clock.now == NOON:
            raise ConnectionError("no answer")

    with inline(app) as ran, pytest.raises(ConnectionError):
        fail.enqueue()
    assert ran[0].job.state() == "scheduled"
    assert [one.at for one in drain(app)] == [NOON + timedelta(seconds=30)]


def test_errors_are_kept_in_the_job_if_asked_for(app: Holdfast) -> None:
    @app.task(name="shop.fail", retries=2, retry_delay=0)
    def fail() -> None:
        raise ConnectionError("no answer")

    with inline(app, raise_errors=False) as ran:
        job = fail.enqueue()
        with pytest.raises(JobFailed, match="no answer"):
            job.result()
    assert [one.outcome for one in ran] == ["retry", "retry", "failed"]


def test_an_error_of_an_inner_job_passes_through_the_task_that_enqueued_it(app: Holdfast) -> None:
    @app.task(name="shop.inner")
    def inner() -> None:
        raise KeyError("inner")

    @app.task(name="shop.outer")
    def outer() -> None:
        inner.enqueue()

    with inline(app) as ran, pytest.raises(KeyError) as raised:
        outer.enqueue()
    assert [(one.task, one.outcome) for one in ran] == [("shop.inner", "failed"), ("shop.outer", "failed")]
    assert [note.partition("(")[2] for note in raised.value.__notes__] == ["shop.inner)", "shop.outer)"]


@pytest.mark.parametrize(
    ("control", "state"), [(Retry(delay=5), "scheduled"), (Snooze(5), "scheduled"), (Cancel(), "cancelled")]
)
def test_retry_snooze_and_cancel_are_not_raised(app: Holdfast, control: Exception, state: str) -> None:
    @app.task(name="shop.control", retries=1)
    def obey() -> None:
        raise control

    with inline(app):
        assert obey.enqueue().state() == state


def test_arguments_make_the_real_journey(app: Holdfast) -> None:
    class Odd: ...

    @app.task(name="shop.take")
    def take(thing: object = None, count: int = 0) -> str:
        return type(thing).__name__

    with inline(app) as ran:
        with pytest.raises(NotEncodable):
            take.enqueue(Odd())
        with pytest.raises(ArgumentMismatch):
            take.enqueue(count="many")  # type: ignore[arg-type]
        given = [1, 2]
        take.enqueue(given)
    assert [one.args for one in ran] == [([1, 2],)]
    assert ran[0].args[0] is not given, "what arrives is a copy, as from another machine"


def test_a_result_that_cannot_be_stored_is_raised(app: Holdfast) -> None:
    @app.task(name="shop.odd")
    def odd() -> object:
        return object()

    with inline(app), pytest.raises(JobFailed, match="NotEncodable"):
        odd.enqueue()


def test_the_job_is_signed_and_its_signature_verified(app: Holdfast) -> None:
    @app.task(name="shop.say")
    def say() -> None: ...

    with inline(app):
        assert say.enqueue().record().seal is not None


def test_delayed_jobs_stay_in_the_queue(app: Holdfast) -> None:
    @app.task(name="shop.later")
    def later() -> str:
        return "done"

    with inline(app) as ran:
        job = later.using(delay=60).enqueue()
        assert job.state() == "scheduled"
    assert ran == []
    drain(app)
    assert job.result() == "done"


def test_delayed_jobs_run_at_once_if_asked_for(app: Holdfast, clock: VirtualClock) -> None:
    @app.task(name="shop.later")
    def later() -> str:
        return "done"

    with inline(app, run_delayed=True):
        assert later.using(delay=60).enqueue().state() == "succeeded"
        assert later.using(at=NOON + timedelta(days=1)).enqueue().state() == "succeeded"
    assert clock.now == NOON


def test_what_stands_before_a_job_in_its_queue_runs_first_and_keeps_its_errors(app: Holdfast) -> None:
    @app.task(name="shop.say")
    def say(word: str) -> None:
        if word == "bad":
            raise ValueError(word)

    early = say.enqueue("bad")
    elsewhere = say.using(queue="other").enqueue("other")
    with inline(app) as ran:
        job = say.enqueue("good")
    assert [one.job for one in ran] == [early, job]
    assert (early.state(), elsewhere.state()) == ("failed", "ready")


def test_jobs_of_a_paused_queue_wait(app: Holdfast) -> None:
    @app.task(name="shop.say", queue="mail")
    def say() -> None: ...

    app.queue("mail").pause()
    with inline(app) as ran:
        assert say.enqueue().state() == "ready"
    assert ran == []


def test_a_job_pushed_again_is_not_run_again(app: Holdfast) -> None:
    @app.task(name="shop.say")
    def say() -> None: ...

    once = say.using(id="0192e4a0-0000-7000-8000-000000000001")
    with inline(app) as ran:
        assert [once.enqueue().decision, once.enqueue().decision] == ["created", "duplicate"]
    assert len(ran) == 1


def test_a_job_that_waited_before_the_block_is_not_run_for_being_pushed_again(app: Holdfast) -> None:
    @app.task(name="shop.say")
    def say() -> None: ...

    once = say.using(id="0192e4a0-0000-7000-8000-000000000001")
    job = once.enqueue()
    with inline(app):
        once.enqueue()
    assert job.state() == "ready"


def test_an_interrupted_job_is_handed_back_at_once(app: Holdfast) -> None:
    @app.task(name="shop.stop")
    def stop() -> None:
        raise KeyboardInterrupt

    with inline(app):
        with pytest.raises(KeyboardInterrupt):
            stop.enqueue()
        assert [found.state for found in enqueued(app)] == ["ready"]


def test_a_job_that_goes_round_for_ever_is_named(app: Holdfast, monkeypatch: pytest.MonkeyPatch) -> None:
    @app.task(name="shop.sleepy")
    def sleepy() -> None:
        raise Snooze(0)

    monkeypatch.setattr("holdfast.testing.inline_mode._MOST_RUNS", 20)
    with inline(app), pytest.raises(HoldfastError, match=r"\(shop.sleepy\) has not come to an end in 20 runs"):
        sleepy.enqueue()


def test_an_app_on_another_store_is_moved_to_memory_for_the_block(tmp_path: Path) -> None:
    app = Holdfast(f"sqlite:///{tmp_path / 'jobs.db'}")

    @app.task(name="shop.add")
    def add(number: int) -> int:
        return number + 1

    with inline(app):
        assert add.enqueue(1).result() == 2
    assert list(tmp_path.iterdir()) == []
    with app:
        assert add.enqueue(1).state() == "ready", "afterwards the app is where it was"
