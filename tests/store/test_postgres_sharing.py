"""What only the PostgreSQL store has to get right between machines: locks, notices, forks, broken lines, crashes.

Two stores of one process, each with sessions and a listener of its own, are two machines to the server.
"""

import os
import signal
import statistics
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from holdfast.errors import StoreUnavailable
from holdfast.model.query import Query
from holdfast.model.verdict import done
from holdfast.model.worker import WorkerRecord
from holdfast.store.postgres.pushing import Push
from holdfast.store.postgres.store import PostgresStore
from holdfast.testing.contract.background_call import Call
from holdfast.testing.contract.sample_jobs import claimed, enlisted, job, jobs, pushed, state
from tests.support.processes import fork, in_a_child, until
from tests.support.servers_postgres import PostgresServer, empty_url, server

Pair = tuple[PostgresStore, PostgresStore]

OURS = "application_name = 'holdfast'"
LISTENING = "state = 'idle' and query ilike 'listen %'"
HAS_LOOKED = "state = 'idle' and query like '-- Tell a waiter%'"


@pytest.fixture
def pair() -> Iterator[Pair]:
    url = empty_url()
    one, other = PostgresStore.open(url), PostgresStore.open(url)
    yield one, other
    one.close()
    other.close()


@pytest.fixture
def admin() -> Iterator["psycopg.Connection[Any]"]:
    with psycopg.connect(server().url(), autocommit=True) as connection:
        yield connection


@pytest.fixture
def only_bells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nobody look for themselves: what wakes a waiter now is a notice."""
    for module in ("store", "inspector"):
        monkeypatch.setattr(f"holdfast.store.postgres.{module}.LOOK_S", 60.0)


# --- claiming -----------------------------------------------------------------------------------------------


def test_no_job_goes_to_two_machines(pair: Pair) -> None:
    """I9: many threads on both, each with batches that overlap the others'."""
    pair[0].push(jobs(600, "q"))

    def drain(number: int) -> list[str]:
        store = pair[number % 2]
        worker, mine = f"drain-{number}", list[str]()
        store.enlist(WorkerRecord(worker, "here", 1, ("t",)))
        while claims := store.claim(worker, ["q"], 7):
            assert store.settle([done(claim) for claim in claims]) == []
            mine += [claim.id for claim in claims]
        return mine

    with ThreadPoolExecutor(8) as pool:
        shares = list(pool.map(drain, range(8)))
    ids = [job_id for share in shares for job_id in share]
    assert len(ids) == len(set(ids)) == 600
    assert sum(1 for share in shares if share) >= 2
    assert pair[0].queues.get("q").counts == {"succeeded": 600}  # type: ignore[union-attr]


def test_the_jobs_of_a_silent_machine_are_rescued_by_another_and_its_writes_refused(pair: Pair) -> None:
    """I8, I10"""
    job_id = pushed(pair[0])
    worker = enlisted(pair[0], lease_s=0.001)
    until(lambda: not pair[1].inspector.workers())  # the lease has ended; nobody has said so yet
    assert not pair[0].beat(worker).is_alive
    long_lived = enlisted(pair[0])
    claim = claimed(pair[0], long_lived)
    with psycopg.connect(server().url(), autocommit=True) as connection:
        connection.execute("update holdfast.worker set beat_us = 0 where id = %s", (long_lived,))
    assert {dead.worker: dead.jobs for dead in pair[1].rescue()} == {worker: (), long_lived: (job_id,)}
    assert [lost.id for lost in pair[0].settle([done(claim)])] == [job_id]
    assert state(pair[1], job_id) == "ready"


def test_who_ends_a_lease_waits_for_a_claim_under_way_and_a_beat_does_not(
    pair: Pair, admin: "psycopg.Connection[Any]"
) -> None:
    """Else a job could be handed to a worker whose jobs were taken a moment ago, and nobody would bring it back."""
    worker = enlisted(pair[0])
    with admin.transaction():
        admin.execute(pair[0]._statements["hold_lease"], {"worker": worker, "now": None, "queues": []})
        assert Call(lambda: pair[0].beat(worker)).result().is_alive
        assert Call(lambda: pair[1].rescue(now_us=2**60)).result() == []  # passed over; the next one finds it
        leaving = Call(lambda: pair[1].leave(worker))
        until(lambda: _blocked(admin) == 1)
    leaving.result()
    assert not pair[0].beat(worker).is_alive


