"""Enqueueing in a transaction of one's own, on PostgreSQL: the job is there if and only if it commits (I4)."""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from psycopg.rows import dict_row
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from holdfast import Holdfast
from holdfast.app.call import Call
from holdfast.errors import InvalidInput, StoreError
from holdfast.model.query import Query
from tests.support.servers_postgres import empty_url


@pytest.fixture
def app() -> Iterator[Holdfast]:
    with Holdfast(empty_url()) as app:
        app.task(name="send")(print)
        yield app


def call(app: Holdfast, **options: Any) -> Call[Any]:
    return app.tasks["send"].using(**options).s("tea")


def is_stored(app: Holdfast, job_id: str) -> bool:
    return app.store.inspector.get(job_id) is not None


def test_the_job_is_there_when_the_transaction_commits(app: Holdfast) -> None:
    """I4."""
    with psycopg.connect(app.url) as mine:
        job = app.enqueue_in(mine, call(app, tags=["a", "b"], queue="mail"))
        assert not is_stored(app, job.id)
        mine.commit()
        assert is_stored(app, job.id)
    assert app.drain() == 1


def test_nothing_is_there_after_a_rollback(app: Holdfast) -> None:
    """I4."""
    with psycopg.connect(app.url) as mine:
        job = app.enqueue_in(mine, call(app))
        mine.rollback()
    assert not is_stored(app, job.id)


def test_a_savepoint_that_is_rolled_back_takes_its_job_along(app: Holdfast) -> None:
    """I4."""
    with psycopg.connect(app.url) as mine:
        kept = app.enqueue_in(mine, call(app))
        with mine.transaction():
            lost = app.enqueue_in(mine, call(app))
            raise psycopg.Rollback
    assert (is_stored(app, kept.id), is_stored(app, lost.id)) == (True, False)


def test_a_repeated_id_is_a_duplicate(app: Holdfast) -> None:
    """I3."""
    with psycopg.connect(app.url, row_factory=dict_row) as mine:
        jobs = app.enqueue_many_in(mine, [call(app, id="once"), call(app, id="once")])
    assert [job.decision for job in jobs] == ["created", "duplicate"]


def test_one_that_is_held_open_blocks_no_producer_and_no_worker(app: Holdfast) -> None:
    with psycopg.connect(app.url) as mine:
        app.enqueue_in(mine, call(app, queue="new"))
        done = threading.Event()

        def work() -> None:
            app.enqueue("send", "tea")
            app.push(call(app, queue="new"))
            assert app.drain() == 2
            app.store.tidy()
            app.store.queues.get("new")
            done.set()

        threading.Thread(target=work, daemon=True).start()
        assert done.wait(5), "someone waits for a transaction that is held open"
    assert app.drain() == 1


@pytest.mark.parametrize("kind", ["connection", "session"])
def test_sqlalchemy_commits_the_job_with_its_own_rows(kind: str, app: Holdfast) -> None:
    engine = sa.create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(app.url))
    with engine.connect() if kind == "connection" else Session(engine) as work:
        lost = app.enqueue_in(work, call(app))
        work.rollback()
        kept = app.enqueue_in(work, call(app))
        work.commit()
    engine.dispose()
    assert (is_stored(app, lost.id), is_stored(app, kept.id)) == (False, True)


async def _psycopgs(app: Holdfast) -> tuple[str, str]:
    async with await psycopg.AsyncConnection.connect(app.url) as mine:
        lost = await app.aenqueue_in(mine, call(app))
        await mine.rollback()
        kept = await app.aenqueue_in(mine, call(app))
        await mine.commit()
    return lost.id, kept.id


async def _sqlalchemys(app: Holdfast, session: bool) -> tuple[str, str]:
    connecting = psycopg.AsyncConnection.connect
    engine = create_async_engine("postgresql+psycopg://", async_creator=lambda: connecting(app.url))
    async with AsyncSession(engine) if session else engine.connect() as mine:
        lost = await app.aenqueue_in(mine, call(app))
        await mine.rollback()
        kept = await app.aenqueue_in(mine, call(app))
        await mine.commit()
    await engine.dispose()
    return lost.id, kept.id


