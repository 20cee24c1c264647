"""Everything that will be due is run now, at the virtual moment it is due."""

import asyncio
import time
from datetime import timedelta

import pytest

from holdfast import Cancel, Holdfast, HoldfastError, InvalidInput, JobFailed, Retry, Snooze, current_job
from holdfast.model.job import NewJob
from holdfast.testing import VirtualClock, adrain, drain

from .conftest import NOON


def test_days_of_retries_run_within_a_second_at_their_exact_moments(app: Holdfast) -> None:
    @app.task(name="shop.call", retries=60, retry_delay=600, retry_cap=timedelta(hours=3))
    def call() -> None:
        raise ConnectionError("no answer")

    began = time.perf_counter()
    job = call.enqueue()
    ran = drain(app, raise_errors=False)
    assert time.perf_counter() - began < 1

    waits = [min(600 * 2**failures, 10_800) for failures in range(60)]
    moments = [NOON + timedelta(seconds=sum(waits[:count])) for count in range(61)]
    assert [one.at for one in ran] == moments
    assert moments[-1] - moments[0] > timedelta(days=6)
    assert [one.attempt for one in ran] == list(range(1, 62))
    assert {one.outcome for one in ran[:-1]} == {"retry"}
    assert ran[-1].outcome == "failed"
    assert job.record().finished_us == round(moments[-1].timestamp() * 1_000_000)


def test_a_task_sees_the_moment_at_which_it_was_due(app: Holdfast, clock: VirtualClock) -> None:
    seen = []

    @app.task(name="shop.look")
    def look() -> None:
        seen.append(clock.now)

    look.using(delay=60).enqueue()
    look.using(at=NOON + timedelta(days=2)).enqueue()
    drain(app)
    assert seen == [NOON + timedelta(minutes=1), NOON + timedelta(days=2)]
    assert clock.now == NOON + timedelta(days=2)


def test_a_drain_tells_what_was_called_and_what_came_of_it(app: Holdfast) -> None:
    @app.task(name="shop.divide", queue="math")
    def divide(dividend: int, *, divisor: int) -> float:
        return dividend / divisor

    good, bad = divide.enqueue(6, divisor=3), divide.enqueue(1, divisor=0)
    first, second = drain(app, raise_errors=False)
    assert (first.job, first.task, first.queue, first.attempt) == (good, "shop.divide", "math", 1)
    assert (first.args, first.kwargs, first.result, first.error) == ((6,), {"divisor": 3}, 2.0, None)
    assert good.result() == 2.0
    assert (second.job, second.outcome, second.reason) == (bad, "failed", "ZeroDivisionError")
    assert isinstance(second.error, ZeroDivisionError)


def test_the_error_of_a_job_that_fails_for_good_is_raised_itself(app: Holdfast) -> None:
    error = KeyError("which")

    @app.task(name="shop.fail", retries=1)
    def fail() -> None:
        raise error

    job = fail.enqueue()
    with pytest.raises(KeyError) as raised:
        drain(app)
    assert raised.value is error
    assert error.__notes__ == [f"raised in run 2 of job {job.id} (shop.fail)"]
    assert job.state() == "failed"


def test_an_async_task_that_ran_too_long_is_raised_as_such_and_not_as_its_cancelling(app: Holdfast) -> None:
    @app.task(name="shop.linger", timeout=0.01)
    async def linger() -> None:
        await asyncio.Event().wait()

    linger.enqueue()
    with pytest.raises(JobFailed, match="ran longer than its timeout") as raised:
        drain(app)
    assert raised.value.reason == "timeout"


def test_a_result_that_cannot_be_stored_is_raised_too(app: Holdfast) -> None:
    @app.task(name="shop.odd")
    def odd() -> object:
        return object()

    odd.enqueue()
    with pytest.raises(JobFailed, match=r"\(shop.odd\) failed: .*NotEncodable"):
        drain(app)


