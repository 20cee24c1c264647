"""Running jobs inside the program: drained, and by a worker in the background."""

import asyncio
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from holdfast import (
    DeclarationError,
    Holdfast,
    Job,
)
from holdfast.testing.contract.background_call import DEADLINE_S, Call
from holdfast.testing.contract.virtual_clock import VirtualClock
from tests.unit.app.looking import wait_until


def echo(value: Any = None) -> Any:
    return value


async def aecho(value: Any = None) -> Any:
    await asyncio.sleep(0)
    return value


def our_threads() -> set[str]:
    # The watch over time limits is one sleeping thread per process, and stays.
    return {thread.name for thread in threading.enumerate() if thread.name.startswith("holdfast-")} - {
        "holdfast-timeouts"
    }


# --- drain --------------------------------------------------------------------------------------------------


def test_drain_runs_sync_and_async_tasks_until_nothing_is_due(app: Holdfast, clock: VirtualClock) -> None:
    one, two = app.task(name="echo")(echo), app.task(name="aecho")(aecho)
    jobs: list[Job[Any]] = [one.enqueue(1), two.enqueue(2), one.using(delay=60).enqueue(3)]
    assert app.drain() == 2
    assert [job.state() for job in jobs] == ["succeeded", "succeeded", "scheduled"]
    clock.advance(60)
    assert app.drain(["default"], limit=5) == 1
    assert [job.result(0) for job in jobs] == [1, 2, 3]
    assert our_threads() == set()


def test_a_drain_from_a_loop_is_awaited(app: Holdfast) -> None:
    job = app.task(name="aecho")(aecho).enqueue(5)
    assert asyncio.run(app.adrain(["default"], limit=1)) == 1
    assert job.result(0) == 5


def test_a_drain_finds_the_modules_that_declare_tasks(
    clock: VirtualClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = "from tests.unit.app import test_running as t\n@t.LATE.task(name='late')\ndef late(): return 'found'\n"
    (tmp_path / "late_tasks.py").write_text(module)
    monkeypatch.syspath_prepend(tmp_path)
    with LATE:
        LATE.configure(url="memory://")
        job = LATE.enqueue("late")
        assert "late_tasks" in sys.modules
        LATE.drain()
        assert job.result(0) == "found"


LATE = Holdfast("memory://", imports=["late_tasks"])


# --- a worker in the background -----------------------------------------------------------------------------


def test_a_worker_runs_jobs_while_its_block_lasts(live: Holdfast) -> None:
    one, two = live.task(name="echo")(echo), live.task(name="aecho")(aecho)
    with live.worker(threads=4) as worker:
        jobs = [task.enqueue(number) for number in range(20) for task in (one, two)]
        assert [job.result(DEADLINE_S) for job in jobs] == [number for number in range(20) for _ in (1, 2)]
        with pytest.raises(DeclarationError, match="runs already"):
            worker.start()
    assert our_threads() == set()
    assert one.enqueue(1).wait(0.02) is False


def test_a_worker_can_be_awaited(live: Holdfast) -> None:
    one, two = live.task(name="echo")(echo), live.task(name="aecho")(aecho)

    async def main() -> list[Any]:
        async with live.worker(threads=2):
            jobs = [await task.aenqueue(number) for number in range(5) for task in (one, two)]
            return await asyncio.gather(*(job.aresult(DEADLINE_S) for job in jobs))

    assert asyncio.run(main()) == [number for number in range(5) for _ in (1, 2)]
    wait_until(lambda: not our_threads(), "no thread is left")


def test_a_worker_can_be_started_and_stopped_by_hand_and_again(live: Holdfast) -> None:
    task = live.task(name="echo")(echo)
    worker = live.worker(threads=1)
    assert worker.stop() is True
    for _ in range(2):
        worker.start()
        assert task.enqueue(5).result(DEADLINE_S) == 5
        assert worker.stop(timedelta(seconds=5)) is True
    assert our_threads() == set()


def test_a_worker_that_could_not_start_can_be_started_later(tmp_path: Path) -> None:
    app = Holdfast(f"sqlite:///{tmp_path}/sub/jobs.db?tier=fast")
    task = app.task(name="echo")(echo)
    worker = app.worker()
    with pytest.raises(Exception, match="sub"):
        worker.start()
    (tmp_path / "sub").mkdir()
    with worker:
        assert task.enqueue(5).result(DEADLINE_S) == 5
    app.close()


def test_a_worker_serves_only_its_queues(live: Holdfast) -> None:
    task = live.task(name="echo")(echo)
    other = task.using(queue="other").enqueue(1)
    with live.worker(queues=["mine", "mine"]):
        assert task.using(queue="mine").enqueue(2).result(DEADLINE_S) == 2
    assert other.state() == "ready"


def test_an_idle_worker_uses_no_processor(tmp_path: Path) -> None:
    """Less than half a percent, on a file too, whose waiters look for themselves twice a second."""
    with Holdfast(f"sqlite:///{tmp_path}/jobs.db?tier=fast") as app:
        task = app.task(name="echo")(echo)
        task.using(delay=3600).enqueue()
        with app.worker():
            task.enqueue().result(DEADLINE_S)
            began = time.process_time()
            threading.Event().wait(1)
            assert time.process_time() - began < 0.005


def test_a_job_wakes_a_worker_at_once_also_the_first_of_all_queues(live: Holdfast) -> None:
    task = live.task(name="echo")(echo)
    with live.worker():
        for queue in ("first", "second"):
            job = task.using(queue=queue).enqueue()
            began = time.monotonic()
            job.result(DEADLINE_S)
            assert time.monotonic() - began < 0.5


def test_a_job_that_is_past_due_runs_now(live: Holdfast) -> None:
    """Trap 15"""
    task = live.task(name="echo")(echo)
    with live.worker():
        assert task.using(at=datetime(2001, 1, 1, tzinfo=UTC)).enqueue("now").result(DEADLINE_S) == "now"


def test_a_delayed_job_runs_when_it_is_due_and_never_before(live: Holdfast) -> None:
    task = live.task(name="echo")(echo)
    with live.worker():
        job = task.using(delay=0.2).enqueue()
        job.result(DEADLINE_S)
    (run,) = job.history()
    assert 0 <= run.claimed_us - job.record().due_us < 1_000_000


def test_sleeping_workers_do_not_delay_an_earlier_job(live: Holdfast) -> None:
    """Trap 17"""
    task = live.task(name="echo")(echo)
    live.enqueue_many(task.using(delay=3600).s() for _ in range(3))
    with live.worker(threads=1), live.worker(threads=1), live.worker(threads=1):
        jobs = [task.enqueue(number) for number in range(3)]
        assert [job.result(DEADLINE_S) for job in jobs] == [0, 1, 2]


def test_two_workers_run_each_job_once(live: Holdfast) -> None:
    """I7, I9"""
    ran: list[int] = []
    task = live.task(name="note")(ran.append)
    with live.worker(threads=3), live.worker(threads=3):
        jobs = live.enqueue_many(task.s(number) for number in range(300))
        for job in jobs:
            job.result(DEADLINE_S)
    assert sorted(ran) == list(range(300))


def test_closing_the_app_inside_the_block_is_loud_and_does_not_hang(caplog: pytest.LogCaptureFixture) -> None:
    app = Holdfast("memory://")
    task = app.task(name="echo")(echo)

    def close_early() -> None:
        with app.worker(grace=1):
            task.enqueue().result(DEADLINE_S)
            app.close()

    Call(close_early).result(10)
    assert our_threads() == set()
