"""The pull side: claim, settle, hand back, under a lease."""

import asyncio
import time
from typing import Any

import pytest

from holdfast import (
    DeclarationError,
    Holdfast,
    HoldfastError,
    InvalidInput,
    JobFailed,
    LeaseLost,
    NotEncodable,
)
from holdfast.testing.contract.background_call import Call
from holdfast.testing.contract.virtual_clock import VirtualClock
from tests.unit.app.looking import wait_until

SECRET = "a-secret-of-some-length"


def fetch(url: str, depth: int = 0) -> str:
    raise AssertionError("a consumer does the work itself")


@pytest.fixture
def task(app: Holdfast) -> Any:
    return app.task(name="fetch", queue="crawl")(fetch)


def test_a_delivery_holds_the_call(app: Holdfast, task: Any) -> None:
    job = task.enqueue("http://a", depth=2)
    with app.consumer("crawl") as consumer:
        (delivery,) = consumer.claim()
        assert (delivery.id, delivery.task, delivery.attempt) == (job.id, "fetch", 1)
        assert (delivery.args, delivery.kwargs) == (("http://a",), {"depth": 2})
        assert delivery.token
        assert repr(delivery) == f"<Delivery {job.id} of fetch, attempt 1>"
        assert job.state() == "running"
        delivery.done("page")
    assert job.result(0) == "page"


def test_a_delivery_ends_in_one_of_four_ways(app: Holdfast, task: Any, clock: VirtualClock) -> None:
    jobs = [task.enqueue(f"http://{number}") for number in range(4)]
    with app.consumer("crawl", lease=3600) as consumer:
        done, retried, failed, released = consumer.claim(10)
        done.done()
        retried.retry(60, "busy")
        failed.fail("gone\x00")
        released.release()
        assert [job.state() for job in jobs] == ["succeeded", "scheduled", "failed", "ready"]
        assert (jobs[1].record().due_us, jobs[1].record().failures) == (clock.in_s(60), 1)
        assert jobs[0].result(0) is None
        with pytest.raises(JobFailed, match=r"failed: gone\\x00"):
            jobs[2].result(0)
        (again,) = consumer.claim(10)
        assert (again.id, again.attempt) == (jobs[3].id, 1)
        clock.advance(60)
        assert [delivery.attempt for delivery in consumer.claim(10)] == [2]


def test_what_was_not_ended_is_handed_back_uncharged(app: Holdfast, task: Any) -> None:
    job = task.enqueue("http://a")

    def crash() -> None:
        with app.consumer("crawl") as consumer:
            assert len(consumer.claim()) == 1
            raise KeyError

    with pytest.raises(KeyError):
        crash()
    record = job.record()
    assert (record.state, record.failures, record.crashes) == ("ready", 0, 0)


def test_a_delivery_is_ended_once(app: Holdfast, task: Any) -> None:
    task.enqueue("http://a")
    with app.consumer("crawl") as consumer:
        (delivery,) = consumer.claim()
        delivery.done()
        for end in (delivery.done, delivery.fail, delivery.retry, delivery.release):
            with pytest.raises(
                LeaseLost, match=f"job {delivery.id} is no longer this consumer's: .* Nothing was changed"
            ):
                end()


def test_a_result_that_cannot_travel_leaves_the_job_in_hand(app: Holdfast, task: Any) -> None:
    job = task.enqueue("http://a")
    with app.consumer("crawl") as consumer:
        (delivery,) = consumer.claim()
        with pytest.raises(NotEncodable, match="the result of fetch"):
            delivery.done(object())
        assert job.state() == "running"
        delivery.done("page")
    assert job.result(0) == "page"


def test_a_consumer_whose_lease_has_ended_finds_every_door_shut(app: Holdfast, task: Any, clock: VirtualClock) -> None:
    """I10: the machine slept, and the job was given to someone else."""
    job = task.enqueue("http://a")
    with app.consumer("crawl") as consumer:
        (delivery,) = consumer.claim()
        clock.advance(60)
        app.store.rescue()
        with pytest.raises(LeaseLost, match="no longer this consumer's"):
            delivery.done("late")
        with pytest.raises(LeaseLost):
            consumer.claim()
    assert job.state() == "ready"


