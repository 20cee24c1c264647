"""What only the PostgreSQL store has to get right about keys and bounds: transactions that overlap."""

import asyncio
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from holdfast.model.claim import Claim
from holdfast.model.job import NewJob
from holdfast.model.query import Query
from holdfast.model.queue import QueuePolicy
from holdfast.model.verdict import done
from holdfast.store.postgres.store import PostgresStore
from holdfast.testing.contract.background_call import Call
from holdfast.testing.contract.sample_jobs import claimed, claimed_ids, enlisted, job, jobs, pushed, retry, state
from tests.support.on_postgres import *  # noqa: F403 - fixtures
from tests.support.on_postgres import is_waited_for
from tests.support.processes import until
from tests.support.servers_postgres import server

DEADLOCKS = "select deadlocks from pg_stat_database where datname = current_database()"


# --- keys ---------------------------------------------------------------------------------------------------


def test_of_many_who_push_one_key_at_once_one_job_comes(store: PostgresStore) -> None:
    """I23"""
    pushed(store)

    def push(number: int) -> list[str]:
        batch = [job(key=f"{key}") for key in (range(10) if number % 2 else reversed(range(10)))]
        return [answer.decision for answer in store.push(batch)]

    before = _count(store, DEADLOCKS)
    with ThreadPoolExecutor(8) as pool:
        decisions = Counter(decision for answers in pool.map(push, range(24)) for decision in answers)
    assert decisions == {"created": 10, "merged": 230}
    assert _count(store, "select count(*) from ns_key_lock") == 0
    assert _count(store, DEADLOCKS) == before


def test_a_successor_is_never_left_waiting_for_a_job_that_has_ended(store: PostgresStore) -> None:
    """I23: a push finds the job before it running, and that job ends at the same moment."""
    workers, keys = [enlisted(store) for _ in range(3)], [f"{number}" for number in range(4)]

    def produce(_: int) -> None:
        for _ in range(25):
            store.push([job(key=key, runs_after=True) for key in keys])

    def consume(worker: str) -> None:
        claims: list[Claim] = []
        for _ in range(40):
            claims = store.exchange([done(claim) for claim in claims], worker, ["default"], 2)[1]
        store.settle([done(claim) for claim in claims])

    with ThreadPoolExecutor(6) as pool:
        calls = [pool.submit(produce, number) for number in range(3)] + [pool.submit(consume, one) for one in workers]
        for call in calls:
            call.result()
    while claims := store.claim(workers[0], ["default"], 10):
        assert store.settle([done(claim) for claim in claims]) == []
    assert store.inspector.count(Query(states=("waiting", "scheduled", "ready", "running"))) == 0


def test_a_push_with_a_key_that_is_held_open_holds_up_that_key_and_no_other(
    store: PostgresStore, mine: "psycopg.Connection[Any]"
) -> None:
    store.guest.push(mine, [job(id="first", key="a")])
    assert Call(lambda: store.push([job(key="b"), job()])).result()[0].decision == "created"
    second = Call(lambda: _push_as_guest(store, job(key="a")))  # in whose transaction nothing may fail that could wait
    until(lambda: is_waited_for(store))
    mine.commit()
    assert second.result() == ("merged", "first")


def test_a_push_with_a_key_that_is_rolled_back_leaves_the_key_free(
    store: PostgresStore, mine: "psycopg.Connection[Any]"
) -> None:
    store.guest.push(mine, [job(key="a")])
    second = Call(lambda: store.push([job(id="second", key="a")]))
    until(lambda: is_waited_for(store))
    mine.rollback()
    assert second.result()[0].decision == "created"


