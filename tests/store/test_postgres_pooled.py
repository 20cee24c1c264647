"""What a pooler by transaction changes: nothing that is kept in a session, and how those who wait are woken."""

import statistics
import time

import psycopg
import pytest

from holdfast.errors import InvalidInput
from holdfast.model.worker import WorkerRecord
from holdfast.store.postgres import address, backend
from holdfast.store.postgres.doorbell import LOOK_S
from holdfast.store.postgres.store import PostgresStore
from holdfast.testing.contract.background_call import Call
from holdfast.testing.contract.sample_jobs import claimed, enlisted, job, jobs, pushed
from tests.support.pooler import SESSIONS, Pooler, pooled_url, shared_pooler
from tests.support.servers_postgres import empty_url, server


def _wake_ups(waiting: PostgresStore, pushing: PostgresStore, number: int) -> list[float]:
    """Let one wait and another push, and tell how long each job was there before the waiter knew."""
    waiter, took_s = enlisted(waiting), list[float]()

    def woken_at() -> float:
        waiting.wait(["default"], 10.0)
        return time.monotonic()

    for _ in range(number):
        waiting.wait(["default"], 0.01)
        call = Call(woken_at)
        while not waiting._bells._lent:
            time.sleep(0.001)
        pushed(pushing)
        began = time.monotonic()
        took_s.append(call.result() - began)
        claimed(waiting, waiter)
    return took_s


def test_a_pooler_is_found_out_and_a_server_is_not_taken_for_one() -> None:
    for where, is_pooled in ((pooled_url(), True), (empty_url(), False), (pooled_url("pooled=1"), True)):
        store = PostgresStore.open(where)
        assert store._db.is_pooled is is_pooled
        store.close()


def test_nothing_is_left_in_a_session_for_the_next_one_who_gets_it() -> None:
    """Settings, prepared statements, channels: all of them would be a stranger's."""
    empty_url()
    store = PostgresStore.open(pooled_url())
    for _ in range(3 * SESSIONS):
        pushed(store)
    store.wait(["default"], 0.01)
    claimed(store)
    with psycopg.connect(pooled_url(), autocommit=True, prepare_threshold=None) as stranger:
        for _ in range(2 * SESSIONS):
            asked = stranger.execute(
                "select current_setting('enable_seqscan'), current_setting('idle_in_transaction_session_timeout'), "
                "(select count(*) from pg_prepared_statements), (select count(*) from pg_listening_channels())"
            )
            assert asked.fetchone() == ("on", "0", 0, 0)
    store.close()


def test_steps_behind_a_pooler_are_durable_whatever_the_user_is_set_to() -> None:
    with psycopg.connect(empty_url(), autocommit=True) as admin:
        admin.execute("alter role holdfast set synchronous_commit = off")
        try:
            with Pooler(str(server().folder / ".s.PGSQL.5432")) as careless:
                store = PostgresStore.open(f"postgresql://holdfast@127.0.0.1:{careless.port}/postgres")
                shown = store._db.do(lambda connection: connection.execute("show synchronous_commit").fetchone())
                assert shown == ("on",)
                store.close()
        finally:
            admin.execute("alter role holdfast reset synchronous_commit")


def test_without_a_direct_way_a_job_waits_no_longer_than_the_slow_look() -> None:
    empty_url()
    waiting, pushing = (PostgresStore.open(pooled_url()) for _ in range(2))
    assert max(_wake_ups(waiting, pushing, 4)) < LOOK_S + 0.5  # and what a busy machine adds
    for store in (waiting, pushing):
        store.close()


def test_with_a_direct_way_a_job_is_heard_of_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.store.postgres.store.LOOK_S", 60.0)
    empty_url()
    direct = pooled_url(f"direct={server().folder}")
    waiting, pushing = (PostgresStore.open(direct) for _ in range(2))
    took_s = _wake_ups(waiting, pushing, 15)
    assert max(took_s) < 5.0  # the first may have been before the listener
    assert statistics.median(took_s) < 0.020
    for store in (waiting, pushing):
        store.close()


def test_workers_of_two_machines_share_what_is_behind_a_pooler() -> None:
    empty_url()
    stores = [PostgresStore.open(pooled_url()) for _ in range(2)]
    stores[0].push(jobs(200, "q"))

    def drain(number: int) -> list[str]:
        name, mine = f"drain-{number}", list[str]()
        stores[number].enlist(WorkerRecord(name, "here", 1, ("t",)))
        while claims := stores[number].claim(name, ["q"], 7):
            mine += [claim.id for claim in claims]
        return mine

    calls = [Call(lambda number=number: drain(number)) for number in range(2)]
    taken = [job_id for call in calls for job_id in call.result()]
    assert len(taken) == len(set(taken)) == 200
    for store in stores:
        store.close()


@pytest.mark.parametrize(
    ("options", "level", "said"),
    [
        ("", "warn", "a job may wait half a second"),
        ("direct={folder}", "ok", "notices are heard past it"),
        ("direct=127.0.0.1:{port}", "warn", "leads to a pooler"),
    ],
)
def test_the_doctor_tells_of_a_pooler_and_of_what_is_heard_past_it(options: str, level: str, said: str) -> None:
    empty_url()
    store = PostgresStore.open(pooled_url(options.format(folder=server().folder, port=shared_pooler().port)))
    (found,) = [finding for finding in store.inspector.examine() if finding.what == "pooler"]
    assert (found.level, said in found.detail) == (level, True), found
    store.close()


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("db.example.com:5433", "db.example.com", "5433"),
        ("db", "db", None),
        ("[::1]:5432", "::1", "5432"),
        ("/run/postgresql", "/run/postgresql", None),
        ("/run/postgresql:5433", "/run/postgresql", "5433"),
    ],
)
def test_the_direct_way_is_the_same_database_at_another_place(text: str, host: str, port: str | None) -> None:
    read = address.read(f"postgresql://me:secret@pool:6432/shop?sslmode=require&direct={text}")
    assert read.direct is not None
    assert (read.direct["host"], read.direct["port"]) == (host, port)
    assert {read.direct[name] for name in ("user", "password", "dbname", "sslmode")} == {
        "me",
        "secret",
        "shop",
        "require",
    }
    assert (read.conninfo["host"], read.conninfo["port"]) == ("pool", "6432")


@pytest.mark.parametrize("wrong", ["direct=postgresql://db/shop", "direct=db:port", "direct=", "pooled=perhaps"])
def test_an_option_for_poolers_that_cannot_be_read_is_refused(wrong: str) -> None:
    with pytest.raises(InvalidInput, match=r"expected (direct|pooled) to be"):
        PostgresStore.open(f"postgresql://me@pool/shop?{wrong}")


def test_migrations_go_through_a_pooler() -> None:
    with psycopg.connect(server().url(), autocommit=True) as admin:
        try:
            assert backend.migrate(pooled_url(), "pooled") == []
            assert PostgresStore.open(pooled_url(), namespace="pooled").push([job("q")])[0].decision == "created"
        finally:
            admin.execute("drop schema pooled cascade")