def test_a_consumer_is_used_in_a_block(app: Holdfast, task: Any) -> None:
    consumer = app.consumer("crawl")
    with pytest.raises(LeaseLost, match="this consumer is not open: use it in a with block"):
        consumer.claim()
    with consumer, pytest.raises(DeclarationError, match="this consumer is open already"):
        consumer.__enter__()
    with pytest.raises(LeaseLost, match="this consumer is not open"):
        consumer.claim()
    task.enqueue("http://a")
    with consumer:
        assert len(consumer.claim()) == 1


@pytest.mark.parametrize("given", [{"limit": 0}, {"limit": True}, {"wait": -1}, {"wait": "long"}])
def test_a_senseless_claim_is_refused(app: Holdfast, given: Any) -> None:
    with app.consumer("crawl") as consumer, pytest.raises(InvalidInput):
        consumer.claim(**given)


def test_what_is_forged_or_damaged_is_set_aside(clock: VirtualClock) -> None:
    """I33"""
    with Holdfast("memory://", clock=clock) as unsigned:
        job = unsigned.task(name="fetch", queue="crawl")(fetch).enqueue("http://a")
        signed = Holdfast("memory://", secret=SECRET)
        signed.attach(unsigned.store)
        with signed.consumer("crawl") as consumer:
            assert consumer.claim(10) == []
        assert (job.state(), job.record().reason) == ("parked", "bad signature")


def test_a_result_of_a_signed_app_is_sealed(clock: VirtualClock) -> None:
    with Holdfast("memory://", secret=SECRET, clock=clock) as app:
        job = app.task(name="fetch", queue="crawl")(fetch).enqueue("http://a")
        with app.consumer("crawl") as consumer:
            consumer.claim()[0].done("page")
        assert job.result(0) == "page"


def test_a_claim_waits_for_the_first_job(live: Holdfast) -> None:
    task = live.task(name="fetch", queue="crawl")(fetch)
    with live.consumer("crawl") as consumer:
        assert consumer.claim() == []
        waiting = Call(lambda: consumer.claim(wait=60))
        assert not waiting.is_back(0.05)
        task.enqueue("http://a")
        assert len(waiting.result()) == 1


def test_a_claim_is_not_ended_by_a_wake_that_was_meant_for_others(live: Holdfast) -> None:
    """Whoever awaits a result wakes the store; a consumer that returned then would have waited for nothing."""
    task = live.task(name="fetch", queue="crawl")(fetch)
    with live.consumer("crawl") as consumer:
        waiting = Call(lambda: consumer.claim(wait=60))
        for _ in range(5):
            live.store.wake()
            assert not waiting.is_back(0.02)
        task.enqueue("http://a")
        assert len(waiting.result()) == 1


def test_a_claim_that_finds_nothing_ends_with_its_wait_and_uses_no_processor(live: Holdfast) -> None:
    with live.consumer("crawl") as consumer:
        began, used = time.monotonic(), time.process_time()
        assert consumer.claim(wait=0.3) == []
        assert time.monotonic() - began >= 0.29
        assert time.process_time() - used < 0.05


def test_a_claim_that_would_block_a_loop_is_refused(app: Holdfast) -> None:
    async def main() -> None:
        with app.consumer("crawl") as consumer:
            assert consumer.claim() == []
            with pytest.raises(HoldfastError, match=r"claim\(wait=…\) would block the event loop .*to_thread"):
                consumer.claim(wait=5)

    asyncio.run(main())


def test_a_consumer_learns_that_a_job_was_cancelled(live: Holdfast) -> None:
    job = live.task(name="fetch", queue="crawl")(fetch).enqueue("http://a")
    with live.consumer("crawl", lease=1) as consumer:
        (delivery,) = consumer.claim()
        assert not delivery.is_cancelled()
        assert job.cancel()
        wait_until(delivery.is_cancelled, "the next beat")
        delivery.release()
    assert job.state() == "cancelled"
