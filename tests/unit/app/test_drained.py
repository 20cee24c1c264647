"""Waiting until a queue is drained."""

import asyncio
import threading
import time

import pytest

from holdfast import Holdfast, HoldfastError, InvalidInput, InvalidName
from holdfast.testing.contract.background_call import Call
from holdfast.testing.contract.virtual_clock import VirtualClock


def noop(number: int = 0) -> int:
    return number


def test_an_empty_queue_and_one_that_never_was_are_drained(app: Holdfast) -> None:
    assert app.wait_drained("mail", timeout=0)
    assert app.wait_drained(timeout=0)
    assert app.queues["mail"].wait_drained()


def test_a_queue_with_work_is_not_drained(app: Holdfast, clock: VirtualClock) -> None:
    task = app.task(name="noop", queue="mail")(noop)
    task.using(delay=60).enqueue()
    assert not app.wait_drained("mail", timeout=0), "scheduled"
    assert app.wait_drained("other", timeout=0)
    assert not app.wait_drained(timeout=0)
    clock.advance(60)
    assert not app.wait_drained("mail", timeout=0), "ready"
    with app.consumer("mail", lease=3600) as consumer:
        (delivery,) = consumer.claim()
        assert not app.wait_drained("mail", timeout=0), "running"
        delivery.done()
    assert app.wait_drained("mail", timeout=0)


def test_a_successor_that_waits_keeps_a_queue_from_being_drained(app: Holdfast) -> None:
    task = app.task(name="noop", queue="mail", key="k")(noop)
    task.enqueue()
    with app.consumer("mail") as consumer:
        (delivery,) = consumer.claim()
        after = task.using(rerun=True).enqueue()
        assert after.state() == "waiting"
        assert not app.wait_drained("mail", timeout=0)
        delivery.done()
        consumer.claim()[0].done()
    assert app.wait_drained("mail", timeout=0)


def test_a_parked_job_waits_for_a_person_and_is_not_waited_for(app: Holdfast) -> None:
    with Holdfast("memory://") as other:
        other.attach(app.store)
        other.task(name="unknown", queue="mail")(noop).enqueue()
        app.drain()
    assert app.queues["mail"].counts() == {"parked": 1}
    assert app.wait_drained("mail", timeout=0)


def test_the_wait_ends_when_the_last_job_has_ended(live: Holdfast) -> None:
    gate = threading.Event()
    task = live.task(name="hold", queue="mail")(lambda number: gate.wait(30))
    live.enqueue_many(task.s(number) for number in range(50))
    waiting = Call(lambda: live.queues["mail"].wait_drained(timeout=60))
    with live.worker(threads=4):
        assert not waiting.is_back(0.1)
        gate.set()
        assert waiting.result() is True
        assert live.queues["mail"].counts() == {"succeeded": 50}


def test_it_is_woken_and_does_not_poll(live: Holdfast) -> None:
    job = live.task(name="noop", queue="mail")(noop).enqueue()
    looks: list[float] = []
    real = live.store.inspector.find
    live.store.inspector.find = lambda *given: looks.append(time.monotonic()) or real(*given)  # type: ignore[method-assign,func-returns-value]
    waiting = Call(lambda: live.wait_drained("mail", timeout=60))
    assert not waiting.is_back(0.3)
    job.cancel()
    assert waiting.result() is True
    assert len(looks) <= 3


def test_the_wait_ends_with_its_time(live: Holdfast) -> None:
    live.task(name="noop", queue="mail")(noop).enqueue()
    began = time.monotonic()
    assert not live.wait_drained("mail", timeout=0.1)
    assert time.monotonic() - began < 5


def test_a_job_that_is_parked_meanwhile_is_seen(live: Holdfast) -> None:
    other = Holdfast("memory://")
    other.attach(live.store)
    other.task(name="unknown", queue="mail")(noop).enqueue()
    waiting = Call(lambda: live.wait_drained("mail", timeout=60))
    assert not waiting.is_back(0.05)
    live.drain()
    assert waiting.result() is True


def test_the_awaited_twin(live: Holdfast) -> None:
    task = live.task(name="noop", queue="mail")(noop)

    async def main() -> list[bool]:
        assert await live.await_drained("mail")
        task.using(delay=0.2).enqueue()
        with pytest.raises(HoldfastError, match=r"wait_drained\(\) would block the event loop .*await_drained"):
            live.wait_drained("mail", timeout=1)
        late = await live.await_drained("mail", timeout=0.01)
        async with live.worker(threads=1):
            return [late, *await asyncio.gather(live.await_drained("mail", 10), live.queues["mail"].await_drained(10))]

    assert asyncio.run(main()) == [False, True, True]


def test_odd_arguments_are_refused(app: Holdfast) -> None:
    with pytest.raises(InvalidName):
        app.wait_drained("a b")
    with pytest.raises(InvalidInput, match="timeout"):
        app.wait_drained("a", timeout=-1)


# --- lanes --------------------------------------------------------------------------------------------------


def test_a_lane_is_drained_apart_from_the_others(app: Holdfast) -> None:
    task = app.task(name="noop", queue="mail")(noop)
    task.using(lane="a").enqueue()
    task.enqueue()
    assert not app.wait_drained("mail", timeout=0, lane="a")
    assert not app.wait_drained("mail", timeout=0, lane="")
    assert app.wait_drained("mail", timeout=0, lane="b")
    assert app.wait_drained("other", timeout=0, lane="a")
    with app.consumer("mail") as consumer:
        deliveries = {delivery.lane: delivery for delivery in consumer.claim(2)}
        deliveries["a"].done()
        assert app.queues["mail"].wait_drained(0, lane="a")
        assert not app.wait_drained("mail", timeout=0)
        deliveries[None].done()
    assert app.wait_drained("mail", timeout=0, lane="")


def test_the_wait_for_a_lane_ends_when_its_last_job_has_ended(live: Holdfast) -> None:
    task = live.task(name="noop", queue="mail")(noop)
    other = task.using(lane="b").enqueue()
    jobs = [task.using(lane="a").enqueue(number) for number in range(3)]
    waiting = Call(lambda: live.wait_drained("mail", timeout=60, lane="a"))
    for job in jobs:
        assert not waiting.is_back(0.05)
        job.cancel()
    assert waiting.result() is True
    assert other.state() == "ready"


def test_the_awaited_twin_knows_lanes(live: Holdfast) -> None:
    live.task(name="noop", queue="mail", lane="a")(noop).enqueue()

    async def main() -> list[bool]:
        mail = live.queues["mail"]
        return [
            await live.await_drained("mail", 0, lane="a"),
            await live.await_drained("mail", 0, lane="b"),
            await mail.await_drained(0, lane=""),
        ]

    assert asyncio.run(main()) == [False, True, True]


def test_a_lane_without_a_queue_is_refused(app: Holdfast) -> None:
    with pytest.raises(InvalidInput, match="expected a queue to go with lane='a'"):
        app.wait_drained(lane="a")
    with pytest.raises(InvalidName, match="a lane"):
        app.wait_drained("mail", lane="a\n")
