"""Draining: everything that is due, one job at a time, in this thread, and nothing that is not."""

import asyncio
import contextvars
import signal
import threading
from typing import Any

import msgspec
import pytest

from holdfast.errors import LeaseLost, Retry, Snooze, StoreUnavailable
from holdfast.policy.moments import SECOND
from holdfast.policy.retry import RetryPolicy
from holdfast.run import drain as draining
from holdfast.run.context import current_job
from holdfast.run.drain import drain
from holdfast.store.memory.store import MemoryStore
from holdfast.testing.contract.sample_jobs import record, state
from holdfast.testing.contract.virtual_clock import VirtualClock
from tests.unit.run.making import bench_of, job_of, spec_of, wait_until
from tests.unit.run.troubled import TroubledStore


def push(store: Any, *args: Any, delay_us: int = 0, **fields: Any) -> str:
    job = msgspec.structs.replace(job_of(*args, **fields), delay_us=delay_us)
    store.push([job])
    return job.id


def test_what_is_due_runs_in_order_in_this_thread(store: MemoryStore) -> None:
    seen: list[Any] = []
    for number in range(5):
        push(store, number)
    ran = drain(store, bench_of(lambda number: seen.append((number, threading.current_thread()))))
    assert ran == 5
    assert seen == [(number, threading.current_thread()) for number in range(5)]


def test_what_is_due_later_is_not_waited_for(store: MemoryStore, clock: VirtualClock) -> None:
    job_id = push(store, delay_us=60 * SECOND)
    assert drain(store, bench_of(lambda: None)) == 0
    clock.advance(60)
    assert drain(store, bench_of(lambda: None)) == 1
    assert state(store, job_id) == "succeeded"


def test_what_a_job_enqueues_is_drained_too_also_into_a_queue_that_is_new(store: MemoryStore) -> None:
    def first() -> None:
        push(store, task="second", queue="brand-new")

    second: list[int] = []
    push(store, task="first")
    specs = [spec_of(first, "first"), spec_of(lambda: second.append(1), "second")]
    assert drain(store, bench_of(*specs)) == 2
    assert second == [1]


def test_retries_without_a_wait_are_drained_and_the_others_are_left(store: MemoryStore, clock: VirtualClock) -> None:
    attempts: list[int] = []

    def stubborn() -> None:
        attempts.append(current_job().attempt)
        raise Retry(delay=0 if len(attempts) < 3 else 5)

    job_id = push(store)
    bench = bench_of(spec_of(stubborn, retry=RetryPolicy(retries=3)))
    assert drain(store, bench) == 3
    assert state(store, job_id) == "scheduled"
    clock.advance(5)
    assert drain(store, bench) == 1
    assert state(store, job_id) == "failed"
    assert attempts == [1, 2, 3, 4]


def test_a_limit_is_a_limit(store: MemoryStore) -> None:
    ids = [push(store) for _ in range(3)]
    assert drain(store, bench_of(lambda: None), most=0) == 0
    assert drain(store, bench_of(lambda: None), most=2) == 2
    assert [state(store, job_id) for job_id in ids] == ["succeeded", "succeeded", "ready"]


def test_only_the_named_queues_are_drained(store: MemoryStore) -> None:
    mine, other = push(store, queue="mine"), push(store, queue="other")
    assert drain(store, bench_of(lambda: None), ["mine"]) == 1
    assert (state(store, mine), state(store, other)) == ("succeeded", "ready")


def test_a_snooze_with_no_wait_cannot_run_for_ever_under_a_limit(store: MemoryStore) -> None:
    def again() -> None:
        raise Snooze(0)

    push(store)
    assert drain(store, bench_of(again), most=7) == 7