def test_a_push_that_waits_for_a_verdict_on_the_job_with_its_key_finds_the_key_free(
    store: PostgresStore, mine: "psycopg.Connection[Any]"
) -> None:
    pushed(store, key="a")
    claim = claimed(store, enlisted(store))
    mine.execute("select 1 from holdfast.job where id = %s for no key update", (claim.id,))
    second = Call(lambda: store.push([job(id="second", key="a", runs_after=True)]))
    until(lambda: is_waited_for(store))
    mine.execute("update holdfast.job set state = 'succeeded', keep_until_us = 9e15 where id = %s", (claim.id,))
    mine.commit()
    assert second.result()[0].decision == "created"
    assert state(store, "second") == "ready"


def test_keys_and_bounds_have_their_say_on_async_connections_too(store: PostgresStore) -> None:
    store.queues.set_policy("default", QueuePolicy(max_size=2))

    async def push(batch: list[NewJob]) -> list[str]:
        async with await psycopg.AsyncConnection.connect(server().url()) as host:
            return [answer.decision for answer in await store.guest.apush(host, batch)]

    assert asyncio.run(push([job(key="a"), job(key="a"), job(), job()])) == ["created", "merged", "created", "refused"]
    assert store.inspector.count(Query()) == 2


# --- bounds -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("on_full", ["reject", "spill"])
def test_a_bound_holds_for_many_producers_and_workers_at_once(store: PostgresStore, on_full: Any) -> None:
    store.queues.set_policy("default", QueuePolicy(max_size=10, on_full=on_full))
    before = _count(store, DEADLOCKS)
    sizes: list[int] = []

    def produce(number: int) -> None:
        for turn in range(20):
            store.push([job(key=f"{number}-{turn % 3}"), *jobs(2)])
            sizes.append(store.queues.get("default").size)  # type: ignore[union-attr]

    def consume(worker: str) -> None:
        claims: list[Claim] = []
        for turn in range(30):
            verdicts = [done(claim) if turn % 3 else retry(claim) for claim in claims]
            claims = store.exchange(verdicts, worker, ["default"], 2)[1]
        store.settle([done(claim) for claim in claims])

    workers = [enlisted(store) for _ in range(3)]
    with ThreadPoolExecutor(6) as pool:
        calls = [pool.submit(produce, number) for number in range(3)] + [pool.submit(consume, one) for one in workers]
        for call in calls:
            call.result()
    record = store.queues.get("default")
    assert record is not None
    assert record.size == _count(store, "select size from ns_queue")
    assert max(sizes) <= 10 + len(workers) * 2  # what comes back is never refused
    assert not (record.counts.get("spilled") and record.size < 10)
    assert _count(store, DEADLOCKS) == before


def test_a_push_that_is_held_open_keeps_its_room(store: PostgresStore, mine: "psycopg.Connection[Any]") -> None:
    store.queues.set_policy("default", QueuePolicy(max_size=1))
    store.guest.push(mine, [job()])
    second = Call(lambda: store.push([job()]))
    until(lambda: is_waited_for(store))
    mine.commit()
    assert second.result()[0].decision == "refused"


def test_upkeep_counts_again_what_seems_full(store: PostgresStore) -> None:
    """A step that was under way when the queue got its bound has left its size wrong."""
    store.queues.set_policy("default", QueuePolicy(max_size=3, on_full="spill"))
    store._db.do(lambda connection: connection.execute(store._statements.of("update ns_queue set size = 3")))
    assert store.push([job(id="late")])[0].decision == "spilled"
    store.tidy()
    assert store.wait_for_room("default", 0)
    assert claimed_ids(store, enlisted(store)) == ["late"]


def _push_as_guest(store: PostgresStore, one: NewJob) -> tuple[str, str]:
    with psycopg.connect(server().url()) as host:
        (answer,) = store.guest.push(host, [one])
    return answer.decision, answer.id


def _count(store: PostgresStore, text: str) -> int:
    def count(connection: "psycopg.Connection[tuple[Any, ...]]") -> int:
        row = connection.execute(store._statements.of(text)).fetchone()
        assert row is not None
        return int(row[0])

    return store._db.do(count)
