"""What only the PostgreSQL store has to get right about seen-sets: transactions that overlap, and what they wait for."""

import asyncio
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import psycopg
import pytest

from holdfast.model.job import NewJob
from holdfast.model.seen import SeenMark, Sketch
from holdfast.model.verdict import done
from holdfast.policy.seen import digest
from holdfast.store.postgres.store import PostgresStore
from holdfast.testing.contract.background_call import Call
from holdfast.testing.contract.sample_jobs import claimed, enlisted, failed, job, pushed
from tests.support.on_postgres import *  # noqa: F403 - fixtures
from tests.support.on_postgres import is_waited_for
from tests.support.processes import until
from tests.support.servers_postgres import server

A, B = digest("a"), digest("b")
DEADLOCKS = "select deadlocks from pg_stat_database where datname = current_database()"
SHAPE = Sketch(1000, 1e-9, blocks=2, hashes=30)


def deadlocks(store: PostgresStore) -> int:
    return int(store._db.do(lambda connection: connection.execute(DEADLOCKS).fetchall())[0][0])


@pytest.mark.parametrize("sketch", [None, SHAPE])
@pytest.mark.parametrize("has_key", [True, False])
def test_of_many_who_push_one_key_at_once_one_stores_it(
    store: PostgresStore, sketch: Sketch | None, has_key: bool
) -> None:
    """I24: in one order and in the other."""
    store.seen.shape("default", sketch)
    before, start = deadlocks(store), Barrier(6)

    def push(number: int) -> list[str]:
        start.wait()
        found: list[str] = []
        for turn in range(10):
            keys = [f"{turn}-{each}" for each in range(20)]
            keys = keys if number % 2 else keys[::-1]
            batch = [job(key=key if has_key else None, seen=SeenMark(digest(key)), on_conflict="keep") for key in keys]
            found += [answer.decision for answer in store.push(batch)]
        return found

    with ThreadPoolExecutor(6) as pool:
        decisions = Counter(decision for answers in pool.map(push, range(6)) for decision in answers)
    assert decisions == {"created": 200, "duplicate": 1000}
    assert store.seen.get("default").count == 200
    assert deadlocks(store) == before


@pytest.mark.parametrize("sketch", [None, SHAPE])
def test_of_many_who_add_one_key_at_once_one_finds_it_new(store: PostgresStore, sketch: Sketch | None) -> None:
    """I24"""
    store.seen.shape("crawl", sketch)
    before, start = deadlocks(store), Barrier(6)

    def add(number: int) -> int:
        start.wait()
        keys = [digest(f"{each}") for each in range(1000)]
        return sum(sum(store.seen.add("crawl", keys[at : at + 100][:: number % 2 or -1])) for at in range(0, 1000, 100))

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(add, range(6))) == 1000
    assert deadlocks(store) == before


def test_a_transaction_that_is_rolled_back_leaves_its_keys_unseen(
    store: PostgresStore, mine: "psycopg.Connection[Any]"
) -> None:
    """I4: and who waited for it stores the job."""
    store.guest.push(mine, [job(seen=SeenMark(A)), job(key="b", seen=SeenMark(B))])
    second = Call(lambda: store.push([job(seen=SeenMark(A))]))
    until(lambda: is_waited_for(store))
    mine.rollback()
    assert second.result()[0].decision == "created"
    assert store.seen.has("default", [A, B]) == [True, False]


def test_who_waited_for_a_transaction_that_marks_the_key_finds_it_seen(
    store: PostgresStore, mine: "psycopg.Connection[Any]"
) -> None:
    store.guest.push(mine, [job(seen=SeenMark(A))])
    second = Call(lambda: store.push([job(seen=SeenMark(A))]))
    until(lambda: is_waited_for(store))
    mine.commit()
    assert second.result()[0].decision == "duplicate"


def test_a_transaction_that_is_held_open_holds_up_only_those_who_bring_its_new_keys(
    store: PostgresStore, mine: "psycopg.Connection[Any]"
) -> None:
    store.seen.add("default", [A])
    store.guest.push(mine, [job(seen=SeenMark(A)), job(seen=SeenMark(B))])
    answers = Call(lambda: store.push([job(seen=SeenMark(A)), job(seen=SeenMark(digest("c"))), job()])).result()
    assert [answer.decision for answer in answers] == ["duplicate", "created", "created"]


def test_seen_keys_are_asked_for_on_async_connections_too(store: PostgresStore) -> None:
    store.seen.shape("rough", SHAPE)

    async def push(batch: list[NewJob]) -> list[str]:
        async with await psycopg.AsyncConnection.connect(server().url()) as host:
            return [answer.decision for answer in await store.guest.apush(host, batch)]

    batch = [job(seen=SeenMark(A)), job(seen=SeenMark(A)), job(queue="rough", seen=SeenMark(A))]
    assert asyncio.run(push(batch)) == ["created", "duplicate", "created"]


@pytest.mark.parametrize("ending", [done, failed])
def test_verdicts_and_pushes_of_one_key_do_not_wait_for_each_other_in_a_circle(
    store: PostgresStore, ending: Any
) -> None:
    """Both have the job and its key in hand."""
    before, start = deadlocks(store), Barrier(4)
    worker = enlisted(store)

    def mark(number: int) -> SeenMark:
        return SeenMark(digest(f"{number}"), 1, forgets_failure=True)  # past its term at once, so that it is always new

    def produce(shift: int) -> None:
        start.wait()
        for turn in range(40):
            numbers = range(5) if (turn + shift) % 2 else range(4, -1, -1)
            store.push([job(key=f"{number}", seen=mark(number), runs_after=True) for number in numbers])

    def consume() -> None:
        start.wait()
        for _ in range(40):
            store.settle([ending(claim) for claim in store.claim(worker, ["default"], 5)])

    with ThreadPoolExecutor(4) as pool:
        for call in [*(pool.submit(produce, number) for number in range(3)), pool.submit(consume)]:
            call.result()
    assert deadlocks(store) == before


def test_a_set_waits_with_its_shape_for_who_is_marking_keys(
    store: PostgresStore, mine: "psycopg.Connection[Any]"
) -> None:
    store.guest.push(mine, [job(seen=SeenMark(A))])
    second = Call(lambda: store.seen.shape("default", SHAPE))
    until(lambda: is_waited_for(store))
    mine.commit()
    assert second.result() is None, "it holds a key by now, and stays exact"


def test_who_does_not_ask_the_seen_set_pays_nothing_for_it(store: PostgresStore) -> None:
    store.seen.add("default", [A])
    pushed(store)
    told: list[str] = []
    for push in (lambda: store.push([job(), job()]), lambda: store.push([job(key="a"), job()])):
        _noted(store, told, push)
    _noted(store, told, lambda: store.settle([done(claimed(store, enlisted(store)))]))
    assert [text for text in told if '"holdfast".seen' in text] == []
    assert told


def _noted(store: PostgresStore, told: list[str], step: Any) -> None:
    """Note every statement of a step."""
    execute = psycopg.Connection.execute

    def noting(connection: Any, query: Any, *args: Any, **options: Any) -> Any:
        told.append(str(query))
        return execute(connection, query, *args, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(psycopg.Connection, "execute", noting)
        step()