@pytest.mark.parametrize(
    "work",
    [_psycopgs, lambda app: _sqlalchemys(app, False), lambda app: _sqlalchemys(app, True)],
    ids=["psycopg", "SQLAlchemy connection", "SQLAlchemy session"],
)
def test_async_connections_do_as_well(
    work: Callable[[Holdfast], Coroutine[Any, Any, tuple[str, str]]], app: Holdfast
) -> None:
    lost, kept = asyncio.run(work(app))
    assert (is_stored(app, lost), is_stored(app, kept)) == (False, True)


def test_who_waits_is_woken_soon_after_the_commit(app: Holdfast) -> None:
    waiter = Holdfast(app.url)
    woken: list[float] = []

    def wait() -> None:
        waiter.store.wait(None, 10)
        woken.append(time.monotonic())

    thread = threading.Thread(target=wait)
    thread.start()
    time.sleep(0.3)
    with psycopg.connect(app.url) as mine:
        app.enqueue_in(mine, call(app))
    committed = time.monotonic()
    thread.join(10)
    waiter.close()
    assert woken[0] - committed < 0.3


class TestBadInput:
    def test_a_connection_that_would_commit_at_once_is_refused(self, app: Holdfast) -> None:
        with psycopg.connect(app.url, autocommit=True) as mine:
            with pytest.raises(InvalidInput, match="has no transaction open and would commit at once"):
                app.enqueue_in(mine, call(app))
            with mine.transaction():
                app.enqueue_in(mine, call(app))
        assert app.store.inspector.count(Query()) == 1

    def test_a_failed_transaction_is_refused(self, app: Holdfast) -> None:
        with psycopg.connect(app.url) as mine:
            with pytest.raises(psycopg.Error):
                mine.execute("select 1 / 0")
            with pytest.raises(InvalidInput, match="has failed or its line is broken; roll back"):
                app.enqueue_in(mine, call(app))

    def test_a_database_without_our_tables_is_named(self, app: Holdfast) -> None:
        with psycopg.connect(app.url.replace("/postgres?", "/template1?")) as mine:
            with pytest.raises(InvalidInput, match="is to a database without Holdfast's tables; connect to"):
                app.enqueue_in(mine, call(app))
            mine.rollback()

    @pytest.mark.parametrize("stranger", [None, "postgresql://there", object()])
    def test_what_is_no_connection_is_refused(self, stranger: object, app: Holdfast) -> None:
        with pytest.raises(InvalidInput, match=r"expected a psycopg\.Connection, or SQLAlchemy's"):
            app.enqueue_in(stranger, call(app))

    def test_an_async_connection_is_sent_to_the_other_door(self, app: Holdfast) -> None:
        async def wrong() -> None:
            async with await psycopg.AsyncConnection.connect(app.url) as mine:
                app.enqueue_in(mine, call(app))

        with pytest.raises(InvalidInput, match=r"or use aenqueue_in\(\)"):
            asyncio.run(wrong())

    def test_an_async_session_of_sqlalchemy_is_sent_there_too(self, app: Holdfast) -> None:
        with pytest.raises(InvalidInput, match=r"AsyncSession.*or use aenqueue_in\(\)"):
            app.enqueue_in(AsyncSession(create_async_engine("postgresql+psycopg://")), call(app))

    def test_a_broken_line_is_loud(self, app: Holdfast) -> None:
        """I32."""
        with psycopg.connect(app.url) as mine:
            mine.execute("select 1")
            with psycopg.connect(app.url, autocommit=True) as other:
                other.execute("select pg_terminate_backend(%s)", (mine.info.backend_pid,))
            with pytest.raises((StoreError, InvalidInput)):
                app.enqueue_in(mine, call(app))
