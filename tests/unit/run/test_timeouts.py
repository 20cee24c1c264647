"""Limits in the main thread, in other threads and on the event loop: in time, once, and without a trace afterwards."""

import asyncio
import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from holdfast.errors import TaskTimeout
from holdfast.run.timeouts import alimit, limit
from holdfast.testing.contract.background_call import Call

LONG_S = 60.0


def block() -> None:
    """Block for ever, where a signal gets through but no other thread does: as a system call."""
    threading.Event().wait(LONG_S)


def blink() -> None:
    """Work for ever, in steps: as Python code does."""
    event = threading.Event()
    while True:
        event.wait(0.005)


def limited(seconds: float | None, act: Callable[[], object]) -> None:
    with limit(seconds):
        act()


@pytest.fixture
def handler() -> Iterator[list[int]]:
    """Somebody's own handler for SIGALRM, and the signals it got. Whatever alarm the test run has is put back."""
    rung: list[int] = []
    left = signal.setitimer(signal.ITIMER_REAL, 0)
    former = signal.signal(signal.SIGALRM, lambda number, _frame: rung.append(number))
    yield rung
    signal.signal(signal.SIGALRM, former)
    signal.setitimer(signal.ITIMER_REAL, *left)


def test_half_a_second_is_half_a_second_in_the_main_thread() -> None:
    """Trap 36"""
    began = time.monotonic()
    with pytest.raises(TaskTimeout, match=r"longer than its timeout of 0\.5 s; give it a longer one"):
        limited(0.5, block)
    assert 0.49 < time.monotonic() - began < 5


def test_half_a_second_is_half_a_second_in_another_thread() -> None:
    """Trap 36"""
    call = Call(lambda: limited(0.5, blink))
    with pytest.raises(TaskTimeout, match=r"longer than its timeout of 0\.5 s"):
        call.result()
    assert 0.49 < call.took_s < 5


def test_half_a_second_is_half_a_second_on_the_loop() -> None:
    """Trap 36"""

    async def wait() -> None:
        async with alimit(0.5):
            await asyncio.Event().wait()

    began = time.monotonic()
    with pytest.raises(TaskTimeout, match=r"longer than its timeout of 0\.5 s"):
        asyncio.run(wait())
    assert 0.49 < time.monotonic() - began < 5


def test_what_ends_in_time_is_left_alone() -> None:
    limited(LONG_S, int)
    Call(lambda: limited(LONG_S, int)).result()
    limited(None, int)
    assert signal.getitimer(signal.ITIMER_REAL)[0] != pytest.approx(LONG_S, abs=1)  # at most the test run's own


@pytest.mark.parametrize("seconds", [1e-6, 0.02, LONG_S, 100 * 366 * 86_400])
def test_the_main_threads_handler_is_put_back(handler: list[int], seconds: float) -> None:
    ours = signal.getsignal(signal.SIGALRM)
    try:
        limited(seconds, block if seconds < 1 else int)
    except TaskTimeout:
        assert seconds < 1
    assert signal.getsignal(signal.SIGALRM) is ours
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert handler == []


@pytest.mark.parametrize("seconds", [1e-6, 0.01])
def test_somebodys_own_alarm_is_put_back_however_the_block_ends(handler: list[int], seconds: float) -> None:
    signal.setitimer(signal.ITIMER_REAL, LONG_S, 7)
    with pytest.raises(TaskTimeout):
        limited(seconds, block)
    left, interval = signal.getitimer(signal.ITIMER_REAL)
    assert LONG_S - 5 < left <= LONG_S
    assert interval == 7


def test_an_alarm_that_fell_due_meanwhile_rings_afterwards(handler: list[int]) -> None:
    rung = threading.Event()
    signal.signal(signal.SIGALRM, lambda *_: rung.set())
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    with pytest.raises(TaskTimeout):
        limited(0.05, block)
    assert rung.wait(5)


def test_a_limit_that_is_reached_at_the_very_end_hits_nothing_that_follows(handler: list[int]) -> None:
    """The race: over and over a block that ends just when its limit does. What comes after must never be hit."""
    ours = signal.getsignal(signal.SIGALRM)
    for _ in range(300):
        deadline = time.monotonic() + 0.0005
        try:
            with limit(0.0005):
                while time.monotonic() < deadline:
                    pass
        except TaskTimeout:
            pass
        assert signal.getsignal(signal.SIGALRM) is ours
    assert handler == []


def test_the_same_race_in_another_thread() -> None:
    def race() -> list[str]:
        hits = []
        for _ in range(300):
            deadline = time.monotonic() + 0.0005
            try:
                with limit(0.0005):
                    while time.monotonic() < deadline:
                        pass
            except TaskTimeout as error:
                hits.append(str(error))
            sum(range(200))  # what comes after; an exception here fails the test
        return hits

    calls = [Call(race) for _ in range(3)]
    for call in calls:
        assert all("longer than its timeout" in words for words in call.result(30))


def test_threads_have_limits_of_their_own_and_the_nearest_comes_first() -> None:
    """A thread that sleeps for a far limit is woken for a nearer one."""
    release = threading.Event()
    far = Call(lambda: limited(LONG_S, lambda: release.wait(LONG_S)))
    near = Call(lambda: limited(0.05, blink))
    with pytest.raises(TaskTimeout, match=r"0\.05 s"):
        near.result()
    release.set()
    far.result()


def test_a_limit_that_is_swallowed_does_not_come_again() -> None:
    def swallow() -> str:
        with limit(0.02):
            with contextlib.suppress(TaskTimeout):
                blink()
            return "went on"
        return "never"

    assert swallow() == "went on"
    assert Call(swallow).result() == "went on"


def test_the_tasks_own_timeout_error_stays_its_own() -> None:
    async def fail() -> None:
        async with alimit(LONG_S):
            raise TimeoutError("mine")

    with pytest.raises(TimeoutError, match="mine") as caught:
        asyncio.run(fail())
    assert not isinstance(caught.value, TaskTimeout)
