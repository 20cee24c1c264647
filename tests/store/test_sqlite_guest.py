"""Enqueueing in a transaction of one's own, on SQLite: the job is there if and only if it commits (I4)."""

import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from holdfast import Holdfast
from holdfast.errors import InvalidInput, StoreUnavailable
from holdfast.testing.contract.sample_jobs import claimed_ids, enlisted, job, pushed


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Holdfast]:
    with Holdfast(f"sqlite:///{tmp_path}/shop.db") as app:
        app.task(name="send")(print)
        app.store.now()  # the file and its tables are there
        yield app


@pytest.fixture
def mine(app: Holdfast, tmp_path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(tmp_path / "shop.db")
    connection.execute("create table purchase (item text)")
    connection.commit()
    yield connection
    connection.close()


def stored(app: Holdfast, job_id: str) -> bool:
    return app.store.inspector.get(job_id) is not None


def test_the_job_is_there_when_the_transaction_commits(app: Holdfast, mine: sqlite3.Connection) -> None:
    """I4."""
    with mine:
        mine.execute("insert into purchase values ('tea')")
        job = app.enqueue_in(mine, app.tasks["send"].using(tags=["a", "b"], queue="mail").s("tea"))
        assert not stored(app, job.id)
    assert stored(app, job.id)
    assert app.drain() == 1


def test_nothing_is_there_after_a_rollback(app: Holdfast, mine: sqlite3.Connection) -> None:
    """I4."""
    job = app.enqueue_in(mine, app.tasks["send"].s("tea"))
    mine.rollback()
    assert not stored(app, job.id)
    assert app.drain() == 0


def test_a_process_that_ends_before_its_commit_has_enqueued_nothing(app: Holdfast, mine: sqlite3.Connection) -> None:
    """I4."""
    job = app.enqueue_in(mine, app.tasks["send"].s("tea"))
    mine.close()
    assert not stored(app, job.id)


def test_a_repeated_id_is_a_duplicate(app: Holdfast, mine: sqlite3.Connection) -> None:
    """I3."""
    call = app.tasks["send"].using(id="once").s("tea")
    with mine:
        jobs = app.enqueue_many_in(mine, [call, call])
    assert [job.decision for job in jobs] == ["created", "duplicate"]


def test_a_declared_queue_does_not_make_us_wait_for_the_callers_own_lock(tmp_path: Path, app: Holdfast) -> None:
    app.queue("mail", order="lifo")
    mine = sqlite3.connect(tmp_path / "shop.db", isolation_level=None)
    mine.execute("begin immediate")
    began = time.monotonic()
    app.enqueue_in(mine, app.tasks["send"].using(queue="mail").s("tea"))
    assert time.monotonic() - began < 2
    mine.execute("commit")
    mine.close()
    assert app.drain() == 1


def test_rows_of_any_shape_are_the_callers_business(app: Holdfast, mine: sqlite3.Connection) -> None:
    mine.row_factory = lambda cursor, row: {"first": row[0]}
    with mine:
        app.enqueue_in(mine, app.tasks["send"].s("tea"))
    assert mine.execute("select 1").fetchone() == {"first": 1}
    assert app.drain() == 1


@pytest.mark.parametrize("kind", ["connection", "session"])
def test_sqlalchemy_commits_the_job_with_its_own_rows(kind: str, app: Holdfast, tmp_path: Path) -> None:
    engine = sa.create_engine(f"sqlite:///{tmp_path}/shop.db")
    with engine.connect() if kind == "connection" else Session(engine) as work:
        lost = app.enqueue_in(work, app.tasks["send"].s("tea"))
        work.rollback()
        kept = app.enqueue_in(work, app.tasks["send"].s("milk"))
        work.commit()
    engine.dispose()
    assert (stored(app, lost.id), stored(app, kept.id)) == (False, True)


def test_who_waits_is_woken_soon_after_the_commit(app: Holdfast, mine: sqlite3.Connection) -> None:
    with mine:
        app.enqueue_in(mine, app.tasks["send"].s("tea"))
    began = time.monotonic()
    app.store.wait(None, 5)
    assert time.monotonic() - began < 0.4


class TestBadInput:
    def test_a_connection_to_another_file_is_refused(self, app: Holdfast, tmp_path: Path) -> None:
        other = sqlite3.connect(tmp_path / "other.db")
        with pytest.raises(
            InvalidInput, match=r"expected a connection to .*shop\.db, where the jobs are; this one is to"
        ):
            app.enqueue_in(other, app.tasks["send"].s("tea"))
        other.close()

    def test_a_connection_that_would_commit_at_once_is_refused(self, app: Holdfast, tmp_path: Path) -> None:
        mine = sqlite3.connect(tmp_path / "shop.db", isolation_level=None)
        with pytest.raises(InvalidInput, match="has no transaction open and would commit at once"):
            app.enqueue_in(mine, app.tasks["send"].s("tea"))
        mine.execute("begin immediate")
        app.enqueue_in(mine, app.tasks["send"].s("tea"))
        mine.execute("commit")
        mine.close()
        assert app.drain() == 1

    @pytest.mark.parametrize("stranger", [None, "shop.db", object()])
    def test_what_is_no_connection_is_refused(self, stranger: object, app: Holdfast) -> None:
        with pytest.raises(InvalidInput, match="expected a connection of sqlite3 or SQLAlchemy"):
            app.enqueue_in(stranger, app.tasks["send"].s("tea"))

    def test_a_transaction_that_came_too_late_is_told_what_to_do(self, app: Holdfast, mine: sqlite3.Connection) -> None:
        mine.execute("begin")
        mine.execute("select count(*) from purchase").fetchone()
        app.enqueue("send", "sooner")
        with pytest.raises(StoreUnavailable, match="begin it with BEGIN IMMEDIATE"):
            app.enqueue_in(mine, app.tasks["send"].s("tea"))

    def test_a_store_without_transactions_says_so(self) -> None:
        with Holdfast("memory://") as app:
            app.task(name="send")(print)
            with pytest.raises(InvalidInput, match="cannot take part in a transaction of yours"):
                app.enqueue_in(None, app.tasks["send"].s("tea"))


def test_a_job_with_a_lane_can_be_claimed_after_the_commit(app: Holdfast, mine: sqlite3.Connection) -> None:
    """Its news are committed with it: a claim that came before did not see them."""
    store = app.store
    worker = enlisted(store)
    first, second = pushed(store, "laned", lane="a"), job("laned", lane="a")
    assert claimed_ids(store, worker, "laned") == [first]
    assert store.guest is not None
    with mine:
        mine.execute("insert into purchase values ('tea')")
        store.guest.push(mine, [second])
    assert claimed_ids(store, worker, "laned") == [second.id]
