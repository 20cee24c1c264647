"""How the store thread of a worker sees to the hooks of drained queues: round by round, with a child stood in for."""

from collections.abc import Iterator
from typing import Any, cast

import pytest

from holdfast.errors import StoreUnavailable
from holdfast.model.queue import Drained, QueuePolicy
from holdfast.model.verdict import done
from holdfast.store.memory.store import MemoryStore
from holdfast.testing.contract.sample_jobs import claimed, enlisted, job, pushed
from holdfast.worker.crew import Crew
from holdfast.worker.messages import Hook, Slot, Written
from holdfast.worker.plan import Plan
from holdfast.worker.storekeeper import Storekeeper
from holdfast.worker.vitals import Vitals
from tests.process.processes import until
from tests.unit.worker.test_crew import StandIn, crew_of

FIRST = Drained("crawl", 1)


class Child(StandIn):
    """A child for which every task is one of its main thread."""

    def slot_of(self, _: object) -> Slot:
        return "main"

    def _held(self, _: Slot) -> int:
        return len(self.given)


class Bench:
    """A store thread that is turned by hand, its crew of one child, and a store with a queue that has a hook."""

    def __init__(self) -> None:
        self.child = Child()
        self.crew: Crew = crew_of(self.child)
        self.store = MemoryStore()
        self.store.queues.set_policy("crawl", QueuePolicy(tells_drained=True))
        self.keeper = Storekeeper(
            self.store,
            self.crew,
            Plan("app", is_burst=True),
            tasks=["shop.send"],
            hooked=["crawl"],
            on_renewed=lambda _: None,
            on_news=lambda: None,
            vitals=Vitals(10),
            tally=None,
        )
        self.store.enlist(self.keeper._record)  # a lease that nobody beats for lasts longer than a test
        self.keeper.tick()  # the first looks at everything

    def run_job(self) -> None:
        """Let the child be given a job and end it."""
        self.keeper.tick()
        (claim,) = self.child.given
        self.child.end(claim.id)
        self.crew.post(verdicts=[done(claim)])

    def write(self, written: Written) -> None:
        self.crew.take_written(cast("Any", self.child), written)

    def is_over(self) -> bool:
        """What a burst asks."""
        return self.crew.is_quiet() and self.keeper.found_nothing


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.store.close()


def test_a_child_is_asked_for_the_hook_in_the_round_that_settles_the_last_job(bench: Bench) -> None:
    pushed(bench.store, "crawl")
    bench.run_job()
    assert bench.child.told == []
    bench.keeper.tick()
    assert bench.child.told == [Hook(FIRST)]


def test_what_it_writes_is_pushed_claimed_in_the_same_round_and_noted(bench: Bench) -> None:
    pushed(bench.store, "crawl")
    bench.run_job()
    bench.keeper.tick()
    bench.write(Written(FIRST, job(id="hook")))
    bench.keeper.tick()
    assert [claim.id for claim in bench.child.given] == ["hook"]
    assert bench.store.queues.find_drained(["crawl"]) == []


def test_a_burst_is_not_over_before_the_hook_was_looked_for_written_and_run(bench: Bench) -> None:
    bench.keeper.tick()
    assert bench.is_over(), "nothing was to do"
    pushed(bench.store, "crawl")
    bench.run_job()
    assert not bench.is_over()
    bench.keeper.tick()
    assert not bench.keeper.found_nothing, "it has yet to be seen what the drain brings about"
    bench.keeper.tick()
    assert not bench.is_over(), "a child writes"
    bench.write(Written(FIRST, job(id="hook")))
    assert not bench.is_over(), "it was not pushed yet"
    bench.run_job()
    assert not bench.is_over()
    bench.keeper.tick()
    bench.keeper.tick()
    assert bench.is_over()


def test_a_burst_is_not_over_in_the_round_that_takes_jobs_back_from_the_dead(bench: Bench) -> None:
    pushed(bench.store)
    silent = enlisted(bench.store, lease_s=0.05)
    claimed(bench.store, silent)
    until(lambda: not bench.store.inspector.workers()[1:], "its lease has ended")
    bench.keeper._rescue_at = 0.0  # it is time to look after the house
    bench.keeper.tick()
    assert not bench.is_over(), "the job has come back, after the claim found nothing"
    bench.run_job()
    bench.keeper.tick()
    assert bench.is_over()


def test_a_look_that_fails_is_taken_again(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> list[Drained]:
        raise StoreUnavailable("the disk is full")

    pushed(bench.store, "crawl")
    bench.run_job()
    with monkeypatch.context() as patch:
        patch.setattr(bench.store.queues, "find_drained", fail)
        with pytest.raises(StoreUnavailable):
            bench.keeper.tick()
    bench.keeper.tick()
    assert bench.child.told == [Hook(FIRST)]


def test_a_push_that_fails_is_made_again(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise StoreUnavailable("the disk is full")

    bench.write(Written(FIRST, job(id="hook")))
    with monkeypatch.context() as patch:
        patch.setattr(bench.store, "push", fail)
        with pytest.raises(StoreUnavailable):
            bench.keeper.tick()
    bench.keeper.tick()
    assert bench.store.inspector.get("hook") is not None


def test_a_hook_that_could_not_be_written_down_is_asked_for_again(bench: Bench) -> None:
    pushed(bench.store, "crawl")
    bench.run_job()
    bench.keeper.tick()
    bench.write(Written(FIRST))
    bench.keeper.tick()
    assert bench.store.queues.find_drained(["crawl"]) == [FIRST], "nobody has acted on it"
    bench.keeper._rescue_at = 0.0  # upkeep is due
    bench.keeper.tick()
    assert bench.child.told == [Hook(FIRST)] * 2


def test_queues_without_a_hook_are_not_looked_at(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    pushed(bench.store, "mail")
    monkeypatch.setattr(bench.store.queues, "find_drained", None)
    bench.run_job()
    bench.keeper._rescue_at = 1e18
    bench.keeper.tick()
    assert bench.child.told == []


def test_upkeep_finds_what_others_have_drained(bench: Bench) -> None:
    pushed(bench.store, "crawl")
    bench.store.settle([done(claimed(bench.store, queue="crawl"))])
    bench.keeper._rescue_at = 1e18
    bench.keeper.tick()
    assert bench.child.told == []
    bench.keeper._rescue_at = 0.0
    bench.keeper.tick()
    assert bench.child.told == [Hook(FIRST)]
