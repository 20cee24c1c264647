"""What only the Redis/Valkey store has to get right between machines: one server, many clients, and what breaks."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import pytest

from holdfast.errors import StoreError, StoreUnavailable
from holdfast.model.query import Query
from holdfast.model.verdict import done, released
from holdfast.store.redis import bell
from holdfast.store.redis.store import RedisStore
from holdfast.testing.contract.background_call import Call
from holdfast.testing.contract.sample_jobs import claimed, claimed_ids, enlisted, job, jobs, pushed, record, state
from tests.support.lost_answers import lose_answers
from tests.support.on_valkey import *  # noqa: F403 - fixtures
from tests.support.on_valkey import Pair
from tests.support.servers_valkey import ValkeyServer, shared_server


@pytest.fixture
def store(pair: Pair) -> RedisStore:
    return pair[0]


@pytest.fixture
def own() -> Iterator[tuple[ValkeyServer, RedisStore]]:
    """A server of one's own, that keeps everything and may be broken, with a store on it."""
    server = ValkeyServer("--appendonly", "yes", "--appendfsync", "always")
    opened = RedisStore.open(server.url, where=server.url, tier="durable")
    yield server, opened
    opened.close()
    server.stop()


# --- two machines -------------------------------------------------------------------------------------------


def test_claims_of_two_machines_and_many_threads_share_no_job(pair: Pair) -> None:
    """I9"""
    batch = jobs(600)
    pair[0].push(batch)

    def drain(at: RedisStore) -> list[str]:
        worker, taken = enlisted(at), list[str]()
        while found := claimed_ids(at, worker, limit=7):
            taken += found
        return taken

    calls = [Call(lambda at=at: drain(at)) for at in pair * 3]  # type: ignore[misc]
    taken = [job_id for call in calls for job_id in call.result()]
    assert len(taken) == 600
    assert set(taken) == {new.id for new in batch}


def test_a_push_of_one_machine_wakes_a_waiter_of_another_at_once(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bell, "LOOK_S", 60.0)
    here, there = pair
    worker, took_ms = enlisted(here), list[float]()
    for _ in range(21):
        waiter = Call(lambda: here.wait(["q"], 60.0))
        _until(lambda: _is_asleep(here))
        began = time.perf_counter()
        there.push([job("q")])
        waiter.result()
        took_ms.append((time.perf_counter() - began) * 1000)
        assert here.settle([done(claimed(here, worker, "q"))]) == []
    assert median(took_ms) < 10


def test_a_job_that_ends_on_one_machine_is_told_to_who_watches_it_on_another(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bell, "LOOK_S", 60.0)
    here, there = pair
    job_id = pushed(there)
    claim = claimed(there)
    watcher = Call(lambda: here.inspector.watch([job_id], 60.0))
    _until(lambda: here._bells.over._sleepers > 0 and here._bells.over._listening.is_set())
    there.settle([done(claim)])
    assert watcher.result() == [job_id]


def test_what_one_machine_does_to_a_job_another_sees_at_once(pair: Pair) -> None:
    here, there = pair
    job_id = pushed(here)
    worker = enlisted(there)
    claim = claimed(there, worker)
    assert here.operator.cancel([job_id]) == {job_id: "asked"}
    assert there.beat(worker).cancelled == (claim.token,)
    assert here.operator.dismiss([worker]) == [worker]
    assert there.beat(worker).must_leave


@pytest.mark.parametrize("wish", ["cancel", "dismiss"])
def test_a_wish_of_one_machine_ends_the_waits_of_workers_on_another(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, wish: str
) -> None:
    """So that they beat, and learn of it, at once."""
    monkeypatch.setattr(bell, "LOOK_S", 60.0)
    here, there = pair
    worker, job_id = enlisted(here), pushed(here)
    claimed(here, worker)
    waiter = Call(lambda: here.wait(["q"], 60.0))
    _until(lambda: _is_asleep(here))
    if wish == "cancel":
        there.operator.cancel([job_id])
    else:
        there.operator.dismiss([worker])
    waiter.result()


# --- forks --------------------------------------------------------------------------------------------------


