"""Handles: what became of a job, asked at once, waited for, and awaited."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from holdfast import (
    Cancel,
    Holdfast,
    InvalidInput,
    Job,
    JobCancelled,
    JobExpired,
    JobFailed,
    JobNotFound,
    ResultGone,
    ResultTimeout,
    current_job,
)
from holdfast.testing.contract.virtual_clock import VirtualClock

HOUR_S = 3600


def echo(value: Any = None) -> Any:
    return value


def boom() -> None:
    raise ValueError("the mast is broken")


def result(job: Job[Any], is_async: bool, timeout: Any = 0) -> Any:
    return asyncio.run(job.aresult(timeout)) if is_async else job.result(timeout)


both = pytest.mark.parametrize("is_async", [False, True], ids=["result", "aresult"])


@both
@pytest.mark.parametrize("value", [5, "text", [1, {"a": None}], None, False, 0, ""])
def test_a_result_is_given_at_once_when_the_job_has_ended(app: Holdfast, is_async: bool, value: Any) -> None:
    """Trap 33: None is a result; with no time to wait, too."""
    job = app.task(name="echo")(echo).enqueue(value)
    app.drain()
    assert result(job, is_async, 0) == value
    assert result(app.job(job.id), is_async, None) == value


@both
def test_a_failure_is_raised_with_the_remote_traceback(app: Holdfast, is_async: bool) -> None:
    job = app.task(name="boom")(boom).enqueue()
    app.drain()
    with pytest.raises(JobFailed, match=f"job {job.id} .boom. failed: ValueError: the mast is broken") as caught:
        result(job, is_async)
    assert caught.value.reason == "ValueError"
    assert "in boom" in (caught.value.remote_traceback or "")
    assert "--- in the worker ---" in str(caught.value)


@both
def test_a_cancelled_job_is_raised_as_such(app: Holdfast, is_async: bool) -> None:
    def give_up() -> None:
        raise Cancel("out of stock")

    before = app.task(name="echo")(echo).enqueue()
    assert before.cancel() is True
    with pytest.raises(JobCancelled, match=f"job {before.id} .echo. was cancelled"):
        result(before, is_async)
    by_itself = app.task(name="give_up")(give_up).enqueue()
    app.drain()
    with pytest.raises(JobCancelled, match="was cancelled: out of stock"):
        result(by_itself, is_async)


@both
def test_an_expired_job_is_raised_as_such(app: Holdfast, clock: VirtualClock, is_async: bool) -> None:
    job = app.task(name="echo", expires=5)(echo).enqueue()
    clock.advance(6)
    app.drain()
    with pytest.raises(JobExpired, match="was not started before it expired"):
        result(job, is_async)


@both
def test_a_job_that_is_not_there_is_raised_as_such(app: Holdfast, is_async: bool) -> None:
    with pytest.raises(JobNotFound, match="no job nowhere is in the store: it was never enqueued here"):
        result(app.job("nowhere"), is_async, None)
    with pytest.raises(JobNotFound, match="no job nowhere is in the store"):
        app.job("nowhere").state()


@both
def test_a_result_is_gone_when_its_time_is_over(app: Holdfast, clock: VirtualClock, is_async: bool) -> None:
    job = app.task(name="echo", result_ttl=60, keep_done=HOUR_S)(echo).enqueue(5)
    app.drain()
    clock.advance(61)
    with pytest.raises(ResultGone, match=r"was kept until 2023-11-14 22:14:20 UTC; give the task a longer result_ttl"):
        result(job, is_async)
    assert job.state() == "succeeded"


@both
@pytest.mark.parametrize("timeout", [0, 0.05, timedelta(milliseconds=50)])
def test_waiting_ends_with_the_timeout_and_says_how_things_stand(app: Holdfast, is_async: bool, timeout: Any) -> None:
    job = app.task(name="echo")(echo).using(delay=HOUR_S).enqueue()
    with pytest.raises(
        ResultTimeout, match=rf"job {job.id} had not ended after 0(\.05)? s: it is scheduled, and goes on"
    ):
        result(job, is_async, timeout)


@both
def test_waiting_for_a_parked_job_says_why_it_is_parked(app: Holdfast, is_async: bool) -> None:
    job = app.task(name="echo")(echo).enqueue()
    other = Holdfast("memory://")
    other.attach(app.store)
    other.drain()
    with pytest.raises(ResultTimeout, match=r"it is parked \(unknown task\)"):
        result(job, is_async, 0)


@both
@pytest.mark.parametrize("timeout", [-1, float("nan"), "5", True])
def test_a_timeout_that_is_none_is_refused(app: Holdfast, is_async: bool, timeout: Any) -> None:
    job = app.task(name="echo")(echo).enqueue()
    with pytest.raises(InvalidInput, match="expected timeout to be"):
        result(job, is_async, timeout)


def test_waiting_tells_whether_the_end_came(app: Holdfast) -> None:
    job = app.task(name="boom")(boom).enqueue()
    assert job.wait(0) is False
    assert asyncio.run(job.await_(0)) is False
    app.drain()
    assert job.wait(0) is True
    assert asyncio.run(job.await_(0)) is True


def test_a_handle_answers_what_is_asked(app: Holdfast) -> None:
    def work() -> None:
        current_job().progress(0.5, "half")

    job = app.task(name="work", tags=["a"])(work).enqueue()
    assert (job.state(), job.progress(), job.history()) == ("ready", (None, None), [])
    app.drain()
    assert (job.state(), job.progress()) == ("succeeded", (0.5, "half"))
    assert job.progress().note == "half"
    assert (job.record().tags, job.record().task) == (("a",), "work")
    (run,) = job.history()
    assert (run.number, run.outcome, run.job_id) == (1, "done", job.id)


def test_the_awaited_answers_are_the_same(app: Holdfast) -> None:
    job = app.task(name="echo")(echo).enqueue(5)
    app.drain()

    async def ask() -> list[Any]:
        return [
            await job.arecord(),
            await job.astate(),
            await job.aprogress(),
            await job.ahistory(),
            await job.acancel(),
        ]

    assert asyncio.run(ask()) == [job.record(), job.state(), job.progress(), job.history(), job.cancel()]


def test_cancelling_tells_whether_it_came_in_time(app: Holdfast) -> None:
    task = app.task(name="echo")(echo)
    job = task.enqueue()
    assert (job.cancel(), job.cancel(), job.state()) == (True, False, "cancelled")
    done = task.enqueue()
    app.drain()
    assert (done.cancel(), done.state()) == (False, "succeeded")
    assert app.job("nowhere").cancel() is False
