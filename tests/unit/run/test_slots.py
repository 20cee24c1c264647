"""Slots, threads and the loop: every run has an end, and every slot comes back."""

import asyncio
import logging
import sys
import threading
from typing import Any

import pytest

from holdfast.policy.retry import RetryPolicy
from holdfast.run.loop import Loop
from holdfast.run.notices import Notices
from holdfast.run.slots import Slots
from holdfast.run.spec import Registry
from holdfast.run.threads import Threads
from holdfast.testing.contract.background_call import Call
from tests.unit.run.making import (
    Gate,
    bench_of,
    claim_of,
    our_threads,
    spec_of,
    wait_until,
)


def ended(slots: Slots) -> list[Any]:
    verdicts: list[Any] = []
    wait_until(lambda: verdicts.extend(slots.finished()) or verdicts, "an end")
    return verdicts


def test_a_slot_comes_back_whatever_the_task_does() -> None:
    """Trap 18"""
    for error in (ValueError("bad"), SystemExit(1), KeyboardInterrupt(), RecursionError()):

        def fail(error: BaseException = error) -> None:
            raise error

        slots = Slots(bench_of(fail), 1, 1, lambda: None)
        slots.start([claim_of()])
        assert slots.free == 0
        assert [verdict.outcome for verdict in ended(slots)] == ["failed"]
        assert slots.free == 1
        slots.stop()


def test_a_failing_runner_is_charged_as_a_crash(caplog: pytest.LogCaptureFixture) -> None:
    """Holdfast's own fault: not the task's failure, and yet it must not go on for ever."""

    def broken_chance() -> float:
        raise OSError("no entropy")

    def fail() -> None:
        raise ValueError

    async def afail() -> None:
        raise ValueError

    for function in (fail, afail):
        spec = spec_of(function, retry=RetryPolicy(retries=1))
        slots = Slots(bench_of(spec, chance=broken_chance), 1, 1, lambda: None)
        slots.start([claim_of()])
        (verdict,) = ended(slots)
        assert (verdict.outcome, verdict.reason) == ("crashed", "crashed")
        assert "the runner failed: OSError: no entropy" in verdict.error
        slots.stop()


def test_a_system_without_threads_gets_its_jobs_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trap 18: a claim that cannot be started is handed back, not held for ever."""

    async def anything() -> None:
        return None

    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    for function in (lambda: None, anything):
        slots = Slots(bench_of(function), 2, 2, lambda: None)
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", refuse)
            with pytest.raises(RuntimeError, match="can't start new thread"):
                slots.start([claim_of(), claim_of()])
        assert [verdict.outcome for verdict in slots.finished()] == ["released", "released"]
        assert (slots.free, slots.running) == (2, [])
        slots.start([claim_of()])
        assert [verdict.outcome for verdict in ended(slots)] == ["done"]
        slots.stop()


def test_threads_that_are_there_take_turns_when_there_are_no_more(monkeypatch: pytest.MonkeyPatch, gate: Gate) -> None:
    slots = Slots(bench_of(gate), 2, 1, lambda: None)
    slots.start([claim_of(1)])
    gate.await_begun()

    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        slots.start([claim_of(2)])
    gate.open.set()
    verdicts = ended(slots)
    wait_until(lambda: len(verdicts) == 2 or verdicts.extend(slots.finished()), "both")
    slots.stop()


def test_a_claim_that_no_thread_has_begun_is_not_begun_after_the_stop(gate: Gate) -> None:
    """It was handed back: begun now, it would run beside its next delivery."""
    verdicts: list[Any] = []
    threads = Threads(bench_of(gate), 1, verdicts.append)
    first, second = claim_of(1), claim_of(2)
    threads.start(first)
    gate.await_begun()
    threads.start(second)
    threads.stop()
    gate.open.set()
    wait_until(lambda: not our_threads(), "the end of the thread")
    assert [verdict.id for verdict in verdicts] == [first.id]


def test_the_loop_survives_what_a_background_task_does_to_it(caplog: pytest.LogCaptureFixture) -> None:
    """A SystemExit in a task that a task left behind ends run_forever; the others must not notice."""

    async def leave_a_bomb() -> None:
        async def explode() -> None:
            raise SystemExit(3)

        asyncio.get_running_loop().create_task(explode()).add_done_callback(asyncio.Task.exception)

    verdicts: list[Any] = []
    loop = Loop(bench_of(leave_a_bomb), Notices(), verdicts.append)
    with caplog.at_level(logging.ERROR, "holdfast.run"):
        for count in (1, 2):
            loop.start(claim_of())
            wait_until(lambda: len(verdicts) == count, "a verdict")  # noqa: B023
        loop.stop()
    assert [verdict.outcome for verdict in verdicts] == ["done", "done"]
    assert "tried to end it" in caplog.text


def test_tasks_declared_while_a_worker_runs_do_not_disturb_it() -> None:
    spec = spec_of(lambda: None)
    specs = {f"task{number}": spec for number in range(100)}
    registry = Registry(specs)
    stop = threading.Event()

    def declare() -> None:
        while not stop.is_set():
            specs["new"] = spec
            stop.is_set()  # a call: here the other thread may get its turn
            del specs["new"]

    former = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        declaring = Call(declare)
        for _ in range(3000):
            assert registry.kinds() == {"sync"}
            assert "task7" in registry.names()
        stop.set()
        declaring.result()
    finally:
        sys.setswitchinterval(former)
