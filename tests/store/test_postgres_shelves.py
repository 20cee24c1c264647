"""Claims while a transaction stays open: what cannot be cleared away is not walked over, and no promise is bent for it.

The cost is counted in pages that the server touches, not in time.
"""

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from holdfast.model.job import NewJob
from holdfast.model.verdict import done, released
from holdfast.store.postgres import shelf, shelves
from holdfast.store.postgres.store import PostgresStore
from holdfast.testing.contract.background_call import Call
from holdfast.testing.contract.sample_jobs import enlisted, job, jobs, pushed
from tests.support.servers_postgres import empty_url, server

THROUGH = 6_000
"""How many jobs have gone through the queue since the other transaction began."""
WALK = 200
"""So many pages more, at least, does a walk over all of them touch."""
FEW = 40


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[PostgresStore]:
    monkeypatch.setattr(shelves, "MANY_DEAD", -1)
    opened = PostgresStore.open(empty_url())
    yield opened
    opened.close()


@pytest.fixture
def admin() -> Iterator["psycopg.Connection[Any]"]:
    with psycopg.connect(server().url(), autocommit=True) as connection:
        yield connection


@pytest.fixture(params=["a snapshot", "a number"])
def held(request: pytest.FixtureRequest) -> Iterator["psycopg.Connection[Any]"]:
    """Someone's transaction that stays open, having read or having written something."""
    empty_url()
    with psycopg.connect(server().url()) as connection:
        connection.execute("set transaction isolation level repeatable read")
        connection.execute("select pg_current_xact_id()" if request.param == "a number" else "select 1 from pg_class")
        yield connection
        connection.rollback()


def _explained(store: PostgresStore, name: str, values: dict[str, Any]) -> dict[str, Any]:
    """Carry a statement out and take it back; tell the server's account of it."""

    def explain(connection: "psycopg.Connection[Any]") -> Any:
        with connection.transaction(force_rollback=True), psycopg.ClientCursor(connection) as cursor:
            cursor.execute(f"explain (analyze, buffers, format json) {store._statements[name]}", values)
            row = cursor.fetchone()
            assert row is not None
            return row[0]

    told = store._db.do(explain)
    (plan,) = json.loads(told) if isinstance(told, str) else told
    return dict(plan["Plan"])


def _pages(plan: dict[str, Any]) -> int:
    return int(plan["Shared Hit Blocks"]) + int(plan["Shared Read Blocks"])