def test_a_job_that_was_parked_is_raised_too(app: Holdfast) -> None:
    @app.task(name="shop.send")
    def send() -> None: ...

    record = send.enqueue().record()
    app.store.operator.delete([record.id])
    app.store.push([NewJob(record.id, record.queue, record.task, record.envelope, seal=b"forged")])
    with pytest.raises(JobFailed, match=r"\(shop.send\) was parked: ") as raised:
        drain(app)
    assert raised.value.reason == "bad signature"


def test_retry_snooze_and_cancel_are_obeyed_and_not_raised(app: Holdfast) -> None:
    @app.task(name="shop.poll", retries=1)
    def poll() -> None:
        match len(moments):
            case 0:
                moments.append("snoozed")
                raise Snooze(30)
            case 1:
                moments.append("retried")
                raise Retry(delay=60)
            case _:
                raise Cancel("gone")

    moments: list[str] = []
    job = poll.enqueue()
    ran = drain(app)
    assert [(one.at - NOON, one.outcome) for one in ran] == [
        (timedelta(0), "snoozed"),
        (timedelta(seconds=30), "retry"),
        (timedelta(seconds=90), "cancelled"),
    ]
    assert job.state() == "cancelled"


def test_a_retry_too_many_is_raised_as_the_failure_it_is(app: Holdfast) -> None:
    @app.task(name="shop.poll")
    def poll() -> None:
        raise Retry("asked to slow down")

    poll.enqueue()
    with pytest.raises(JobFailed, match="asked to slow down") as raised:
        drain(app)
    assert isinstance(raised.value.__cause__, Retry)


def test_a_drain_ends_at_the_given_moment_and_the_clock_with_it(app: Holdfast, clock: VirtualClock) -> None:
    @app.task(name="shop.tick")
    def tick() -> None:
        tick.using(delay=60).enqueue()

    tick.enqueue()
    ran = drain(app, until=timedelta(minutes=10))
    assert [one.at for one in ran] == [NOON + timedelta(minutes=minute) for minute in range(11)]
    assert clock.now == NOON + timedelta(minutes=10)
    assert len(drain(app, until=90)) == 1
    assert clock.now == NOON + timedelta(minutes=11, seconds=30)
    assert len(drain(app, until=NOON + timedelta(minutes=12))) == 1
    with pytest.raises(InvalidInput, match="expected until to be in the future"):
        drain(app, until=NOON)


def test_a_job_that_goes_round_for_ever_is_named(app: Holdfast) -> None:
    @app.task(name="shop.tick")
    def tick() -> None:
        tick.using(delay=60).enqueue()

    tick.enqueue()
    with pytest.raises(HoldfastError, match=r"gave up after 50 runs, 50 of them of shop.tick.*until=") as raised:
        drain(app, max_runs=50)
    assert "12:49" in str(raised.value)


def test_as_many_jobs_as_are_allowed_are_not_too_many(app: Holdfast) -> None:
    @app.task(name="shop.one")
    def one() -> None: ...

    app.enqueue_many(one.s() for _ in range(5))
    assert len(drain(app, max_runs=5)) == 5


def test_only_the_named_queues_are_drained(app: Holdfast) -> None:
    @app.task(name="shop.say")
    def say() -> None: ...

    mail, other = say.using(queue="mail", delay=5).enqueue(), say.enqueue()
    assert [one.job for one in drain(app, queues=["mail"])] == [mail]
    assert other.state() == "ready"


def test_what_is_paused_or_expires_does_not_keep_a_drain_going(app: Holdfast, clock: VirtualClock) -> None:
    @app.task(name="shop.say")
    def say() -> None: ...

    paused = say.using(queue="mail").enqueue()
    app.queues["mail"].pause()
    late = say.using(expires=10).enqueue()
    later = say.using(delay=60).enqueue()
    clock.advance(20)
    assert [one.job for one in drain(app)] == [later]
    assert (paused.state(), late.state()) == ("ready", "expired")


