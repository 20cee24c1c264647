"""`RateLimited`: a task that was told to slow down slows its lane, for everybody, and pays nothing for it."""

import pickle
from datetime import timedelta
from typing import Any

import pytest

from holdfast import Holdfast, InvalidInput, RateLimited, RunControl
from holdfast.model.queue import LaneRecord
from holdfast.policy.moments import SECOND
from holdfast.testing.contract.virtual_clock import VirtualClock
from tests.unit.run.test_judge import judged


@pytest.mark.parametrize("retry_after", [30, 30.0, timedelta(seconds=30)])
def test_it_is_judged_as_a_snooze_that_slows_the_lane(retry_after: Any) -> None:
    verdict = judged(RateLimited(retry_after, reason="429"), failures=2)
    assert (verdict.outcome, verdict.delay_us, verdict.slows_us) == ("snoozed", 30 * SECOND, 30 * SECOND)
    assert (verdict.reason, verdict.error) == ("429", None)


@pytest.mark.parametrize("retry_after", [-1, "30", None, float("nan")])
def test_a_senseless_wait_is_judged_as_the_mistake_it_is(retry_after: Any) -> None:
    verdict = judged(RateLimited(retry_after))
    assert (verdict.outcome, verdict.slows_us) == ("retry", 0)
    assert "expected retry_after of RateLimited to be" in (verdict.error or "")


def test_it_can_be_pickled() -> None:
    copy = pickle.loads(pickle.dumps(RateLimited(5, reason="429")))
    assert isinstance(copy, RunControl)
    assert (copy.retry_after, copy.reason) == (5, "429")


class Site:
    """A site that answers the first request with "slow down"."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def fetch(self, url: str) -> str:
        self.seen.append(url)
        if len(self.seen) == 1:
            raise RateLimited(30, reason="429 Too Many Requests")
        return url

    async def afetch(self, url: str) -> str:
        return self.fetch(url)


@pytest.mark.parametrize("how", ["fetch", "afetch"])
def test_it_slows_its_lane_and_no_other(app: Holdfast, clock: VirtualClock, how: str) -> None:
    site = Site()
    task = app.task(name="fetch", lane=lambda url: url[0])(getattr(site, how))
    jobs = app.enqueue_many(task.s(url) for url in ("a1", "a2", "b1"))
    app.drain()
    assert site.seen == ["a1", "b1"]
    record = jobs[0].record()
    assert (record.state, record.failures, record.reason) == ("scheduled", 0, "429 Too Many Requests")
    assert app.queues["default"].lanes() == [LaneRecord("a", 1, 0, "slowed", clock.in_s(30))]
    clock.advance(29.999)
    assert app.drain() == 0
    clock.advance(0.001)
    app.drain()
    assert [job.result(0) for job in jobs] == ["a1", "a2", "b1"]
    assert [run.outcome for run in jobs[0].history()] == ["snoozed", "done"]


def test_without_a_lane_it_slows_the_queue(app: Holdfast, clock: VirtualClock) -> None:
    site = Site()
    task = app.task(name="fetch", queue="crawl")(site.fetch)
    app.enqueue_many(task.s(url) for url in ("a", "b"))
    app.drain()
    assert (site.seen, app.queues["crawl"].record().standing) == (["a"], "slowed")
    assert app.queues["crawl"].resume()
    assert app.drain() == 1, "a person has let it go"


def test_a_worker_goes_on_by_itself_when_the_time_is_over(live: Holdfast) -> None:
    seen: list[str] = []

    def fetch(url: str) -> str:
        seen.append(url)
        if len(seen) == 1:
            raise RateLimited(0.2)
        return url

    task = live.task(name="fetch", lane="a")(fetch)
    with live.worker(threads=1):
        jobs = live.enqueue_many(task.s(url) for url in ("x", "y"))
        assert [job.result(timeout=10) for job in jobs] == ["x", "y"]
    runs = [run for job in jobs for run in job.history()]
    first = next(run for run in runs if run.outcome == "snoozed")
    assert all(run.claimed_us - first.claimed_us >= SECOND // 5 for run in runs if run is not first)


def test_a_consumer_can_say_it_too(app: Holdfast, clock: VirtualClock) -> None:
    task = app.task(name="fetch", queue="crawl", lane=lambda url: url[0])(Site().fetch)
    jobs = app.enqueue_many(task.s(url) for url in ("a1", "a2", "b1"))
    with app.consumer("crawl", lease=3600) as consumer:
        (first,) = consumer.claim()
        assert first.lane == "a"
        with pytest.raises(InvalidInput, match="expected retry_after of RateLimited"):
            first.rate_limited(-1)
        first.rate_limited(30, "429")
        assert [delivery.args for delivery in consumer.claim(10)] == [("b1",)]
        assert (jobs[0].state(), jobs[0].record().reason) == ("scheduled", "429")
        clock.advance(30)
        assert len(consumer.claim(10)) == 2