@pytest.mark.usefixtures("held")
def test_a_claim_does_not_walk_over_what_an_open_transaction_keeps(store: PostgresStore) -> None:
    worker = enlisted(store)
    store.push(jobs(20, "q"))
    for _ in range(THROUGH // 100):
        store.push(jobs(100, "q"))
        store.settle([done(claim) for claim in store.claim(worker, ["q"], 100)])
    known = store._shelves._shelves["q"]
    seqs = [place[2] for place in sorted(known._known.values())[:10]]
    values = {
        "queue": "q", "queues": ["q"], "shelved": ["q"], "seqs": seqs, "worker": worker, "nonce": "n", "now": 2**50,
        "limit": 10, "since": known._since, "under_way": known._under_way, "report": None,
    }  # fmt: skip
    assert len(seqs) == 10
    spent = {name: _pages(_explained(store, name, values)) for name in ("look", "shelf_news", "wake_at", "beat")}
    known, naive = (_pages(_explained(store, name, values)) for name in ("claim_known", "claim_fifo"))
    assert naive - known > WALK, "everything was cleared away: this would prove nothing"
    assert max(spent.values()) < FEW, spent
    assert known < FEW * len(seqs), "each of ten jobs is found, and written into every index"


def test_what_was_pushed_in_a_transaction_that_commits_late_is_found_in_its_place(
    store: PostgresStore, admin: "psycopg.Connection[Any]"
) -> None:
    """It was under way when the shelf was filled, and what stands behind it was taken since."""
    worker = enlisted(store)
    pushed(store, "q", id="first")
    with psycopg.connect(server().url()) as late:
        store.guest.push(late, [job("q", id="late", priority=1)])
        store.push(jobs(5, "q"))
        assert [claim.id for claim in store.claim(worker, ["q"], 1)] == ["first"]
        admin.execute("select pg_current_xact_id()")  # a later transaction is over before it
        assert store.claim(worker, ["q"], 1)
        late.commit()
    assert [claim.id for claim in store.claim(worker, ["q"], 1)] == ["late"]


def test_what_comes_back_is_handed_out_before_what_came_after_it(store: PostgresStore) -> None:
    worker, other = enlisted(store), enlisted(store)
    store.push([NewJob(name, "q", "t", b"") for name in ("a", "b", "c", "d")])
    first, second = store.claim(worker, ["q"], 2)
    store.settle([released(second), released(first)])
    assert [claim.id for claim in store.claim(other, ["q"], 3)] == ["a", "b", "c"]


def test_a_job_that_a_program_of_the_former_version_made_ready_is_found(
    store: PostgresStore, admin: "psycopg.Connection[Any]"
) -> None:
    """It knows nothing of shelves: the table itself marks what becomes ready."""
    worker = enlisted(store)
    store.push([NewJob("a", "q", "t", b""), NewJob("b", "q", "t", b"", delay_us=3_600_000_000)])
    assert [claim.id for claim in store.claim(worker, ["q"], 2)] == ["a"]
    admin.execute("update holdfast.job set state = 'ready' where id = 'b'")
    assert [claim.id for claim in store.claim(worker, ["q"], 2)] == ["b"]


def test_a_job_that_another_had_locked_and_gave_up_is_not_forgotten(
    store: PostgresStore, admin: "psycopg.Connection[Any]"
) -> None:
    worker = enlisted(store)
    store.push([NewJob(name, "q", "t", b"") for name in ("a", "b", "c")])
    with admin.transaction(force_rollback=True):
        admin.execute("select 1 from holdfast.job where id = 'a' for update")
        assert [claim.id for claim in Call(lambda: store.claim(worker, ["q"], 1)).result()] == ["b"]
    assert [claim.id for claim in store.claim(worker, ["q"], 2)] == ["a", "c"]


def test_a_step_that_fails_after_it_took_from_a_shelf_loses_nothing(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = enlisted(store)
    store.push([NewJob(name, "q", "t", b"") for name in ("a", "b")])
    whole = store._handout.take
    with monkeypatch.context() as patch:
        patch.setattr(store._handout, "take", lambda *given: [whole(*given), 1 / 0])
        with pytest.raises(ZeroDivisionError):
            store.claim(worker, ["q"], 1)
    assert [claim.id for claim in store.claim(worker, ["q"], 2)] == ["a", "b"]


def test_a_backlog_that_does_not_fit_on_a_shelf_is_handed_out_in_order(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shelf, "SIZE", 10)
    worker = enlisted(store)
    store.push([NewJob(f"{number:02}", "q", "t", b"", priority=-number) for number in range(50)])
    taken = [claim.id for claim in store.claim(worker, ["q"], 4)]
    pushed(store, "q", id="best", priority=1)
    pushed(store, "q", id="last", priority=-100)
    while claims := store.claim(worker, ["q"], 7):
        taken += [claim.id for claim in claims]
    assert taken == ["00", "01", "02", "03", "best", *(f"{number:02}" for number in range(4, 50)), "last"]


def test_two_machines_with_shelves_share_a_queue(store: PostgresStore) -> None:
    machines = [store, PostgresStore.open(server().url())]
    store.push(jobs(300, "q"))

    def drain(machine: PostgresStore) -> list[str]:
        worker, mine = enlisted(machine), list[str]()
        while claims := machine.claim(worker, ["q"], 7):
            mine += [claim.id for claim in claims]
        return mine

    calls = [Call(lambda machine=machine: drain(machine)) for machine in machines * 2]
    taken = [job_id for call in calls for job_id in call.result()]
    assert len(taken) == len(set(taken)) == 300
    machines[1].close()


def test_shelves_are_put_away_when_there_is_nothing_dead(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = enlisted(store)
    pushed(store, "q", id="a")
    store.claim(worker, ["q"], 1)
    assert store._shelves._shelves
    monkeypatch.setattr(shelves, "MANY_DEAD", 2**60)
    monkeypatch.setattr(shelves, "_ASK_EVERY_S", -1.0)
    store.claim(worker, ["q"], 1)
    assert not store._shelves._shelves
