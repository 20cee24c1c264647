"""The small services of a worker, each by its `run_once`: beats, upkeep, notes, and the order of the queues."""

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from holdfast.errors import StoreUnavailable
from holdfast.model.claim import Progress
from holdfast.run.beater import Beater
from holdfast.run.hooks import DrainHooks
from holdfast.run.identity import new_worker
from holdfast.run.notebook import Notebook
from holdfast.run.rotation import Rotation
from holdfast.run.upkeep import Upkeep
from holdfast.store.memory.store import MemoryStore
from holdfast.testing.contract.background_call import DEADLINE_S
from holdfast.testing.contract.sample_jobs import claimed, enlisted, pushed, record, run_to, state
from holdfast.testing.contract.virtual_clock import VirtualClock
from tests.unit.run.making import claim_of, wait_until
from tests.unit.run.troubled import TroubledStore

AWAY = StoreUnavailable("the disk is full")


def ignore(*_: object) -> None:
    """For what a test is not about."""


# --- beats --------------------------------------------------------------------------------------------------


def beater(store: Any, worker: str, lease_s: float = 10, **given: Callable[..., None]) -> Beater:
    return Beater(store, worker, lease_s, **{"on_cancelled": ignore, "on_lost": ignore} | given)


def test_a_beat_renews_the_lease(store: MemoryStore, clock: VirtualClock) -> None:
    worker = enlisted(store)
    clock.advance(9)
    assert beater(store, worker).run_once()
    clock.advance(9)
    assert store.claim(worker, ["default"], 1) == []


def test_a_beat_of_a_dead_worker_says_so(store: MemoryStore, clock: VirtualClock) -> None:
    worker = enlisted(store)
    clock.advance(11)
    assert not beater(store, worker).run_once()


def test_a_beat_tells_which_jobs_were_cancelled(store: MemoryStore) -> None:
    worker = enlisted(store)
    pushed(store)
    claim = claimed(store, worker)
    store.operator.cancel([claim.id])
    told: list[str] = []
    beater(store, worker, on_cancelled=told.extend).run_once()
    assert told == [claim.token]


def test_beats_that_renew_nothing_are_counted(store: MemoryStore, clock: VirtualClock) -> None:
    failures: list[int] = []
    troubled = TroubledStore(store)
    beats = beater(troubled, enlisted(store), on_failed=lambda: failures.append(1))
    beats.run_once()
    assert failures == []
    troubled.trouble["beat"] = AWAY
    beats.run_once()
    assert len(failures) == 1
    del troubled.trouble["beat"]
    clock.advance(11)
    beats.run_once()
    assert len(failures) == 2


def test_a_lease_is_given_up_before_it_ends(store: MemoryStore, caplog: pytest.LogCaptureFixture) -> None:
    """I12: with a store that cannot be reached, for the beat that is too late to be trusted."""
    troubled = TroubledStore(store)
    lost = threading.Event()
    beats = beater(troubled, enlisted(store), lease_s=0.3, on_lost=lost.set)
    troubled.trouble["beat"] = AWAY
    beats.start()
    assert lost.wait(DEADLINE_S)
    assert 2 <= troubled.calls["beat"] <= 10
    assert "cannot renew its lease: the disk is full" in caplog.text
    beats.stop()


