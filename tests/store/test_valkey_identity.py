"""What only the Redis/Valkey store has to get right about keys and bounds: ids that two steps give, lost answers, bells."""

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from holdfast.model.query import Query
from holdfast.model.queue import QueuePolicy
from holdfast.model.verdict import done
from holdfast.policy.moments import SECOND
from holdfast.store.redis import bell, pushing
from holdfast.store.redis.store import RedisStore
from holdfast.testing.contract.background_call import Call
from holdfast.testing.contract.sample_jobs import (
    claimed,
    claimed_ids,
    enlisted,
    job,
    jobs,
    pushed,
    record,
    retry,
    state,
)
from holdfast.testing.contract.virtual_clock import VirtualClock
from tests.support.lost_answers import lose_answers
from tests.support.on_valkey import *  # noqa: F403 - fixtures
from tests.support.on_valkey import Pair


def known_ids(store: RedisStore) -> set[str]:
    """List the ids that the house knows."""
    return {key.decode() for key in store._link.ask(("HKEYS", store._link.keys.in_house("ids")))[0]}


def size_of(store: RedisStore, key: str) -> Any:
    return store._link.ask(("ZCARD", store._link.keys.in_queue("default", key)))[0]


def decisions(store: RedisStore, *new: Any) -> list[str]:
    return [answer.decision for answer in store.push(new)]


# --- what is kept out leaves nothing behind -------------------------------------------------------------------------


def test_the_house_forgets_the_ids_of_what_was_kept_out(store: RedisStore, clock: VirtualClock) -> None:
    """I30"""
    store.queues.set_policy("default", QueuePolicy(max_size=1))
    first = pushed(store, key="k")
    assert decisions(store, job(key="k"), job(key="k", on_conflict="reject"), job()) == ["merged", "refused", "refused"]
    assert known_ids(store) == {first}
    clock.advance(61)
    store.tidy()
    assert size_of(store, "gone") == 0, "the marks go, too"


def test_a_push_that_looked_before_an_id_was_freed_stores_it_where_the_house_knows_it(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I3: two pushes of one id at the same moment, of which one is kept out by its key."""
    here, there = pair
    holder, twin = pushed(here, key="k"), job()
    real = pushing._store
    meanwhile: list[Callable[[], object]] = [lambda: there.push([job(id=twin.id, key="k")])]

    def interrupted(*given: Any) -> Any:
        if meanwhile:
            meanwhile.pop()()
        return real(*given)

    monkeypatch.setattr(pushing, "_store", interrupted)
    assert decisions(here, twin) == ["created"]
    assert known_ids(here) == {holder, twin.id}
    assert decisions(there, twin) == ["duplicate"]
    assert len(here.inspector.find(Query())) == 2


# --- answers that were lost -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", [1, 2])
def test_a_replacement_whose_answer_was_lost_replaces_once(
    store: RedisStore, monkeypatch: pytest.MonkeyPatch, which: int
) -> None:
    """I3: of the two steps of a push, the first or the second."""
    first, second = pushed(store, key="k"), job(key="k", on_conflict="replace")
    lose_answers(monkeypatch, 1, after=which - 1)
    assert decisions(store, second) == ["created"]
    assert [state(store, one) for one in (first, second.id)] == ["cancelled", "ready"]


def test_a_merge_whose_answer_was_lost_is_a_merge(store: RedisStore, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = pushed(store, key="k"), job(key="k", priority=3)
    lose_answers(monkeypatch, 1, after=1)
    answer = store.push([second])[0]
    assert (answer.id, answer.decision) == (first, "merged")
    assert known_ids(store) == {first}


def test_a_success_whose_answer_was_lost_frees_the_key_once(store: RedisStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """I23: the successor that took the key over keeps it."""
    pushed(store, key="k")
    claim = claimed(store)
    heir = pushed(store, key="k", runs_after=True)
    lose_answers(monkeypatch, 1)
    assert store.settle([done(claim)]) == []
    assert store.push([job(key="k")])[0].id == heir


# --- told to other machines -----------------------------------------------------------------------------------------


def test_room_made_on_one_machine_wakes_a_producer_on_another(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bell, "LOOK_S", 60.0)
    here, there = pair
    here.queues.set_policy("default", QueuePolicy(max_size=1, on_full="block"))
    pushed(here)
    waiting = Call(lambda: here.wait_for_room("default", 60))
    _until_asleep(here._bells.over)
    claimed(there)
    assert waiting.result(5)


def test_a_job_that_got_in_because_another_was_cancelled_wakes_a_waiter(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bell, "LOOK_S", 60.0)
    here, there = pair
    here.queues.set_policy("default", QueuePolicy(max_size=1, on_full="spill"))
    later = pushed(here, delay_us=3600 * SECOND)
    assert decisions(here, job()) == ["spilled"]
    waiter = Call(lambda: here.wait(["default"], 60))
    _until_asleep(here._bells.work)
    there.operator.cancel([later])
    waiter.result(5)


def test_a_successor_whose_holder_was_deleted_wakes_a_waiter(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bell, "LOOK_S", 60.0)
    here, there = pair
    first = pushed(here, key="k")
    claim = claimed(here)
    pushed(here, key="k", runs_after=True)
    here.settle([retry(claim, 3600)])
    waiter = Call(lambda: here.wait(["default"], 60))
    _until_asleep(here._bells.work)
    there.operator.delete([first])
    waiter.result(5)


def test_replacing_a_running_job_rouses_its_worker(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that it beats, and learns of it, at once."""
    monkeypatch.setattr(bell, "LOOK_S", 60.0)
    here, there = pair
    pushed(here, key="k")
    claimed(here)
    waiter = Call(lambda: here.wait(["default"], 60))
    _until_asleep(here._bells.work)
    assert decisions(there, job(key="k", on_conflict="replace")) == ["created"]
    waiter.result(5)


def _until_asleep(one: bell.Bell) -> None:
    """Wait until somebody sleeps, and hears."""
    deadline = time.monotonic() + 5
    while not (one._sleepers and one._listening.is_set()):
        assert time.monotonic() < deadline
        threading.Event().wait(0.001)


# --- slices ---------------------------------------------------------------------------------------------------------


def test_when_a_bound_is_lifted_spilled_jobs_get_in_by_and_by(store: RedisStore) -> None:
    worker = enlisted(store)
    store.queues.set_policy("default", QueuePolicy(max_size=1, on_full="spill"))
    store.push(jobs(2501))
    store.queues.set_policy("default", QueuePolicy())
    assert size_of(store, "spilled") == 1500, "a step lets in a thousand"
    taken = 0
    while found := claimed_ids(store, worker, limit=2000):
        taken += len(found)
    assert taken == 2501
    assert store._link.ask(("HEXISTS", store._link.keys.in_queue("default", "meta"), "bounds"))[0] == 0


def test_successes_are_forgotten_when_they_are_past_their_term(store: RedisStore, clock: VirtualClock) -> None:
    worker = enlisted(store, lease_s=1000)
    store.push([job(key=f"k{number}", keep_done_s=10) for number in range(3)])
    held = pushed(store, key="held", priority=-1)
    store.settle([done(claim) for claim in store.claim(worker, ["default"], 3)])
    entries = ("HLEN", store._link.keys.in_queue("default", "holders"))
    assert store._link.ask(entries)[0] == 4
    clock.advance(11)
    store.tidy()
    assert store._link.ask(entries)[0] == 1
    assert (record(store, held).key, size_of(store, "terms")) == ("held", 0)
