"""Waiting for results in threads and coroutines: woken at once, without a processor, refused where it would block."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from holdfast import (
    Holdfast,
    HoldfastError,
    Job,
    ResultTimeout,
    StoreClosed,
)
from holdfast.testing.contract.background_call import DEADLINE_S, Call
from tests.unit.app.looking import wait_until

HOUR_S = 3600


def echo(value: Any = None) -> Any:
    return value


def test_a_waiter_is_woken_by_the_end(live: Holdfast) -> None:
    job = live.task(name="echo")(echo).enqueue(5)
    waiter = Call(lambda: job.result(60))
    assert not waiter.is_back(0.05)
    live.drain()
    assert waiter.result() == 5


async def watched(app: Holdfast, job: Job[Any]) -> None:
    """Return when the watching thread has taken the job up."""
    async with asyncio.timeout(DEADLINE_S):
        while job.id not in app.connection().watcher._watched:
            await asyncio.sleep(0.001)


def test_one_thread_waits_for_all_coroutines(live: Holdfast) -> None:
    task = live.task(name="echo")(echo)

    async def main() -> tuple[list[Any], int]:
        jobs = [await task.aenqueue(number) for number in range(50)]
        waiting = asyncio.gather(*(job.aresult(60) for job in jobs))
        await watched(live, jobs[0])
        watchers = sum(thread.name == "holdfast-watcher" for thread in threading.enumerate())
        await live.adrain()
        return await waiting, watchers

    assert asyncio.run(main()) == (list(range(50)), 1)
    wait_until(lambda: all(thread.name != "holdfast-watcher" for thread in threading.enumerate()), "no watcher is left")


def test_coroutines_that_come_while_others_wait_are_served(live: Holdfast) -> None:
    task = live.task(name="echo")(echo)

    async def main() -> list[Any]:
        never = asyncio.create_task(task.using(delay=HOUR_S).enqueue().aresult())
        values = []
        for number in range(20):
            job = task.enqueue(number)
            soon = asyncio.create_task(job.aresult(60))
            await asyncio.sleep(0)
            await live.adrain()
            values.append(await soon)
        never.cancel()
        return values

    assert asyncio.run(main()) == list(range(20))


def test_waiting_coroutines_use_no_processor(live: Holdfast) -> None:
    job = live.task(name="echo")(echo).using(delay=HOUR_S).enqueue()

    async def main() -> float:
        waiting = [asyncio.create_task(job.aresult()) for _ in range(50)]
        await watched(live, job)
        began = time.process_time()
        await asyncio.sleep(0.5)
        used = time.process_time() - began
        for task in waiting:
            task.cancel()
        return used

    assert asyncio.run(main()) < 0.01


def test_closing_the_app_wakes_those_who_wait() -> None:
    app = Holdfast("memory://")
    job = app.task(name="echo")(echo).using(delay=HOUR_S).enqueue()

    async def main() -> None:
        waiting = [asyncio.create_task(job.aresult()) for _ in range(3)]
        await asyncio.sleep(0)
        await app.aclose()
        for task in waiting:
            with pytest.raises(StoreClosed, match="closed while somebody waited"):
                await task

    asyncio.run(main())


def test_closing_an_app_whose_store_was_closed_before_is_no_error(app: Holdfast) -> None:
    other = Holdfast("memory://")
    store = app.store
    other.attach(store)
    job = other.task(name="echo")(echo).using(delay=HOUR_S).enqueue()

    async def main() -> None:
        waiting = asyncio.create_task(job.aresult())
        await watched(other, job)
        store.close()
        other.close()
        with pytest.raises(StoreClosed):
            await waiting

    asyncio.run(main())


def test_a_watcher_that_was_stopped_lets_nobody_wait(app: Holdfast) -> None:
    """A handle may hold the watcher of a connection that another thread closes just now."""
    watcher = app.connection().watcher
    watcher.stop()
    with pytest.raises(StoreClosed):
        asyncio.run(watcher.wait("x"))


def test_an_error_of_the_store_reaches_everybody_who_waits(live: Holdfast) -> None:
    job = live.task(name="echo")(echo).using(delay=HOUR_S).enqueue()
    inspector: Any = live.store.inspector
    real = inspector.watch
    inspector.watch = lambda *_: (_ for _ in ()).throw(RuntimeError("a bug in watch"))

    async def main() -> None:
        with pytest.raises(RuntimeError, match="a bug in watch"):
            await job.aresult()
        inspector.watch = real
        with pytest.raises(ResultTimeout):
            await job.aresult(0.05)

    asyncio.run(asyncio.wait_for(main(), DEADLINE_S))


def test_many_threads_wait_for_many_jobs(live: Holdfast) -> None:
    task = live.task(name="echo")(echo)
    with live.worker(threads=4), ThreadPoolExecutor(8) as pool:
        jobs = [task.enqueue(number) for number in range(100)]
        assert list(pool.map(lambda job: job.result(DEADLINE_S), jobs)) == list(range(100))


# --- inside an event loop -----------------------------------------------------------------------------------


def test_what_would_block_the_loop_is_refused_with_the_twin(app: Holdfast) -> None:
    job = app.task(name="echo")(echo).using(delay=HOUR_S).enqueue()

    async def main() -> None:
        for act, twin in (
            (job.result, "await job.aresult"),
            (lambda: job.wait(5), "await job.aresult"),
            (app.drain, "await app.adrain"),
            (app.worker().__enter__, "async with app.worker"),
        ):
            with pytest.raises(HoldfastError, match=rf"would block the event loop that runs here; use .*{twin}"):
                act()

    asyncio.run(main())


def test_what_does_not_block_is_allowed_inside_a_loop(app: Holdfast) -> None:
    task = app.task(name="echo")(echo)
    done = task.enqueue(5)
    app.drain()

    async def main() -> None:
        job = task.using(delay=HOUR_S).enqueue()
        assert done.result() == 5
        assert job.wait(0) is False
        assert job.state() == "scheduled"
        assert job.cancel()

    asyncio.run(main())
