"""The in-process worker: what it claims, and how it stops."""

import asyncio
import threading
import time
from typing import Any

import pytest

from holdfast.errors import Retry
from holdfast.model.claim import Claim
from holdfast.model.verdict import done
from holdfast.policy.retry import RetryPolicy
from holdfast.run.context import current_job
from holdfast.run.pump import Plan, Pump
from holdfast.store.memory.store import MemoryStore
from holdfast.testing.contract.background_call import DEADLINE_S, Call
from holdfast.testing.contract.sample_jobs import record, state
from tests.unit.run.making import (
    Gate,
    await_state,
    bench_of,
    job_of,
    our_threads,
    pump_on,
    push,
    spec_of,
    wait_until,
)

# --- running ------------------------------------------------------------------------------------------------


def test_jobs_run_as_they_come(live_store: MemoryStore) -> None:
    with pump_on(live_store, bench_of(lambda a: a + 1)):
        ids = [push(live_store, number) for number in range(20)]
        for job_id in ids:
            await_state(live_store, job_id, "succeeded")
    assert [record(live_store, job_id).deliveries for job_id in ids] == [1] * 20


def test_sync_and_async_tasks_run_side_by_side(live_store: MemoryStore, gate: Gate) -> None:
    async def quick() -> str:
        return threading.current_thread().name

    bench = bench_of(spec_of(gate, "slow"), spec_of(quick, "quick"))
    with pump_on(live_store, bench, threads=2):
        slow = push(live_store, task="slow")
        gate.await_begun()
        await_state(live_store, push(live_store, task="quick"), "succeeded")
        assert state(live_store, slow) == "running"
        gate.open.set()
        await_state(live_store, slow, "succeeded")


def test_nothing_is_claimed_that_could_not_start_at_once(live_store: MemoryStore, gate: Gate) -> None:
    with pump_on(live_store, bench_of(gate), threads=2):
        ids = [push(live_store, number) for number in range(5)]
        gate.await_begun(2)
        states = sorted(state(live_store, job_id) for job_id in ids)
        assert states == ["ready", "ready", "ready", "running", "running"]
        gate.open.set()
        for job_id in ids:
            await_state(live_store, job_id, "succeeded")


def test_a_job_due_later_does_not_delay_one_that_is_due_now(live_store: MemoryStore) -> None:
    """Trap 17, as the pump sees it: it sleeps for the head, and an earlier job wakes it."""
    with pump_on(live_store, bench_of(lambda: None)):
        later = job_of()
        live_store.push([_later(later)])
        await_state(live_store, push(live_store), "succeeded")
        assert state(live_store, later.id) == "scheduled"


def _later(job: Any) -> Any:
    import msgspec

    return msgspec.structs.replace(job, delay_us=3600 * 10**6)


def test_progress_is_there_when_the_job_has_ended(live_store: MemoryStore) -> None:
    """The latest one is kept, also of a run that ended right after it."""

    def work() -> None:
        for step in range(1, 101):
            current_job().progress(step / 100, f"step {step}")

    with pump_on(live_store, bench_of(work)):
        for _ in range(3):
            job_id = push(live_store)
            await_state(live_store, job_id, "succeeded")
            assert (record(live_store, job_id).progress, record(live_store, job_id).progress_note) == (1.0, "step 100")


def test_a_worker_that_is_asked_to_stop_ends_what_runs_and_leaves(live_store: MemoryStore, gate: Gate) -> None:
    with pump_on(live_store, bench_of(gate), lease_s=1):
        running = push(live_store, 1)
        gate.await_begun()
        (worker,) = live_store.inspector.workers()
        assert live_store.operator.dismiss([worker.id]) == [worker.id]
        gate.open.set()
        await_state(live_store, running, "succeeded")
        wait_until(lambda: not live_store.inspector.workers(), "it has left")
        assert state(live_store, push(live_store, 2)) == "ready"


def test_a_run_that_was_cancelled_is_told(live_store: MemoryStore) -> None:
    begun = threading.Event()

    def patient() -> str:
        begun.set()
        wait_until(current_job().is_cancelled, "being told")
        return "told"

    with pump_on(live_store, bench_of(patient), lease_s=0.3):
        job_id = push(live_store)
        assert begun.wait(DEADLINE_S)
        assert live_store.operator.cancel([job_id]) == {job_id: "asked"}
        await_state(live_store, job_id, "succeeded")  # it ended by itself, with a result


def test_a_coroutine_that_was_cancelled_is_cancelled(live_store: MemoryStore) -> None:
    begun = threading.Event()
    cleaned = threading.Event()

    async def patient() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.set()

    with pump_on(live_store, bench_of(patient), lease_s=0.3):
        job_id = push(live_store)
        assert begun.wait(DEADLINE_S)
        live_store.operator.cancel([job_id])
        await_state(live_store, job_id, "cancelled")
    assert cleaned.is_set()