def test_async_tasks_share_a_loop_but_no_context(store: MemoryStore) -> None:
    mark: contextvars.ContextVar[str] = contextvars.ContextVar("mark", default="clean")
    seen: list[Any] = []

    async def look() -> None:
        seen.append((mark.get(), asyncio.get_running_loop()))
        mark.set("dirty")

    for _ in range(2):
        push(store)
    drain(store, bench_of(look))
    assert [before for before, _ in seen] == ["clean", "clean"]
    assert seen[0][1] is seen[1][1]
    assert seen[0][1].is_closed()


def test_the_loop_is_closed_even_if_the_store_fails_at_the_end(store: MemoryStore) -> None:
    loops: list[asyncio.AbstractEventLoop] = []

    async def look() -> None:
        loops.append(asyncio.get_running_loop())

    push(store)
    troubled = TroubledStore(store)
    troubled.trouble["leave"] = StoreUnavailable("the disk is full")
    with pytest.raises(StoreUnavailable):
        drain(troubled, bench_of(look))  # type: ignore[arg-type]
    assert loops[0].is_closed()


@pytest.mark.parametrize("is_async", [False, True])
def test_an_interrupt_hands_the_job_back_and_passes_on(store: MemoryStore, is_async: bool) -> None:
    def interrupted() -> None:
        signal.raise_signal(signal.SIGINT)
        threading.Event().wait(5)

    async def ainterrupted() -> None:
        signal.raise_signal(signal.SIGINT)
        await asyncio.Event().wait()

    job_id = push(store)
    with pytest.raises(KeyboardInterrupt):
        drain(store, bench_of(ainterrupted if is_async else interrupted))
    found = record(store, job_id)
    assert (found.state, found.failures, found.crashes) == ("ready", 0, 0)


def test_progress_is_written_at_once(store: MemoryStore) -> None:
    seen: list[Any] = []

    def work() -> None:
        current_job().progress(0.5, "half")
        seen.append(record(store, current_job().id).progress)

    push(store)
    drain(store, bench_of(work))
    assert seen == [0.5]


def test_a_drain_whose_lease_was_lost_stops_loudly(store: MemoryStore, clock: VirtualClock) -> None:
    """The job was rescued meanwhile: its verdict is refused, and whoever drains is told."""

    def sleep_too_long() -> None:
        clock.advance(60)
        store.rescue()

    job_id = push(store)
    with pytest.raises(LeaseLost, match=f"the verdict on job {job_id} was refused"):
        drain(store, bench_of(sleep_too_long))
    assert state(store, job_id) == "ready"


def test_a_run_that_stops_early_because_the_lease_was_lost_is_not_taken_for_done(
    live_store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I12: the store was away for as long as a lease is trusted; nobody else has taken the job yet."""
    monkeypatch.setattr(draining, "_LEASE_S", 0.5)
    troubled = TroubledStore(live_store)

    def heed() -> str:
        troubled.trouble["beat"] = StoreUnavailable("the disk is full")
        wait_until(current_job().is_cancelled, "being told")
        troubled.trouble.clear()
        return "half of it"

    job_id = push(troubled)
    assert drain(troubled, bench_of(heed), most=1) == 1  # type: ignore[arg-type]
    assert state(live_store, job_id) == "ready"


def test_a_job_that_cannot_be_read_is_not_tried_twice(store: MemoryStore) -> None:
    """Trap 7"""
    bad = msgspec.structs.replace(job_of(), envelope=b"")
    store.push([bad])
    assert drain(store, bench_of(lambda: None)) == 1
    assert drain(store, bench_of(lambda: None)) == 0
    found = record(store, bad.id)
    assert (found.state, found.reason, found.deliveries) == ("failed", "payload cannot be read", 1)
    assert "envelope" in (found.error or "")


def test_one_bad_job_does_not_keep_the_others_from_running(store: MemoryStore) -> None:
    """Trap 26"""
    bad = msgspec.structs.replace(job_of(), envelope=b"\xc1")
    good = [job_of(), job_of()]
    store.push([good[0], bad, good[1]])
    assert drain(store, bench_of(lambda: None)) == 3
    assert [state(store, job.id) for job in good] == ["succeeded", "succeeded"]
