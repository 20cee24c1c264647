"""What only the PostgreSQL store has to get right when it opens: servers, databases and schemas that it must refuse."""

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import psycopg
import pytest

from holdfast.errors import InvalidInput, InvalidName, SchemaTooNew, StoreClosed, StoreUnavailable, StoreUnsafe
from holdfast.model.query import Query
from holdfast.store.postgres import address, backend, session
from holdfast.store.postgres.schema import Migration, migrations
from holdfast.store.postgres.store import PostgresStore
from holdfast.testing.contract.background_call import Call
from holdfast.testing.contract.sample_jobs import enlisted, job
from tests.support import former_postgres
from tests.support.servers_postgres import GUARDED, PostgresServer, server

SECRET = "open-sesame-4711"
OPENER = """
import sys
from holdfast.model.job import NewJob
from holdfast.store.postgres.store import PostgresStore
PostgresStore.open(sys.argv[1], namespace=sys.argv[2]).push([NewJob(sys.argv[3], "q", "t", b"")])
"""

_numbers = count(1)


@pytest.fixture
def admin() -> Iterator["psycopg.Connection[Any]"]:
    with psycopg.connect(server().url(), autocommit=True) as connection:
        yield connection


@pytest.fixture
def namespace(admin: "psycopg.Connection[Any]") -> Iterator[str]:
    """A namespace that nobody has opened yet."""
    name = f"opening{next(_numbers)}"
    yield name
    admin.execute(f'drop schema if exists "{name}" cascade')


@pytest.fixture
def guarded(admin: "psycopg.Connection[Any]") -> Iterator[str]:
    """A user with a password and no rights."""
    admin.execute(f"create role {GUARDED} login password '{SECRET}'")
    yield GUARDED
    admin.execute(f"drop owned by {GUARDED}")
    admin.execute(f"drop role {GUARDED}")


def _url(*, user: str = "holdfast", password: str | None = None, database: str = "postgres") -> str:
    secret = "" if password is None else f":{password}"
    return f"postgresql://{user}{secret}@/{database}?host={server().folder}"


# --- making the schema --------------------------------------------------------------------------------------


def test_many_threads_that_open_a_new_namespace_at_once_make_one_schema(namespace: str) -> None:
    def start(number: int) -> None:
        store = PostgresStore.open(server().url(), namespace=namespace)
        store.push([job("q", id=f"j{number}")])
        store.close()

    with ThreadPoolExecutor(10) as pool:
        list(pool.map(start, range(10)))
    store = PostgresStore.open(server().url(), namespace=namespace)
    assert store.queues.get("q").counts == {"ready": 10}  # type: ignore[union-attr]
    store.close()


def test_many_processes_that_open_a_new_namespace_at_once_make_one_schema(
    namespace: str, admin: "psycopg.Connection[Any]"
) -> None:
    command = [sys.executable, "-c", OPENER, server().url(), namespace]
    processes = [subprocess.Popen([*command, f"j{number}"]) for number in range(10)]
    assert [process.wait(60) for process in processes] == [0] * 10
    assert admin.execute(f'select schema from "{namespace}".meta').fetchall() == [(len(migrations()),)]
    assert admin.execute(f'select count(*) from "{namespace}".job').fetchone() == (10,)


def test_opening_again_changes_nothing_and_needs_no_right_to_make_anything(
    namespace: str, guarded: str, admin: "psycopg.Connection[Any]"
) -> None:
    PostgresStore.open(server().url(), namespace=namespace).close()
    admin.execute(f'grant usage on schema "{namespace}" to {guarded}')
    admin.execute(f'grant select, insert, update, delete on all tables in schema "{namespace}" to {guarded}')
    store = PostgresStore.open(_url(user=guarded, password=SECRET), namespace=namespace)
    assert store.push([job("q")])[0].decision == "created"
    store.close()


