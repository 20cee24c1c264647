"""What only the PostgreSQL store has to get right about lanes and limits: transactions that overlap."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from holdfast.model.claim import Claim
from holdfast.model.queue import Breaker, LaneRecord, Limits, QueuePolicy
from holdfast.model.verdict import done
from holdfast.store.postgres.ledger import PostgresLedger
from holdfast.store.postgres.store import PostgresStore
from holdfast.testing.contract.background_call import Call
from holdfast.testing.contract.sample_jobs import claimed_ids, enlisted, job, jobs, pushed
from tests.support.on_postgres import *  # noqa: F403 - fixtures

ISOLATIONS = (psycopg.IsolationLevel.READ_COMMITTED, psycopg.IsolationLevel.REPEATABLE_READ)


def test_a_push_that_is_held_open_blocks_nobody_and_is_found_when_it_commits(
    store: PostgresStore, mine: "psycopg.Connection[Any]"
) -> None:
    """Its news have lower numbers than those that were read long ago."""
    store.guest.push(mine, [job(id="late", lane="a")])
    worker = enlisted(store)
    store.push([job(id="early", lane="a"), job(id="other", lane="b")])
    assert Call(lambda: claimed_ids(store, worker)).result() == ["early", "other"]
    assert claimed_ids(store, worker) == []
    mine.commit()
    assert claimed_ids(store, worker) == ["late"]


@pytest.mark.parametrize("isolation", ISOLATIONS, ids=lambda level: level.name)
@pytest.mark.parametrize("lane", [None, "a"])
def test_a_push_that_began_before_its_queue_flowed_is_found(
    store: PostgresStore,
    mine: "psycopg.Connection[Any]",
    isolation: psycopg.IsolationLevel,
    lane: str | None,
) -> None:
    """It could not know that there was someone to tell."""
    mine.isolation_level = isolation
    pushed(store)
    mine.execute("select count(*) from holdfast.queue")
    if lane is None:
        store.guest.push(mine, [job(id="late")])
    worker = enlisted(store)
    store.queues.set_policy("default", QueuePolicy(lane_limits=Limits(max_running=5)))
    assert len(claimed_ids(store, worker)) == 1
    if lane is not None:
        store.guest.push(mine, [job(id="late", lane=lane)])
    mine.commit()
    assert store.inspector.wake_at(["default"]) is not None
    assert claimed_ids(store, worker) == ["late"]


def test_limits_hold_for_many_workers_at_once(store: PostgresStore) -> None:
    store.queues.set_policy("default", QueuePolicy(limits=Limits(max_running=7), lane_limits=Limits(max_running=2)))
    store.push([one for lane in "abcde" for one in jobs(40, lane=lane)])
    running: list[str] = []
    most = {"all": 0, "lane": 0}

    def work(worker: str) -> int:
        finished = 0
        for _ in range(25):
            claims: list[Claim] = store.claim(worker, ["default"], 3)
            running.extend(claim.id for claim in claims)
            shown = store.queues.lanes("default")
            most["all"] = max(most["all"], sum(one.running for one in shown))
            most["lane"] = max([most["lane"], *(one.running for one in shown)])
            assert store.settle([done(claim) for claim in claims]) == []
            finished += len(claims)
        return finished

    workers = [enlisted(store) for _ in range(6)]
    with ThreadPoolExecutor(6) as pool:
        finished = sum(pool.map(work, workers))
    assert len(set(running)) == len(running) == finished > 50
    assert most["all"] <= 7
    assert most["lane"] <= 2


def test_claims_on_several_flowing_queues_in_any_order_do_not_wait_for_each_other_in_a_circle(
    store: PostgresStore, mine: "psycopg.Connection[Any]"
) -> None:
    for queue in ("x", "y", "z"):
        store.push([job(queue, lane=f"{number % 5}") for number in range(100)])
    before = _deadlocks(mine)

    def work(order: list[str]) -> int:
        worker, finished, claims = enlisted(store), 0, list[Claim]()
        for _ in range(40):
            _, more = store.exchange([done(claim) for claim in claims], worker, order, 2)
            finished, claims = finished + len(claims), more
        return finished + len(store.exchange([done(claim) for claim in claims], worker, order, 0)[0]) + len(claims)

    with ThreadPoolExecutor(4) as pool:
        finished = sum(pool.map(work, (["x", "y", "z"], ["z", "y", "x"], ["y", "x", "z"], ["z", "x"])))
    assert finished == 300
    assert _deadlocks(mine) == before


def test_a_job_that_someone_else_holds_is_passed_over_and_looked_at_again(
    store: PostgresStore, mine: "psycopg.Connection[Any]"
) -> None:
    """The other's step may be rolled back, and tells nobody. The lane is not charged for what it did not start."""
    breaker = Breaker(failures=1, pause_us=1, probes=1)
    store.queues.set_policy("default", QueuePolicy(lane_limits=Limits(breaker=breaker)))
    held, worker = pushed(store, lane="a"), enlisted(store)
    mine.execute("select 1 from holdfast.job where id = %s for update", (held,))
    assert Call(lambda: claimed_ids(store, worker)).result() == []
    mine.rollback()
    assert claimed_ids(store, worker) == [held]
    assert store.queues.lanes("default") == [LaneRecord("a", 0, 1, "open")]


