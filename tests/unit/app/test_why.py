"""`app.why(job_id)`: what is looked up in a real store, for every way in which it holds a job back."""

import asyncio

import pytest

from holdfast import Holdfast, JobNotFound
from holdfast.model.queue import Breaker, Limits, QueuePolicy, Rate
from holdfast.model.verdict import Verdict, done
from holdfast.model.why import Why
from holdfast.policy.moments import SECOND
from holdfast.store.protocol import Store
from holdfast.testing.contract.sample_jobs import (
    claimed,
    claimed_ids,
    enlisted,
    failed,
    jobs,
    pushed,
    retry,
    run_to,
    unknown_task,
)
from holdfast.testing.contract.virtual_clock import VirtualClock

ONE_AT_A_TIME = Limits(max_running=1)


@pytest.fixture
def store(app: Holdfast) -> Store:
    return app.store


@pytest.fixture
def worker(store: Store) -> str:
    return enlisted(store, lease_s=1000)


def kinds(answer: Why) -> list[str]:
    return [reason.kind for reason in answer.reasons]


def test_a_job_that_nothing_holds_back_is_next(app: Holdfast, store: Store, worker: str) -> None:
    assert kinds(app.why(pushed(store))) == ["next"], worker


def test_one_among_others_is_told_how_many(app: Holdfast, store: Store, worker: str) -> None:
    store.push(jobs(3, lane="a"))
    reason = app.why(pushed(store, lane="a")).reasons[0]
    assert (reason.kind, "one of 4 ready jobs of lane a of queue default" in reason.sentence) == ("queued", True), (
        worker
    )


def test_a_running_job_is_told_by_its_worker(app: Holdfast, store: Store, worker: str) -> None:
    job_id = pushed(store)
    claimed(store, worker)
    assert f"on worker {worker}" in app.why(job_id).reasons[0].sentence


def test_one_whose_worker_is_dead_is_lost_until_it_is_rescued(app: Holdfast, store: Store, clock: VirtualClock) -> None:
    job_id = pushed(store)
    claimed(store, enlisted(store, lease_s=10))
    clock.advance(11)
    assert kinds(app.why(job_id)) == ["lost"]