def test_an_error_that_nobody_expected_does_not_end_the_beats(
    store: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    """A beater that died silently would let the lease end unseen."""
    troubled = TroubledStore(store)
    beats = beater(troubled, enlisted(store), lease_s=0.6)
    troubled.trouble["beat"] = RuntimeError("a bug")
    beats.start()
    wait_until(lambda: troubled.calls["beat"] >= 1, "the first beat")
    troubled.trouble.clear()
    wait_until(lambda: troubled.calls["beat"] >= 3, "beats after the error")
    beats.stop()
    assert "RuntimeError: a bug" in caplog.text


def test_a_worker_has_a_new_id_every_time() -> None:
    one, two = new_worker(["a"], None, 2.5), new_worker(["a"], ["q"], 2.5)
    assert one.id != two.id
    assert (one.tasks, one.queues, one.lease_us) == (("a",), (), 2_500_000)
    assert two.queues == ("q",)


# --- upkeep -------------------------------------------------------------------------------------------------


def test_upkeep_brings_back_the_jobs_of_the_dead(
    store: MemoryStore, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    """I13"""
    job_id = pushed(store)
    worker = enlisted(store)
    claimed(store, worker)
    clock.advance(11)
    assert Upkeep(store, 60, DrainHooks(store, {})).run_once()
    assert state(store, job_id) == "ready"
    assert f"worker {worker} is dead; 1 of its jobs" in caplog.text


def test_upkeep_runs_only_when_it_is_due(store: MemoryStore) -> None:
    upkeep = Upkeep(store, 60, DrainHooks(store, {}))
    assert upkeep.due_in() == 0
    assert not upkeep.run_once()
    assert 50 < upkeep.due_in() <= 60
    troubled = TroubledStore(store)
    assert not upkeep.run_once()
    assert troubled.calls["rescue"] == 0


def test_upkeep_goes_on_at_once_while_there_is_more(store: MemoryStore, clock: VirtualClock) -> None:
    for _ in range(1001):
        pushed(store, expires_us=clock.in_s(1))
    clock.advance(2)
    upkeep = Upkeep(store, 60, DrainHooks(store, {}))
    assert upkeep.run_once()
    assert upkeep.due_in() == 0
    assert upkeep.run_once()
    assert upkeep.due_in() > 0


def test_upkeep_that_fails_is_put_off_and_says_so(store: MemoryStore, caplog: pytest.LogCaptureFixture) -> None:
    troubled = TroubledStore(store)
    troubled.trouble["rescue"] = AWAY
    upkeep = Upkeep(troubled, 60, DrainHooks(troubled, {}))  # type: ignore[arg-type]
    assert not upkeep.run_once()
    assert upkeep.due_in() > 50
    assert "upkeep was put off: the disk is full" in caplog.text


def test_upkeep_drops_what_is_past_its_term(store: MemoryStore, clock: VirtualClock) -> None:
    job_id = run_to(store, "succeeded", keep_done_s=1)
    clock.advance(2)
    assert Upkeep(store, 60, DrainHooks(store, {})).run_once()
    assert store.inspector.get(job_id) is None


def test_a_hurried_beat_comes_soon_and_many_make_one(store: MemoryStore) -> None:
    troubled, worker = TroubledStore(store), enlisted(store)
    beats = beater(troubled, worker)  # type: ignore[arg-type]
    beats.start()
    began = time.monotonic()
    for _ in range(100):
        beats.hurry()
    while not troubled.calls["beat"]:
        assert time.monotonic() - began < 1
        time.sleep(0.001)
    time.sleep(0.05)
    beats.stop()
    assert 1 <= troubled.calls["beat"] <= 3


# --- notes --------------------------------------------------------------------------------------------------


def test_the_latest_note_of_each_run_is_written_in_one_batch(store: MemoryStore) -> None:
    troubled = TroubledStore(store)
    book = Notebook(troubled, ignore)  # type: ignore[arg-type]
    pushed(store)
    claim = claimed(store)
    for step in range(1000):
        book.put(Progress(claim.id, claim.token, claim.queue, step / 1000, f"step {step}"))
    book.run_once()
    assert (record(store, claim.id).progress, record(store, claim.id).progress_note) == (0.999, "step 999")
    assert troubled.calls["note"] == 1


def test_notes_are_written_ten_times_a_second_at_most(store: MemoryStore) -> None:
    troubled = TroubledStore(store)
    book = Notebook(troubled, ignore)  # type: ignore[arg-type]
    assert book.due_in() is None
    for step in range(100):
        book.put(Progress("id", "token", "default", step / 100))
        book.run_once()
    assert troubled.calls["note"] <= 2
    assert (book.due_in() or 0) > 0
    book.run_once(is_due=True)
    assert book.due_in() is None


def test_who_writes_is_told_of_the_first_note_only() -> None:
    told: list[int] = []
    book = Notebook(MemoryStore(), lambda: told.append(1))
    for _ in range(3):
        book.put(Progress("id", "token", "default", 0.5))
    assert told == [1]


def test_a_note_that_cannot_be_written_harms_nobody(store: MemoryStore, caplog: pytest.LogCaptureFixture) -> None:
    troubled = TroubledStore(store)
    troubled.trouble["note"] = AWAY
    book = Notebook(troubled, ignore)  # type: ignore[arg-type]
    book.put(Progress("id", "token", "default", 0.5))
    book.run_once()
    assert "the progress of 1 runs was not recorded: the disk is full" in caplog.text


# --- the order of the queues --------------------------------------------------------------------------------


def test_a_new_queue_is_news_once_and_only_after_a_claim_came_up_short(store: MemoryStore) -> None:
    pushed(store, queue="first")
    rotation = Rotation(store, None)
    rotation.turn()
    pushed(store, queue="second")
    assert not rotation.has_news()
    rotation.saw([], 1)
    assert rotation.has_news()
    assert sorted(rotation.turn()) == ["first", "second"]
    rotation.saw([], 1)
    assert not rotation.has_news()
    assert not Rotation(store, ["first"]).has_news()


def test_each_queue_comes_first_in_its_turn(store: MemoryStore) -> None:
    rotation = Rotation(store, ["a", "b", "c"])
    turns = [rotation.turn() for _ in range(4)]
    assert turns == [["b", "c", "a"], ["c", "a", "b"], ["a", "b", "c"], ["b", "c", "a"]]


def test_a_worker_for_all_queues_learns_of_new_ones_when_a_claim_comes_up_short(store: MemoryStore) -> None:
    rotation = Rotation(store, None)
    assert rotation.turn() == []
    pushed(store, "new")
    assert rotation.turn() == ["new"]
    pushed(store, "newer")
    rotation.saw([claim_of()] * 4, 4)
    assert rotation.turn() == ["new"]
    rotation.saw([claim_of()] * 3, 4)
    assert sorted(rotation.turn()) == ["new", "newer"]


def test_a_full_queue_does_not_starve_another(store: MemoryStore) -> None:
    for _ in range(20):
        pushed(store, "full")
    last = pushed(store, "thin")
    worker, rotation = enlisted(store), Rotation(store, None)
    taken = [store.claim(worker, rotation.turn(), 1)[0].id for _ in range(2)]
    assert last in taken