def test_a_migration_that_fails_leaves_nothing_behind(
    namespace: str, admin: "psycopg.Connection[Any]", monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = (Migration("0001_broken", "create table ns_queue (name text); select 1 / 0", ""),)
    monkeypatch.setattr("holdfast.store.postgres.schema.migrations", lambda: broken)
    with pytest.raises(Exception, match="division by zero"):
        PostgresStore.open(server().url(), namespace=namespace)
    assert admin.execute("select to_regnamespace(%s)", (namespace,)).fetchone() == (None,)


def test_a_migration_goes_in_two_steps_and_the_former_version_works_on_in_between(
    namespace: str, admin: "psycopg.Connection[Any]", monkeypatch: pytest.MonkeyPatch
) -> None:
    former, newest = PostgresStore.open(server().url(), namespace=namespace), len(migrations())
    added = Migration("9999_colour", "alter table ns_queue add colour text", "alter table ns_queue drop is_paused")
    with monkeypatch.context() as patch:
        patch.setattr("holdfast.store.postgres.schema.migrations", lambda: (*migrations(), added))
        PostgresStore.open(server().url(), namespace=namespace).close()
    assert admin.execute(f'select schema, finished from "{namespace}".meta').fetchall() == [(newest + 1, newest)]
    assert former.push([job("q")])[0].decision == "created"
    PostgresStore.open(server().url(), namespace=namespace).close()  # one of the former version starts again
    with monkeypatch.context() as patch:
        patch.setattr("holdfast.store.postgres.schema.migrations", lambda: (*migrations(), added))
        assert [backend.migrate(server().url(), namespace) for _ in range(2)] == [["9999_colour"], []]
    with pytest.raises(
        SchemaTooNew, match=f"has schema {newest + 1}, and this version of Holdfast reads up to {newest}"
    ):
        PostgresStore.open(server().url(), namespace=namespace)
    former.close()


def test_workers_of_the_former_version_work_on_while_the_next_one_migrates(
    namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They know nothing of the last migration, and have prepared statements before it. Not one step of theirs fails."""
    with monkeypatch.context() as patch:
        patch.setattr("holdfast.store.postgres.schema.migrations", lambda: migrations()[: former_postgres.SCHEMA])
        PostgresStore.open(server().url(), namespace=namespace).close()
    _make_queue(namespace, "q")
    is_over, went_round = threading.Event(), threading.Semaphore(0)

    def work() -> int:
        former, finished = former_postgres.FormerWorker(server().url(), namespace, "q"), 0
        while not is_over.is_set():
            assert former.push() + former.push(delay_us=1) == 2
            ids = former.claim(2)
            finished += former.settle(ids[:1], "succeeded") if ids else 0
            assert former.settle(ids[1:], "ready") == 1 if ids[1:] else True
            assert former.beat()
            went_round.release()
        former.close()
        return finished

    calls = [Call(work) for _ in range(3)]
    for _ in range(30):
        assert went_round.acquire(timeout=10)
    new = PostgresStore.open(server().url(), namespace=namespace)  # which migrates
    worker = enlisted(new)
    new.push([job("laned", lane="a"), job("q")])
    assert len(new.claim(worker, ["laned", "q"], 2)) == 2  # both versions, side by side
    for _ in range(30):
        assert went_round.acquire(timeout=10)
    is_over.set()
    finished = sum(call.result() for call in calls)
    assert finished > 30
    assert new.inspector.count(Query(states=("succeeded",))) == finished
    new.close()


def _make_queue(namespace: str, name: str) -> None:
    with psycopg.connect(server().url(), autocommit=True) as connection:
        connection.execute(f'insert into "{namespace}".queue (name) values (%s)', (name,))


def test_namespaces_of_one_database_do_not_see_each_other(namespace: str) -> None:
    shop = PostgresStore.open(server().url(), namespace=namespace)
    blog = PostgresStore.open(server().url(), namespace=f"{namespace}x")
    shop.push([job("q", id="one")])
    assert (shop.queues.names(), blog.queues.names()) == (["q"], [])
    assert blog.inspector.get("one") is None
    assert blog.push([job("q", id="one")])[0].decision == "created"
    for store in (shop, blog):
        store.close()
    with psycopg.connect(server().url(), autocommit=True) as connection:
        connection.execute(f'drop schema "{namespace}x" cascade')


def test_a_namespace_may_be_a_word_of_sql() -> None:
    store = PostgresStore.open(server().url(), namespace="select")
    assert store.push([job("q")])[0].decision == "created"
    store.close()
    with psycopg.connect(server().url(), autocommit=True) as connection:
        connection.execute('drop schema "select" cascade')


# --- what is refused ----------------------------------------------------------------------------------------


def test_a_schema_of_a_newer_version_is_refused_with_both_numbers(
    namespace: str, admin: "psycopg.Connection[Any]"
) -> None:
    PostgresStore.open(server().url(), namespace=namespace).close()
    admin.execute(f'update "{namespace}".meta set schema = 99, finished = 99')
    with pytest.raises(
        SchemaTooNew, match=f"has schema 99, and this version of Holdfast reads up to {len(migrations())}; upgrade"
    ):
        PostgresStore.open(server().url(), namespace=namespace)


def test_a_server_that_is_too_old_is_refused_with_both_versions(
    namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "_LEAST_VERSION", 990000)
    with pytest.raises(StoreUnsafe, match=r"runs PostgreSQL 18; Holdfast needs 99 or later$"):
        PostgresStore.open(server().url(), namespace=namespace)


def test_the_oldest_server_at_hand_will_do() -> None:
    """The wheel brings 16 and 18; the SQL is that of 14."""
    older = PostgresServer("pginstall")
    try:
        store = PostgresStore.open(older.url())
        assert store.push([job("q")])[0].decision == "created"
        store.close()
    finally:
        older.stop()


def test_a_server_without_fsync_is_refused_by_the_setting() -> None:
    careless = PostgresServer(fsync="off")
    try:
        with pytest.raises(StoreUnsafe, match=r"runs with fsync = off.*set fsync = on"):
            PostgresStore.open(careless.url())
    finally:
        careless.stop()


def test_a_session_is_durable_whatever_its_user_is_set_to(namespace: str, admin: "psycopg.Connection[Any]") -> None:
    admin.execute("alter role holdfast set synchronous_commit = off")
    try:
        store = PostgresStore.open(server().url(), namespace=namespace)
        shown = store._db.do(lambda connection: connection.execute("show synchronous_commit").fetchone())
        assert shown == ("on",)
        store.close()
    finally:
        admin.execute("alter role holdfast reset synchronous_commit")


def test_a_wrong_password_is_refused_and_not_shown(guarded: str) -> None:
    with pytest.raises(StoreUnavailable, match="password authentication failed") as caught:
        PostgresStore.open(_url(user=guarded, password="guess-0815"))
    _is_one_sentence_without("guess-0815", caught.value)


def test_a_missing_database_is_named() -> None:
    with pytest.raises(StoreUnavailable, match='database "nowhere" does not exist') as caught:
        PostgresStore.open(_url(password=SECRET, database="nowhere"))
    _is_one_sentence_without(SECRET, caught.value)


def test_a_user_without_rights_is_told_what_is_missing(guarded: str, namespace: str) -> None:
    with pytest.raises(StoreUnavailable, match=r"permission denied for database postgres\); grant it") as caught:
        PostgresStore.open(_url(user=guarded, password=SECRET), namespace=namespace)
    _is_one_sentence_without(SECRET, caught.value)


def test_a_server_that_is_not_there_is_said_to_be_unreachable() -> None:
    with pytest.raises(StoreUnavailable, match="cannot be reached") as caught:
        PostgresStore.open(f"postgresql://me:{SECRET}@127.0.0.1:1/jobs")
    _is_one_sentence_without(SECRET, caught.value)
    assert "postgresql://me@127.0.0.1:1/jobs" in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://me:{SECRET}@host:port/x",
        f"postgresql://me:{SECRET}@host/x?wrong=1",
        f"postgresql://me:{SECRET}@[::1/x",
        f"postgresql://me:%zz{SECRET}@host/x",
        f"postgresql://me:12/{SECRET}@host/x",
        f"postgresql://me:12?{SECRET}=@host/x",
    ],
)
def test_a_url_that_cannot_be_read_is_refused_without_its_password(url: str) -> None:
    """libpq quotes what it cannot read, and takes a / in a password for the end of the host."""
    with pytest.raises(InvalidInput, match="expected a URL such as postgresql://") as caught:
        PostgresStore.open(url)
    _is_one_sentence_without(SECRET, caught.value)


def test_a_description_shows_where_but_no_password(
    guarded: str, namespace: str, admin: "psycopg.Connection[Any]"
) -> None:
    admin.execute(f"grant create on database postgres to {guarded}")
    store = PostgresStore.open(_url(user=guarded, password=SECRET), namespace=namespace)
    info = store.describe()
    assert (info.kind, info.tier) == ("postgres", "durable")
    assert SECRET not in info.where
    assert f"{guarded}@" in info.where
    store.close()


def test_a_namespace_that_is_not_there_is_said_to_be_missing_and_is_not_made(
    namespace: str, admin: "psycopg.Connection[Any]"
) -> None:
    PostgresStore.open(server().url(), namespace=namespace).close()
    assert address.missing(server().url(), namespace) is None
    said = address.missing(server().url(), f"{namespace}y")
    assert said is not None
    assert re.search(rf"has no namespace '{namespace}y'; it has: .*\b{namespace}\b", said)
    assert admin.execute("select to_regnamespace(%s)", (f"{namespace}y",)).fetchone() == (None,)


def test_whether_a_store_is_missing_is_left_to_opening_it_if_nobody_can_tell() -> None:
    assert address.missing(_url(database="nowhere"), "holdfast") is None


def test_an_examination_tells_the_version_and_finds_this_server_well(namespace: str) -> None:
    store = PostgresStore.open(server().url(), namespace=namespace)
    found = {finding.what: finding for finding in store.inspector.examine()}
    assert found.keys() == {"postgres", "connections", "vacuum", "bloat", "migrations"}
    assert {finding.level for finding in found.values()} == {"ok"}
    assert "server 18" in found["postgres"].detail
    store.close()


def test_a_namespace_with_odd_characters_is_refused() -> None:
    with pytest.raises(InvalidName, match="namespace"):
        PostgresStore.open(server().url(), namespace='x"; drop table')


def test_a_closed_store_says_so(namespace: str) -> None:
    store = PostgresStore.open(server().url(), namespace=namespace)
    store.close()
    store.close()
    with pytest.raises(StoreClosed, match="was closed"):
        store.push([job()])


def _is_one_sentence_without(secret: str, error: BaseException | None) -> None:
    assert "\n" not in str(error)
    while error is not None:  # a traceback prints the causes too
        assert secret not in str(error)
        error = error.__cause__ or error.__context__
