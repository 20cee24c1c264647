"""The virtual clock moves when told, forwards only, and wakes who sleeps by it."""

import math
import threading
import time
from datetime import UTC, datetime, timedelta, timezone

import pytest

from holdfast import Holdfast, InvalidInput
from holdfast.testing import VirtualClock, isolated

NOON = datetime(2030, 5, 17, 12, tzinfo=UTC)


def test_a_clock_stands_still_until_it_is_told_to_move() -> None:
    clock = VirtualClock(NOON)
    assert clock() == clock() == round(NOON.timestamp() * 1_000_000)
    assert clock.now == NOON


def test_a_clock_starts_at_the_present_unless_told_otherwise() -> None:
    before = time.time_ns() // 1000
    assert before <= VirtualClock()() <= time.time_ns() // 1000


def test_advancing_takes_seconds_and_timedeltas_to_the_microsecond() -> None:
    clock = VirtualClock(NOON)
    assert clock.advance(0.25) == NOON + timedelta(milliseconds=250)
    assert clock.advance(timedelta(days=3, microseconds=1)) == clock.now
    assert clock.now == NOON + timedelta(days=3, milliseconds=250, microseconds=1)


def test_moving_to_a_moment_in_another_zone_gives_the_same_moment_in_utc() -> None:
    clock = VirtualClock(NOON)
    clock.move_to(datetime(2030, 5, 18, 1, tzinfo=timezone(timedelta(hours=5))))
    assert clock.now == datetime(2030, 5, 17, 20, tzinfo=UTC)
    assert clock.now.tzinfo is UTC


@pytest.mark.parametrize("duration", [-1, -0.001, math.nan, math.inf, timedelta(seconds=-1), "60", True, None])
def test_a_senseless_duration_is_refused_in_one_sentence_and_the_clock_stays(duration: object) -> None:
    clock = VirtualClock(NOON)
    with pytest.raises(InvalidInput, match="expected the duration to advance by to be") as refused:
        clock.advance(duration)  # type: ignore[arg-type]
    assert "\n" not in str(refused.value)
    assert clock.now == NOON


def test_a_moment_in_the_past_is_refused_and_the_clock_stays() -> None:
    clock = VirtualClock(NOON)
    with pytest.raises(InvalidInput, match="a clock does not go backwards: it is 2030-05-17 12:00"):
        clock.move_to(NOON - timedelta(microseconds=1))
    assert clock.now == NOON


def test_a_moment_without_a_zone_is_refused() -> None:
    naive = NOON.replace(tzinfo=None)
    with pytest.raises(InvalidInput, match="without a zone"):
        VirtualClock(NOON).move_to(naive)
    with pytest.raises(InvalidInput, match="without a zone"):
        VirtualClock(naive)


def test_a_hearer_is_told_of_moves_as_long_as_the_block_lasts() -> None:
    clock, heard = VirtualClock(NOON), list[datetime]()
    with clock.telling(lambda: heard.append(clock.now)):
        clock.advance(1)
        clock.move_to(NOON + timedelta(seconds=2))
    clock.advance(1)
    assert heard == [NOON + timedelta(seconds=1), NOON + timedelta(seconds=2)]


def test_a_worker_that_sleeps_until_a_job_is_due_wakes_when_the_clock_gets_there() -> None:
    app, ran = Holdfast(), threading.Event()

    @app.task(name="shop.ring", delay=3600)
    def ring() -> None:
        ran.set()

    with isolated(app) as clock, app.worker(threads=1, lease=timedelta(days=1)):
        job = ring.enqueue()
        assert not ran.wait(0.05), "an hour has not passed"
        clock.advance(3600)
        assert job.wait(5)
    assert ran.is_set()


def test_isolating_leaves_the_app_as_it_was() -> None:
    app = Holdfast("sqlite:////nowhere/never-opened.db")
    with isolated(app) as clock:
        assert (app.url, app.clock) == ("memory://", clock)
        store = app.store
        assert store.now() == clock()
    assert (app.url, app.clock) == ("sqlite:////nowhere/never-opened.db", None)
    clock.advance(1)  # nobody listens any more, least of all the store the app is configured for