def test_a_better_job_that_comes_while_a_claim_reads_on_is_not_handed_out_twice(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A claim that comes back to a lane finds other jobs there than before."""
    store.push([*jobs(6, lane="a"), *jobs(1, lane="b"), *jobs(1, lane="c")])
    worker, best = enlisted(store), PostgresLedger.best
    rounds: list[int] = []

    def best_and_then_a_push(self: PostgresLedger, *given: Any, **named: Any) -> dict[str, list[int]]:
        found = best(self, *given, **named)
        rounds.append(1)
        Call(lambda: store.push([job(lane="a", priority=9)])).result()
        return found

    monkeypatch.setattr(PostgresLedger, "best", best_and_then_a_push)
    ids = claimed_ids(store, worker, limit=8)
    assert len(rounds) > 1
    assert len(set(ids)) == len(ids) == 8


def test_a_plain_queue_costs_not_one_statement_more_for_all_this(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.push(jobs(20))
    worker, asked = enlisted(store), list[str]()
    claims = store.claim(worker, ["default"], 2)
    execute = psycopg.Connection.execute

    def noted(self: "psycopg.Connection[Any]", query: Any, *given: Any, **named: Any) -> Any:
        if str(query).startswith("-- "):  # else it is about the session, or a notice
            asked.append(str(query).splitlines()[0])
        return execute(self, query, *given, **named)

    monkeypatch.setattr(psycopg.Connection, "execute", noted)
    monkeypatch.setattr(store._shelves, "is_used", lambda connection: False)  # whatever other tests have left dead
    store.exchange([done(claim) for claim in claims], worker, ["default"], 2)
    assert len(asked) == 5, asked  # hold_lease, held, land, look, claim_fifo
    asked.clear()
    store.push(jobs(2))
    assert len(asked) == 1, asked


def _deadlocks(connection: "psycopg.Connection[Any]") -> int:
    connection.rollback()
    connection.execute("select pg_stat_clear_snapshot()")
    row = connection.execute("select deadlocks from pg_stat_database where datname = current_database()").fetchone()
    assert row is not None
    return int(row[0])


def test_who_looks_for_a_drain_waits_for_a_claim_that_is_under_way(
    store: PostgresStore, mine: "psycopg.Connection[Any]"
) -> None:
    """What it looked at before it held the queue's lock may be over by then."""
    store.queues.set_policy("default", QueuePolicy(tells_drained=True))
    pushed(store)
    (claim,) = store.claim(enlisted(store), ["default"], 1)
    store.settle([done(claim)])
    mine.execute("select 1 from holdfast.queue where name = 'default' for update")
    store.guest.push(mine, [job(id="late")])
    mine.execute(
        "update holdfast.job set state = 'running', worker = 'w', token = 't', claimed_us = 1 where id = 'late'"
    )
    looking = Call(lambda: store.queues.find_drained(["default"]))
    assert not looking.is_back(0.3)
    mine.commit()
    assert looking.result() == []
    assert store.queues.get("default").drains == 0  # type: ignore[union-attr]


def test_a_look_that_has_nothing_to_note_waits_for_nobody(
    store: PostgresStore, mine: "psycopg.Connection[Any]"
) -> None:
    for queue in ("busy", "never", "plain"):
        store.queues.set_policy(queue, QueuePolicy(tells_drained=queue != "plain"))
    store.push(jobs(2, "busy"))
    store.claim(enlisted(store), ["busy"], 1)
    mine.execute("select 1 from holdfast.queue for update")
    assert Call(lambda: store.queues.find_drained(["busy", "never", "plain"])).result() == []