def test_a_claim_passes_over_a_job_that_someone_else_holds(pair: Pair, admin: "psycopg.Connection[Any]") -> None:
    worker, held, free = enlisted(pair[0]), pushed(pair[0]), pushed(pair[0])
    with admin.transaction():
        admin.execute("select 1 from holdfast.job where id = %s for update", (held,))
        assert Call(lambda: [claim.id for claim in pair[0].claim(worker, ["default"], 10)]).result() == [free]
    assert [claim.id for claim in pair[0].claim(worker, ["default"], 10)] == [held]


def test_an_open_transaction_with_a_push_in_it_blocks_nobody(pair: Pair, admin: "psycopg.Connection[Any]") -> None:
    """I4: what is in it is there when it commits, and not before."""
    store, worker = pair[0], enlisted(pair[0])
    pushed(store)  # the queue is there
    held = job(id="held")
    with admin.transaction():
        Push(store._statements, [held, job("another queue")], None).whole(admin)
        ids = Call(lambda: [pushed(pair[1]), pushed(pair[1], "another queue")]).result()
        claims = Call(lambda: store.claim(worker, ["default", "another queue"], 10)).result()
        assert len(claims) == 3
        assert set(ids) < {claim.id for claim in claims}
        assert Call(lambda: store.settle([done(claim) for claim in claims])).result() == []
        assert store.inspector.get("held") is None
    assert [claim.id for claim in store.claim(worker, ["default"], 10)] == ["held"]


def test_what_was_pushed_in_a_rolled_back_transaction_never_was(pair: Pair, admin: "psycopg.Connection[Any]") -> None:
    with admin.transaction(force_rollback=True):
        Push(pair[0]._statements, [job(id="ghost")], None).whole(admin)
    assert pair[0].inspector.get("ghost") is None
    assert pair[0].push([job(id="ghost")])[0].decision == "created"


# --- waking -------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("only_bells")
def test_a_push_on_one_machine_wakes_a_waiter_on_the_other_at_once(
    pair: Pair, admin: "psycopg.Connection[Any]"
) -> None:
    waiting, pushing_one = pair
    worker = enlisted(waiting)
    latencies_s = []
    for _ in range(15):
        waiter = Call(lambda: _woken_at(waiting))
        until(lambda: _is_listening(admin) and bool(waiting._bells._lent))
        pushed(pushing_one)
        pushed_at = time.monotonic()
        latencies_s.append(waiter.result() - pushed_at)
        waiting.settle([done(claimed(waiting, worker))])
    assert max(latencies_s) < 0.5
    assert statistics.median(latencies_s) < 0.010


@pytest.mark.usefixtures("only_bells")
def test_a_job_that_ends_on_one_machine_is_seen_by_who_watches_on_the_other(
    pair: Pair, admin: "psycopg.Connection[Any]"
) -> None:
    job_id = pushed(pair[0])
    claim = claimed(pair[0])
    watcher = Call(lambda: pair[1].inspector.watch([job_id], 5.0))
    until(lambda: _is_listening(admin))
    pair[0].settle([done(claim)])
    assert watcher.result() == [job_id]
    assert watcher.took_s < 4.0


def test_a_push_that_rang_no_bell_is_found_by_the_slow_look(pair: Pair, admin: "psycopg.Connection[Any]") -> None:
    pair[0].push([job("default", delay_us=3_600_000_000)])
    pair[1].wait(["default"], 0.01)  # from here on it listens: a beginning listener would ring once
    until(lambda: _is_listening(admin))
    waiter = Call(lambda: pair[1].wait(["default"], 10.0))
    until(lambda: bool(pair[1]._bells._lent) and _count(admin, HAS_LOOKED) > 0)
    Push(pair[0]._statements, [job()], None).whole(admin)
    waiter.result(within_s=3.0)


# --- forks --------------------------------------------------------------------------------------------------


def test_a_forked_child_and_its_parent_both_go_on(pair: Pair) -> None:
    pushed(pair[0], id="before")
    store = pair[1]  # it has told nobody anything, so it has one session
    session = _session(store)

    def push_and_close() -> None:
        pushed(store, id="inside")
        store.close()

    assert in_a_child(push_and_close) == 0
    assert _session(store) == session  # neither spoken to nor ended by the child
    pushed(store, id="after")
    assert {record.id for record in store.inspector.find(Query())} == {"before", "inside", "after"}


def test_a_child_forked_while_others_write_can_write_at_once(pair: Pair) -> None:
    """What is under way at the fork is the parent's business: no session, no lock of it is the child's."""
    store, is_over = pair[0], threading.Event()

    def write() -> int:
        written = 0
        while not is_over.is_set():
            pushed(store)
            written += 1
        return written

    def push_and_wait() -> None:
        pushed(store)
        store.wait(["default"], 1.0)

    writers = [Call(write) for _ in range(3)]
    try:
        codes = [in_a_child(push_and_wait) for _ in range(10)]
    finally:
        is_over.set()
    written = sum(writer.result() for writer in writers)
    assert codes == [0] * 10
    assert store.inspector.count(Query()) == written + 10