def test_async_tasks_share_one_loop_in_a_drain(app: Holdfast) -> None:
    @app.task(name="shop.fetch")
    async def fetch(number: int) -> int:
        await asyncio.sleep(0)
        return id(asyncio.get_running_loop()) if number else number

    app.enqueue_many(fetch.s(number) for number in (1, 2, 3))
    assert len({one.result for one in drain(app)}) == 1


def test_a_drain_inside_a_loop_is_refused_and_adrain_is_not(app: Holdfast) -> None:
    @app.task(name="shop.fetch")
    async def fetch() -> str:
        return "page"

    async def test() -> list[object]:
        with pytest.raises(HoldfastError, match=r"use await adrain\(app\)"):
            drain(app)
        await fetch.using(delay=3600).aenqueue()
        return [one.result for one in await adrain(app)]

    assert asyncio.run(test()) == ["page"]


def test_a_drain_without_a_virtual_clock_says_what_to_do() -> None:
    with Holdfast("memory://") as app, pytest.raises(HoldfastError, match="VirtualClock"):
        drain(app)


def test_a_task_may_move_the_clock_by_years(app: Holdfast, clock: VirtualClock) -> None:
    @app.task(name="shop.age")
    def age() -> None:
        clock.advance(timedelta(days=3650))

    app.enqueue_many([age.s(), age.s()])
    assert [one.outcome for one in drain(app, until=5)] == ["done", "done"]
    assert clock.now == NOON + timedelta(days=7300)


def test_a_cancelled_run_sees_it_at_once_and_progress_is_kept(app: Holdfast) -> None:
    @app.task(name="shop.work")
    def work() -> bool:
        current_job().progress(0.5, "half")
        app.job(current_job().id).cancel()
        return current_job().is_cancelled()

    job = work.enqueue()
    (one,) = drain(app)
    assert one.result is True
    assert job.progress() == (0.5, "half")


def test_the_waits_of_retries_have_no_jitter(app: Holdfast) -> None:
    @app.task(name="shop.fail", retries=1, retry_delay=100)
    def fail() -> None:
        raise ValueError

    for _ in range(20):
        fail.enqueue()
    assert {one.at - NOON for one in drain(app, raise_errors=False)} == {timedelta(0), timedelta(seconds=100)}


def test_an_interrupted_job_is_handed_back(app: Holdfast) -> None:
    @app.task(name="shop.stop")
    def stop() -> None:
        raise KeyboardInterrupt

    job = stop.enqueue()
    with pytest.raises(KeyboardInterrupt):
        drain(app)
    assert job.state() == "ready"


def test_what_a_limit_holds_back_runs_at_the_moment_it_is_let_go(app: Holdfast) -> None:
    app.queue("crawl", lane_rate="1/m")
    app.queue("mail", rate="1/h")
    fetch = app.task(name="shop.fetch", queue="crawl", lane=lambda url: url[0])(len)
    send = app.task(name="shop.send", queue="mail")(len)
    app.enqueue_many([fetch.s("a1"), fetch.s("a2"), fetch.s("b1"), send.s("x"), send.s("y")])
    fetch.using(delay=30).enqueue("c1")
    ran = drain(app)
    seen = sorted((round((one.at - NOON).total_seconds()), one.args[0]) for one in ran)
    assert seen == [(0, "a1"), (0, "b1"), (0, "x"), (30, "c1"), (60, "a2"), (3600, "y")]


def test_what_is_paused_or_stopped_is_not_waited_for(app: Holdfast) -> None:
    app.queue("stopped", rate="0/s")
    task = app.task(name="shop.fetch", lane="a")(len)
    app.enqueue_many([task.using(queue=queue).s("x") for queue in ("stopped", "paused", "lane")])
    app.queues["paused"].pause()
    app.queues["lane"].pause(lane="a")
    assert drain(app) == []
