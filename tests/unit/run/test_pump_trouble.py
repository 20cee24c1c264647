"""What the in-process worker does when the store fails, its lease is lost, or there is a bug: loud, and never a spin."""

import asyncio
import threading
import time

import pytest

from holdfast.errors import LeaseLost, StoreUnavailable
from holdfast.run.context import current_job
from holdfast.run.pump import Plan, Pump
from holdfast.store.memory.store import MemoryStore
from holdfast.testing.contract.background_call import DEADLINE_S
from holdfast.testing.contract.sample_jobs import record, state
from tests.unit.run.making import (
    Gate,
    await_state,
    bench_of,
    pump_on,
    push,
    wait_until,
)
from tests.unit.run.troubled import TroubledStore

AWAY = StoreUnavailable("the disk is full")


@pytest.mark.parametrize("trouble", [AWAY, RuntimeError("a bug in here"), LeaseLost("no lease for you")])
def test_an_error_in_the_pump_is_logged_and_does_not_spin(
    live_store: MemoryStore, trouble: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    """Trap 14: the error surfaces, each round is followed by a longer pause, and service resumes by itself (I32)."""
    troubled = TroubledStore(live_store)
    troubled.trouble["claim"] = trouble
    with pump_on(troubled, bench_of(lambda: None)):  # type: ignore[arg-type]
        job_id = push(troubled)
        wait_until(lambda: troubled.calls["claim"] >= 2, "two rounds")
        threading.Event().wait(0.5)
        assert troubled.calls["claim"] <= 5
        assert str(trouble) in caplog.text
        troubled.trouble.clear()
        await_state(live_store, job_id, "succeeded")


def test_a_failing_store_loses_no_verdict(
    live_store: MemoryStore, gate: Gate, caplog: pytest.LogCaptureFixture
) -> None:
    """Trap 42, I32: what could not be settled is kept, and settled when the store is back."""
    troubled = TroubledStore(live_store)
    with pump_on(troubled, bench_of(gate)):  # type: ignore[arg-type]
        job_id = push(troubled, 7)
        gate.await_begun()
        troubled.trouble |= {"settle": AWAY, "exchange": AWAY}
        gate.open.set()
        wait_until(lambda: troubled.calls["exchange"] + troubled.calls["settle"] >= 2, "two vain settles")
        assert state(live_store, job_id) == "running"
        troubled.trouble.clear()
        await_state(live_store, job_id, "succeeded")
    assert record(live_store, job_id).deliveries == 1
    assert "the store failed, trying again" in caplog.text


def test_a_stop_does_not_wait_for_the_pause_after_an_error(live_store: MemoryStore) -> None:
    troubled = TroubledStore(live_store)
    troubled.trouble["claim"] = AWAY
    pump = Pump(troubled, bench_of(lambda: None), Plan())  # type: ignore[arg-type]
    pump.start()
    push(troubled)
    wait_until(lambda: troubled.calls["claim"] >= 4, "a pause of most of a second")
    began = time.monotonic()
    assert pump.stop()
    assert time.monotonic() - began < 0.5


def test_a_listener_that_fails_says_so_and_goes_on(live_store: MemoryStore, caplog: pytest.LogCaptureFixture) -> None:
    troubled = TroubledStore(live_store)
    troubled.trouble["wait"] = RuntimeError("a bug in wait")
    with pump_on(troubled, bench_of(lambda: None)):  # type: ignore[arg-type]
        wait_until(lambda: "a bug in wait" in caplog.text, "the log")
        rounds = troubled.calls["wait"]
        threading.Event().wait(0.2)
        assert troubled.calls["wait"] - rounds <= 10
        troubled.trouble.clear()
        await_state(live_store, push(troubled), "succeeded")


def test_a_lost_lease_costs_nobody_a_job(live_store: MemoryStore, caplog: pytest.LogCaptureFixture) -> None:
    """I12: a coroutine that is stopped because its worker lost the lease is not thereby cancelled for good."""
    begun: list[int] = []

    async def work() -> str:
        begun.append(current_job().attempt)
        if len(begun) == 1:
            await asyncio.Event().wait()
        return "done"

    troubled = TroubledStore(live_store)
    with pump_on(troubled, bench_of(work), lease_s=0.5):  # type: ignore[arg-type]
        job_id = push(troubled)
        wait_until(lambda: begun, "its start")
        troubled.trouble["beat"] = AWAY  # the store is away for longer than the lease is trusted
        wait_until(lambda: "lost its lease" in caplog.text, "the loss")
        troubled.trouble.clear()
        await_state(live_store, job_id, "succeeded")
    assert len(begun) == 2


def test_a_run_that_stops_early_because_the_lease_was_lost_is_not_taken_for_done(
    live_store: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    stops: list[bool] = []
    begun = threading.Event()

    def work() -> str:
        begun.set()
        if not stops:
            wait_until(current_job().is_cancelled, "being told")
            stops.append(True)
            return "half of it"
        return "all of it"

    troubled = TroubledStore(live_store)
    with pump_on(troubled, bench_of(work), lease_s=0.5):  # type: ignore[arg-type]
        job_id = push(troubled)
        assert begun.wait(DEADLINE_S)
        troubled.trouble["beat"] = AWAY
        wait_until(lambda: stops, "the stop")
        troubled.trouble.clear()
        await_state(live_store, job_id, "succeeded")
    assert b"all of it" in (record(live_store, job_id).result or b"")


def test_a_worker_taken_for_dead_enlists_anew(live_store: MemoryStore, caplog: pytest.LogCaptureFixture) -> None:
    with pump_on(live_store, bench_of(lambda: None), lease_s=2):
        live_store.rescue(live_store.now() + 60 * 10**6)
        await_state(live_store, push(live_store), "succeeded")
    assert "lost its lease" in caplog.text