def test_a_job_that_ends_while_we_look_is_not_lost(
    app: Holdfast, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id, worker = pushed(store), enlisted(store)
    claim, look = claimed(store, worker), store.inspector.workers

    def leave_first() -> object:
        store.settle([done(claim)])
        store.leave(worker)
        return look()

    monkeypatch.setattr(store.inspector, "workers", leave_first)
    assert kinds(app.why(job_id)) == ["succeeded"]


def test_without_a_worker_that_is_told(app: Holdfast, store: Store) -> None:
    job_id = pushed(store)
    assert kinds(app.why(job_id)) == ["no_worker"]
    enlisted(store, tasks=("other",))
    assert kinds(app.why(job_id)) == ["unknown_task"]


@pytest.mark.parametrize("outcome", ["succeeded", "failed", "cancelled", "parked"])
def test_how_it_ended(app: Holdfast, store: Store, outcome: str) -> None:
    assert kinds(app.why(run_to(store, outcome))) == [outcome]


def test_when_it_is_due(app: Holdfast, store: Store, clock: VirtualClock, worker: str) -> None:
    job_id = pushed(store, delay_us=60 * SECOND)
    assert (kinds(app.why(job_id)), app.why(job_id).starts_us) == (["scheduled"], clock.in_s(60)), worker
    clock.advance(60)
    assert kinds(app.why(job_id)) == ["next"]


def test_when_it_is_tried_again(app: Holdfast, store: Store, clock: VirtualClock, worker: str) -> None:
    job_id = pushed(store)
    store.settle([retry(claimed(store, worker), 30, "OSError: away")])
    reason = app.why(job_id).reasons[0]
    assert (reason.kind, reason.until_us) == ("retrying", clock.in_s(30))
    assert "after failure 1: OSError: away" in reason.sentence


def test_pauses(app: Holdfast, store: Store, worker: str) -> None:
    job_id = pushed(store, lane="a")
    store.queues.pause("default")
    store.queues.pause("default", "a")
    assert kinds(app.why(job_id)) == ["queue_paused", "lane_paused"], worker


@pytest.mark.parametrize("place", ["queue", "lane"])
class TestLimits:
    def limit(self, store: Store, place: str, limits: Limits) -> None:
        policy = QueuePolicy(limits=limits) if place == "queue" else QueuePolicy(lane_limits=limits)
        store.queues.set_policy("default", policy)
        store.push(jobs(5, lane="a"))

    def test_full(self, app: Holdfast, store: Store, worker: str, place: str) -> None:
        self.limit(store, place, ONE_AT_A_TIME)
        claimed(store, worker)
        answer = app.why(pushed(store, lane="a"))
        assert (kinds(answer), answer.starts_us) == ([f"{place}_full", "queued"], None)
        assert "is full: 1 of 1 run" in answer.reasons[0].sentence

    def test_limited(self, app: Holdfast, store: Store, clock: VirtualClock, worker: str, place: str) -> None:
        self.limit(store, place, Limits(Rate(10 * SECOND)))
        store.settle([done(claimed(store, worker))])
        answer = app.why(pushed(store, lane="a"))
        assert (kinds(answer), answer.starts_us) == ([f"{place}_limited", "queued"], clock.in_s(10))

    def test_stopped(self, app: Holdfast, store: Store, worker: str, place: str) -> None:
        self.limit(store, place, Limits(Rate(0)))
        assert kinds(app.why(pushed(store, lane="a"))) == [f"{place}_stopped", "queued"], worker

    def test_broken_then_probing(
        self, app: Holdfast, store: Store, clock: VirtualClock, worker: str, place: str
    ) -> None:
        self.limit(store, place, Limits(breaker=Breaker(2, 60 * SECOND)))
        store.settle([failed(claimed(store, worker))])
        store.settle([failed(claimed(store, worker))])
        job_id = pushed(store, lane="a")
        answer = app.why(job_id)
        assert (kinds(answer)[0], answer.starts_us) == (f"{place}_broken", clock.in_s(60))
        clock.advance(60)
        assert kinds(app.why(job_id)) == ["queued"]
        assert len(claimed_ids(store, worker)) == 1
        assert (kinds(app.why(job_id))[0], app.why(job_id).starts_us) == (f"{place}_probing", None)

    def test_slowed(self, app: Holdfast, store: Store, clock: VirtualClock, worker: str, place: str) -> None:
        lane = "a" if place == "lane" else None
        store.push(jobs(1, lane=lane))
        claim = claimed(store, worker)
        store.settle([Verdict(claim.id, claim.token, claim.queue, "snoozed", 5 * SECOND, slows_us=30 * SECOND)])
        answer = app.why(pushed(store, lane=lane))
        assert (kinds(answer)[0], answer.starts_us) == (f"{place}_slowed", clock.in_s(30))


class TestWaiting:
    def test_it_names_the_job_of_its_key_that_runs(self, app: Holdfast, store: Store, worker: str) -> None:
        first = pushed(store, key="k")
        claimed(store, worker)
        store.push(jobs(3))
        second = pushed(store, key="k", runs_after=True)
        (reason,) = app.why(second).reasons
        assert (reason.kind, f"for job {first} of the same key" in reason.sentence) == ("waiting", True)

    def test_or_that_is_to_be_tried_again_however_many_came_since(
        self, app: Holdfast, store: Store, worker: str
    ) -> None:
        first = pushed(store, key="k")
        claim = claimed(store, worker)
        second = pushed(store, key="k", runs_after=True)
        store.settle([retry(claim, 60)])
        store.push(jobs(1500))
        assert app.why(second).reasons[0].remedy == f"holdfast why {first}"


def test_a_parked_job_that_a_live_worker_knows_is_taken_up(app: Holdfast, store: Store) -> None:
    job_id = pushed(store)
    store.settle([unknown_task(claimed(store, enlisted(store, tasks=("other",))))])
    assert app.why(job_id).reasons[0].remedy is not None
    worker = enlisted(store)
    assert f"worker {worker} knows it by now" in app.why(job_id).reasons[0].sentence


def test_an_unknown_id_is_answered_with_what_may_have_become_of_it(app: Holdfast) -> None:
    with pytest.raises(JobNotFound, match="no job nope is in the store: it was never enqueued, is past its retention"):
        app.why("nope")


def test_it_can_be_awaited(app: Holdfast) -> None:
    assert kinds(asyncio.run(app.awhy(pushed(app.store)))) == ["no_worker"]
