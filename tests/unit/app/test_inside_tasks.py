"""What a task can ask about its run and say about its end, and how long it may take."""

import asyncio
import threading
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from holdfast import (
    Cancel,
    Holdfast,
    JobFailed,
    Retry,
    Snooze,
    current_job,
)
from holdfast.testing.contract.background_call import DEADLINE_S
from holdfast.testing.contract.virtual_clock import START_US, VirtualClock


def echo(value: Any = None) -> Any:
    return value


def test_a_task_can_ask_about_its_run(app: Holdfast) -> None:
    seen: list[Any] = []

    def look() -> None:
        job = current_job()
        job.progress(0.25, "a quarter")
        seen.append((job.id, job.attempt, job.queue, job.task, job.is_cancelled(), job.seconds_left(), bool(job.token)))
        raise Retry(delay=0)

    job = app.task(name="look", retries=1, timeout=None, queue="mail")(look).enqueue()
    app.drain()
    assert seen == [(job.id, attempt, "mail", "look", False, None, True) for attempt in (1, 2)]
    assert job.progress() == (0.25, "a quarter")


def test_a_task_can_enqueue_others(app: Holdfast) -> None:
    inner = app.task(name="echo")(echo)
    outer = app.task(name="outer")(lambda: inner.enqueue(7).id).enqueue()
    assert app.drain() == 2
    assert app.job(outer.result(0)).result(0) == 7


def test_retry_snooze_and_cancel(app: Holdfast, clock: VirtualClock) -> None:
    moves = iter(
        [Snooze(60), Snooze(until=datetime.fromtimestamp(START_US / 1e6 + 120, UTC)), Retry(delay=5), Cancel("enough")]
    )

    def moody() -> None:
        raise next(moves)

    job = app.task(name="moody", retries=1)(moody).enqueue()
    states = []
    for step in (60, 60, 5, 0):
        app.drain()
        record = job.record()
        states.append((record.state, record.failures, (record.due_us - clock.now_us) // 1_000_000))
        clock.advance(step)
    assert states == [("scheduled", 0, 60), ("scheduled", 0, 60), ("scheduled", 1, 5), ("cancelled", 1, 0)]
    assert job.record().reason == "enough"
    assert [run.outcome for run in job.history()] == ["snoozed", "snoozed", "retry", "cancelled"]


def test_retries_wait_longer_each_time_and_then_the_job_has_failed(app: Holdfast, clock: VirtualClock) -> None:
    """I14"""

    def fail() -> None:
        raise OSError("no route")

    job = app.task(name="fail", retries=3)(fail).enqueue()
    waits = []
    while app.drain() and job.state() == "scheduled":
        waits.append((job.record().due_us - clock.now_us) / 1e6)
        clock.advance(waits[-1])
    assert job.state() == "failed"
    assert len(waits) == 3
    for wait, full in zip(waits, (10, 20, 40), strict=True):
        assert 0.75 * full <= wait <= full
    assert job.record().failures == 4
    with pytest.raises(JobFailed, match="OSError: no route"):
        job.result(0)


def test_give_up_on_and_retry_on_decide(app: Holdfast) -> None:
    def fail(kind: str) -> None:
        raise {"file": FileNotFoundError, "os": OSError, "key": KeyError}[kind]

    task = app.task(name="fail", retries=1, retry_on=OSError, give_up_on=FileNotFoundError)(fail)
    jobs = [task.enqueue(kind) for kind in ("file", "os", "key")]
    app.drain()
    assert [job.state() for job in jobs] == ["failed", "scheduled", "failed"]


def test_a_result_that_cannot_be_stored_fails_the_job(app: Holdfast) -> None:
    """Trap 37: it never vanishes."""
    job = app.task(name="bad", retries=3)(object).enqueue()
    app.drain()
    with pytest.raises(JobFailed, match=r"the result of bad is a object, which cannot travel") as caught:
        job.result(0)
    assert caught.value.reason == "result cannot be stored"


# --- time limits --------------------------------------------------------------------------------------------


def dawdle() -> None:
    step = threading.Event()
    while True:
        step.wait(0.005)


async def adawdle() -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize("function", [dawdle, adawdle])
@pytest.mark.parametrize("where", ["main thread", "thread slot"])
def test_half_a_second_is_a_timeout(live: Holdfast, function: Any, where: str) -> None:
    """Trap 36: in the main thread, in a thread slot and on the loop."""
    job = live.task(name="dawdle", timeout=0.5)(function).enqueue()
    began = time.monotonic()
    if where == "main thread":
        live.drain()
    else:
        with live.worker():
            job.wait(DEADLINE_S)
    assert time.monotonic() - began < DEADLINE_S
    with pytest.raises(JobFailed, match=r"longer than its timeout of 0\.5 s") as caught:
        job.result(0)
    assert caught.value.reason == "timeout"
    assert "dawdle" in (caught.value.remote_traceback or "")
    (run,) = job.history()
    assert 490_000 < run.took_us < DEADLINE_S * 1_000_000


def test_a_call_may_have_a_timeout_of_its_own(live: Holdfast) -> None:
    job = live.task(name="dawdle")(dawdle).using(timeout=0.05).enqueue()
    live.drain()
    with pytest.raises(JobFailed, match=r"timeout of 0\.05 s"):
        job.result(0)


def test_a_timeout_is_retried_like_any_failure(live: Holdfast) -> None:
    attempts: list[int] = []

    def slow_at_first() -> str:
        attempts.append(current_job().attempt)
        if len(attempts) == 1:
            dawdle()
        return "done"

    job = live.task(name="slow", timeout=0.05, retries=1, retry_delay=0)(slow_at_first).enqueue()
    live.drain()
    assert (job.result(0), attempts) == ("done", [1, 2])