@pytest.mark.usefixtures("only_bells")
def test_a_child_hears_notices_of_its_own(pair: Pair, admin: "psycopg.Connection[Any]") -> None:
    store = pair[0]
    Call(lambda: store.wait(["default"], 0.01)).result()
    until(lambda: _is_listening(admin))
    child = fork(lambda: store.wait(["default"], 15.0))
    until(lambda: _listeners(admin) == 2)
    pushed(pair[1])
    began = time.monotonic()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert time.monotonic() - began < 5.0


# --- broken lines -------------------------------------------------------------------------------------------


def test_a_session_that_the_server_ended_is_replaced_with_the_next_step(
    pair: Pair, admin: "psycopg.Connection[Any]"
) -> None:
    pushed(pair[0], id="before")
    idle = pair[1]  # it has told nobody anything, so no thread of its own finds the dead session first
    assert _end_sessions(admin) > 0
    pushed(idle, id="after")
    assert {record.id for record in idle.inspector.find(Query())} == {"before", "after"}


@pytest.mark.usefixtures("only_bells")
def test_a_listener_whose_session_ended_listens_again(pair: Pair, admin: "psycopg.Connection[Any]") -> None:
    waiter = Call(lambda: pair[0].wait(["default"], 30.0))
    until(lambda: _is_listening(admin))
    assert _end_sessions(admin, LISTENING) == 1
    until(lambda: _is_listening(admin))
    pushed(pair[1])
    waiter.result()


def test_a_session_ended_inside_a_step_is_reported_and_the_step_can_be_repeated(
    pair: Pair, admin: "psycopg.Connection[Any]"
) -> None:
    """I3, I32: nobody knows whether the commit was reached, and pushing the same id again settles it."""
    store, held = pair[0], job(id="held")
    pushed(store)
    with admin.transaction():
        Push(store._statements, [held], None).whole(admin)
        push = Call(lambda: store.push([held]))  # waits for the transaction that has the same id
        until(lambda: _blocked(admin) == 1)
        _end_sessions(admin)
        with pytest.raises(StoreUnavailable, match="broken off"):
            push.result()
    assert store.push([held])[0].decision == "duplicate"


def test_what_was_acknowledged_is_there_after_the_server_was_killed() -> None:
    """I1, I32: and the store goes on by itself, with its claims."""
    own = PostgresServer()
    try:
        store = PostgresStore.open(own.url())
        worker = enlisted(store, lease_s=600)
        pushed(store, id="running")
        claim = claimed(store, worker)
        acknowledged: list[str] = []

        def push_on() -> None:
            while True:
                acknowledged.append(pushed(store))

        pushers = [Call(push_on) for _ in range(2)]
        until(lambda: len(acknowledged) > 50)
        own.halt(signal.SIGKILL)
        for pusher in pushers:
            with pytest.raises(StoreUnavailable):
                pusher.result()
        own.start()
        assert {record.id for record in store.inspector.find(Query(limit=100_000))} >= {"running", *acknowledged}
        assert store.settle([done(claim)]) == []
        assert len(store.claim(worker, ["default"], 100_000)) >= len(acknowledged)
        store.close()
    finally:
        own.stop()


# --- looking at the server ----------------------------------------------------------------------------------


def _is_listening(admin: "psycopg.Connection[Any]") -> bool:
    return _listeners(admin) > 0


def _listeners(admin: "psycopg.Connection[Any]") -> int:
    return _count(admin, LISTENING)


def _blocked(admin: "psycopg.Connection[Any]") -> int:
    return _count(admin, "wait_event_type = 'Lock'")


def _count(admin: "psycopg.Connection[Any]", condition: str) -> int:
    # Inside a transaction the view would otherwise be that of the first look.
    admin.execute("select pg_stat_clear_snapshot()")
    row = admin.execute(f"select count(*) from pg_stat_activity where {OURS} and {condition}").fetchone()
    assert row is not None
    return int(row[0])


def _end_sessions(admin: "psycopg.Connection[Any]", condition: str = "true") -> int:
    """End sessions of the stores, and wait until they are gone."""
    ended = admin.execute(f"select pg_terminate_backend(pid, 5000) from pg_stat_activity where {OURS} and {condition}")
    return len(ended.fetchall())


def _woken_at(store: PostgresStore) -> float:
    store.wait(["default"], 5.0)
    return time.monotonic()


def _session(store: PostgresStore) -> object:
    return store._db.do(lambda connection: connection.execute("select pg_backend_pid()").fetchone())