def test_a_forked_child_and_its_parent_both_go_on(store: RedisStore) -> None:
    store.push([job("q")])
    assert _in_a_child(lambda: store.push([job("q")])) == 0
    store.push([job("q")])
    assert _counts(store, "q") == {"ready": 3}


def test_a_child_forked_while_others_push_and_wait_can_do_both(store: RedisStore) -> None:
    is_over = threading.Event()

    def push() -> None:
        while not is_over.is_set():
            store.push([job("busy")])

    def act() -> None:
        store.push([job("q")])
        store.wait(["nothing"], 0.02)
        store.wake()
        store.wait(["nothing"], 20.0)

    threads = [threading.Thread(target=push) for _ in range(2)]
    sleeper = Call(lambda: store.wait(["nothing"], 20.0))
    for thread in threads:
        thread.start()
    try:
        codes = [_in_a_child(act) for _ in range(5)]
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
    assert codes == [0] * 5
    assert _counts(store, "q") == {"ready": 5}
    store.wake()
    sleeper.result()


# --- a server that forgets, hangs up, falls over --------------------------------------------------------------


def test_scripts_that_the_server_has_forgotten_are_given_to_it_again(store: RedisStore) -> None:
    worker = enlisted(store)
    for _ in range(3):
        store.push(jobs(2))
        first, second = store.claim(worker, ["default"], 2)
        with shared_server().client() as client:
            client.script_flush()
        assert store.exchange([done(first), done(second)], worker, ["default"], 1) == ([], [])
    assert _counts(store, "default") == {"succeeded": 6}


def test_connections_that_the_server_has_ended_are_replaced_without_a_word(store: RedisStore) -> None:
    worker = enlisted(store)
    for _ in range(3):
        _hang_up("normal")
        store.push([job()])
        _hang_up("normal")
        claim = claimed(store, worker)
        _hang_up("normal")
        assert store.settle([done(claim)]) == []
    assert _counts(store, "default") == {"succeeded": 3}


def test_a_waiter_whose_line_was_cut_is_still_woken(pair: Pair) -> None:
    here, there = pair
    waiter = Call(lambda: here.wait(["q"], 20.0))
    _until(lambda: _is_asleep(here))
    _hang_up("pubsub")
    there.push([job("q")])
    waiter.result(2.0)


@pytest.mark.parametrize("which", range(4))
def test_a_lost_answer_neither_loses_nor_doubles_anything(
    store: RedisStore, monkeypatch: pytest.MonkeyPatch, which: int
) -> None:
    """I3, I10: the server did it, the line broke, the call is sent again. Of push, claim, settle and exchange."""
    steps: list[Callable[[], Any]] = [
        lambda: store.push([first, second]),
        lambda: store.claim(worker, ["default"], 1),
        lambda: store.settle([done(answers[1][0], b"1")]),
        lambda: store.exchange([], worker, ["default"], 5),
    ]
    first, second = jobs(2)
    worker, answers = enlisted(store), list[Any]()
    for place, step in enumerate(steps):
        if place == which:
            lose_answers(monkeypatch, 1)
        answers.append(step())
    created, claims, lost, (_, more) = answers
    assert [answer.decision for answer in created] == ["created", "created"]
    assert [claim.id for claim in claims] == [first.id]
    assert lost == []
    assert [claim.id for claim in more] == [second.id]
    assert record(store, first.id).result == b"1"
    assert record(store, second.id).deliveries == 1