def test_an_idle_pump_uses_no_processor(live_store: MemoryStore) -> None:
    with pump_on(live_store, bench_of(lambda: None)):
        await_state(live_store, push(live_store), "succeeded")
        live_store.push([_later(job_of())])
        began = time.process_time()
        threading.Event().wait(1)
        assert time.process_time() - began < 0.005


def test_retries_are_run_by_the_pump(live_store: MemoryStore) -> None:
    attempts: list[int] = []

    def stubborn() -> None:
        attempts.append(current_job().attempt)
        if len(attempts) < 3:
            raise Retry(delay=0.01)

    with pump_on(live_store, bench_of(spec_of(stubborn, retry=RetryPolicy(retries=5)))):
        await_state(live_store, push(live_store), "succeeded")
    assert attempts == [1, 2, 3]


# --- stopping -----------------------------------------------------------------------------------------------


def test_stopping_leaves_no_thread_and_no_loop_behind(live_store: MemoryStore) -> None:
    """And nothing on the loop: what a task has left running there is cancelled."""
    cleaned = threading.Event()

    async def linger() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.set()

    async def quick() -> None:
        asyncio.get_running_loop().create_task(linger())
        await asyncio.sleep(0)

    bench = bench_of(spec_of(lambda: None, "sync"), spec_of(quick, "async"))
    with pump_on(live_store, bench):
        for task in ("sync", "async"):
            await_state(live_store, push(live_store, task=task), "succeeded")
        assert len(our_threads()) >= 4
    assert our_threads() == []
    assert cleaned.is_set()


def test_what_runs_may_finish_and_nothing_new_is_claimed(live_store: MemoryStore, gate: Gate) -> None:
    """I18"""
    pump = Pump(live_store, bench_of(gate), Plan(threads=1))
    pump.start()
    first, second = push(live_store, 1), push(live_store, 2)
    gate.await_begun()
    stopping = Call(pump.stop)
    assert not stopping.is_back(0.05)
    gate.open.set()
    assert stopping.result() is True
    assert (state(live_store, first), state(live_store, second)) == ("succeeded", "ready")


def test_what_does_not_finish_is_handed_back_uncharged(
    live_store: MemoryStore, gate: Gate, caplog: pytest.LogCaptureFixture
) -> None:
    """I18; the run goes on in its thread, and its verdict is refused."""
    pump = Pump(live_store, bench_of(gate), Plan())
    pump.start()
    job_id = push(live_store)
    gate.await_begun()
    assert pump.stop(0) is False
    found = record(live_store, job_id)
    assert (found.state, found.failures, found.crashes) == ("ready", 0, 0)
    assert "did not finish within the grace and was handed back" in caplog.text
    gate.open.set()
    wait_until(lambda: not our_threads(), "the thread left behind has ended")
    assert state(live_store, job_id) == "ready"


def test_a_coroutine_that_does_not_finish_is_cancelled_and_handed_back(live_store: MemoryStore) -> None:
    begun, cleaned = threading.Event(), threading.Event()

    async def endless() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.set()

    pump = Pump(live_store, bench_of(endless), Plan())
    pump.start()
    job_id = push(live_store)
    assert begun.wait(DEADLINE_S)
    assert pump.stop(0) is False
    assert cleaned.is_set()
    assert state(live_store, job_id) == "ready"


def test_a_verdict_is_settled_once_even_if_it_comes_while_stopping(
    live_store: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    """I7: a run that ends at any moment of the stop is neither lost nor run again."""
    for _ in range(100):
        pump = Pump(live_store, bench_of(lambda: 5), Plan())
        pump.start()
        ids = [push(live_store) for _ in range(4)]
        wait_until(lambda: all(state(live_store, job_id) != "ready" for job_id in ids), "claims")  # noqa: B023
        assert pump.stop() is True
        assert [(state(live_store, job_id), record(live_store, job_id).deliveries) for job_id in ids] == [
            ("succeeded", 1)
        ] * 4
    assert "refused" not in caplog.text


def test_a_pump_that_was_never_started_can_be_ticked_by_hand(live_store: MemoryStore) -> None:
    pump = Pump(live_store, bench_of(lambda: None), Plan())
    pump.enlist()
    assert not pump.tick()
    job_id = push(live_store)
    assert pump.tick()
    wait_until(pump.tick, "its end")
    assert state(live_store, job_id) == "succeeded"
    assert pump.stop()


def test_a_late_verdict_of_a_run_that_was_handed_back_is_refused(live_store: MemoryStore) -> None:
    """I10"""
    pump = Pump(live_store, bench_of(lambda: None), Plan())
    pump.enlist()
    job_id = push(live_store)
    claims: list[Claim] = live_store.claim(pump._worker, ["default"], 1)
    pump.stop()
    assert state(live_store, job_id) == "ready"
    assert [lost.id for lost in live_store.settle([done(claims[0])])] == [job_id]