def test_claims_whose_answers_were_all_lost_are_given_to_the_worker_with_its_next_ones_and_once(
    store: RedisStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I9: a job that an answer held which arrived is not given a second time."""
    ids = [pushed(store) for _ in range(4)]
    worker = enlisted(store)
    for _ in range(2):
        with monkeypatch.context() as broken:
            lose_answers(broken, 100)
            with pytest.raises(StoreUnavailable):
                store.claim(worker, ["default"], 3)
    claims = [claimed(store, worker) for _ in range(4)]
    assert [claim.id for claim in claims] == ids
    assert {record(store, job_id).deliveries for job_id in ids} == {1}
    assert store.claim(worker, ["default"], 1) == []
    assert store.settle([done(claim) for claim in claims]) == []


def test_a_claim_handed_back_twice_because_the_answer_was_lost_is_not_reported(
    store: RedisStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = pushed(store)
    claim = claimed(store)
    lose_answers(monkeypatch, 1)
    assert store.settle([released(claim)]) == []
    assert state(store, job_id) == "ready"
    assert store.inspector.history(job_id) == []


def test_what_was_acknowledged_is_there_after_the_server_was_killed(own: tuple[ValkeyServer, RedisStore]) -> None:
    """I1, I32: through a kill -9 of the store; and service resumes by itself."""
    server, store = own
    worker = enlisted(store)
    known: list[str] = []

    def push() -> None:
        while True:
            batch = jobs(10)
            store.push(batch)
            known.extend(new.id for new in batch)

    pusher = Call(push)
    _until(lambda: len(known) > 200)
    claim = claimed(store, worker)
    assert store.settle([done(claim, b"42")]) == []
    held = claimed(store, worker)
    server.kill()
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        pusher.result()
    server.start()
    assert set(known) <= {found.id for found in store.inspector.find(Query(limit=100_000))}
    assert record(store, claim.id).result == b"42"
    assert store.beat(worker).is_alive
    assert store.settle([done(held)]) == []


def test_a_server_without_memory_refuses_jobs_and_lets_work_go_on(own: tuple[ValkeyServer, RedisStore]) -> None:
    """I30, I32"""
    server, store = own
    worker = enlisted(store)
    ids = [pushed(store) for _ in range(3)]
    with server.client() as client:
        client.config_set("maxmemory", "1mb")
    with pytest.raises(StoreError, match=r"out of memory .*claims and verdicts still work"):
        store.push(jobs(10))
    first = claimed(store, worker)
    lost, (second, third) = store.exchange([done(first, b"result")], worker, ["default"], 10)
    assert lost == []
    assert store.settle([done(second), done(third)]) == []
    assert [state(store, job_id) for job_id in ids] == ["succeeded"] * 3
    assert _counts(store, "default") == {"succeeded": 3}
    with server.client() as client:
        client.config_set("maxmemory", "0")
    assert store.push(jobs(1))[0].decision == "created"


def test_a_primary_that_has_become_a_replica_is_unavailable_until_it_is_none(
    own: tuple[ValkeyServer, RedisStore],
) -> None:
    server, store = own
    pushed(store)
    with server.client() as client:
        client.replicaof("127.0.0.1", "1")
        with pytest.raises(StoreUnavailable, match="is a replica and takes no writes"):
            store.push([job()])
        client.replicaof("NO", "ONE")
    pushed(store)
    assert _counts(store, "default") == {"ready": 2}


# --- cost ---------------------------------------------------------------------------------------------------


def test_a_claim_among_many_jobs_does_as_many_steps_as_one_among_few(own: tuple[ValkeyServer, RedisStore]) -> None:
    """Counted in commands that the scripts call, not in seconds."""
    server, store = own
    worker = enlisted(store)
    store.push([job(priority=n % 7) for n in range(100)])
    few = server.commands_of(lambda: store.claim(worker, ["default"], 10))
    store.push([job(priority=n % 7) for n in range(5000)])
    assert server.commands_of(lambda: store.claim(worker, ["default"], 10)) <= few


def _counts(store: RedisStore, queue: str) -> dict[str, int]:
    found = store.queues.get(queue)
    assert found is not None
    return found.counts


def _is_asleep(store: RedisStore) -> bool:
    """Whether somebody waits, and hears."""
    bell = store._bells.work
    return bell._sleepers > 0 and bell._listening.is_set()


def _hang_up(kind: str) -> None:
    with shared_server().client() as client:
        client.execute_command("CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes")


def _in_a_child(act: Callable[[], object]) -> int:
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        code = 1
        try:
            act()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _until(is_so: Callable[[], bool], deadline_s: float = 5.0) -> None:
    deadline = time.monotonic() + deadline_s
    while not is_so():
        assert time.monotonic() < deadline
        threading.Event().wait(0.001)
