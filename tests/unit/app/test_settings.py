"""Which store an app uses, and when it opens it: never before it is needed, once per process, again after closing."""

import asyncio
import logging
import os
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest

from holdfast import DeclarationError, Holdfast, InvalidInput, StoreClosed, StoreUnavailable, StoreUnsafe, UnknownOption
from holdfast.store.memory.store import MemoryStore
from holdfast.store.protocol import Store
from holdfast.testing.contract.virtual_clock import VirtualClock
from tests.unit.app.looking import all_jobs

SECRET = "a-secret-of-some-length"


def noop() -> None: ...


def task_of(app: Holdfast) -> Any:
    return app.task(name="noop")(noop)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


# --- lazy ---------------------------------------------------------------------------------------------------


def test_making_an_app_and_declaring_on_it_touches_nothing(folder: Path) -> None:
    before = threading.active_count()
    app = Holdfast("sqlite:///jobs.db", imports=["no.such.module"], secret=SECRET, tier="no such tier")
    task = task_of(app)
    app.queue("mail", order="lifo")
    app.register()
    task.s()
    task.using(queue="mail", delay=5)
    app.worker()
    app.consumer("mail")
    app.job("x")
    assert (repr(app), app.is_signed) == (f"<Holdfast on sqlite:///{folder}/jobs.db>", True)
    assert list(folder.iterdir()) == []
    assert threading.active_count() == before
    app.close()
    assert list(folder.iterdir()) == []


def test_the_first_use_opens_and_says_where(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    app = Holdfast()
    with caplog.at_level(logging.INFO, "holdfast"):
        task_of(app).enqueue()
        task_of(Holdfast("memory://"))
    assert (folder / "holdfast.db").exists()
    assert f"jobs are kept in {folder}/holdfast.db (sqlite, durable)" in caplog.text
    app.close()


def test_a_relative_path_is_settled_when_the_store_is_opened(folder: Path) -> None:
    app = Holdfast("sqlite:///jobs.db")
    app.store.describe()
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    os.chdir(elsewhere)
    task_of(app).enqueue()
    assert list(elsewhere.iterdir()) == []
    app.close()


def test_closing_lets_the_next_use_open_again(folder: Path) -> None:
    app = Holdfast("sqlite:///jobs.db")
    job = task_of(app).enqueue()
    app.close()
    app.close()
    assert job.state() == "ready"
    app.close()


def test_a_failed_opening_is_tried_again(folder: Path) -> None:
    app = Holdfast("sqlite:///sub/jobs.db")
    task = task_of(app)
    with pytest.raises(StoreUnavailable):
        task.enqueue()
    (folder / "sub").mkdir()
    assert task.enqueue().state() == "ready"
    app.close()


def test_an_app_is_a_context_manager(folder: Path) -> None:
    with Holdfast("sqlite:///jobs.db") as app:
        task_of(app).enqueue()
        store = app.store
    with pytest.raises(StoreClosed):
        store.queues.names()

    async def main() -> Store:
        async with Holdfast("sqlite:///jobs.db") as app:
            return app.store

    store = asyncio.run(main())
    with pytest.raises(StoreClosed):
        store.queues.names()


# --- from where ---------------------------------------------------------------------------------------------


def test_an_argument_beats_the_environment_beats_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    app = Holdfast()
    assert (app.url, app.namespace, app.is_signed, app.tier) == ("sqlite:///holdfast.db", "holdfast", False, None)
    monkeypatch.setenv("HOLDFAST_URL", "memory://")
    monkeypatch.setenv("HOLDFAST_NAMESPACE", "shop")
    monkeypatch.setenv("HOLDFAST_SECRET", f"{SECRET},an-older-secret-of-length")
    assert (app.url, app.namespace, app.is_signed) == ("memory://", "shop", True)
    given = Holdfast("sqlite:///x.db", namespace="other", secret="")
    assert (given.url, given.namespace, given.is_signed) == ("sqlite:///x.db", "other", False)


@pytest.mark.parametrize("name", ["HOLDFAST_URL", "HOLDFAST_SECRET", "HOLDFAST_NAMESPACE"])
def test_an_empty_variable_is_no_variable(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "")
    app = Holdfast()
    assert (app.url, app.namespace, app.is_signed) == ("sqlite:///holdfast.db", "holdfast", False)


def test_a_bad_namespace_in_the_environment_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_NAMESPACE", "No Good")
    with pytest.raises(InvalidInput, match=r"expected a namespace .* got: 'No Good'"):
        task_of(Holdfast("memory://")).enqueue()


def test_a_namespace_is_the_prefix_of_the_tables(folder: Path) -> None:
    with Holdfast("sqlite:///jobs.db", namespace="shop") as one, Holdfast("sqlite:///jobs.db") as two:
        task_of(one).enqueue()
        assert two.queues.names() == []
    with sqlite3.connect(folder / "jobs.db") as connection:
        names = {row[0] for row in connection.execute("select name from sqlite_master")}
    connection.close()
    assert {"shop_job", "holdfast_job"} <= names


@pytest.mark.parametrize(
    "secret", [SECRET, SECRET.encode(), [SECRET], (SECRET, "an-older-secret-of-length"), [SECRET.encode()]]
)
def test_a_secret_may_be_text_bytes_or_a_list(secret: Any) -> None:
    with Holdfast("memory://", secret=secret) as app:
        job = task_of(app).enqueue()
        assert job.record().seal is not None
        app.drain()
        assert job.result(0) is None


def test_a_password_is_never_shown() -> None:
    assert "hunter2" not in repr(Holdfast("postgresql://me:hunter2@db/jobs"))


@pytest.mark.parametrize("url", ["sqlite://jobs.db", "sqlite:///", "nonsense", "sqlite:///:memory:"])
def test_a_repr_never_raises(url: str) -> None:
    app = Holdfast(url)
    assert repr(app).startswith("<Holdfast on ")
    with pytest.raises(InvalidInput):
        task_of(app).enqueue()


def test_a_tier_that_cannot_be_had_is_refused() -> None:
    with pytest.raises(StoreUnsafe, match="memory:// cannot be 'durable'"):
        task_of(Holdfast("memory://", tier="durable")).enqueue()


# --- configure, override, attach ----------------------------------------------------------------------------


def test_an_app_can_be_configured_until_it_is_used(clock: VirtualClock) -> None:
    app = Holdfast("sqlite:///never.db")
    task = task_of(app)
    app.configure(url="memory://", clock=clock, secret=SECRET)
    assert (app.url, app.clock, app.is_signed) == ("memory://", clock, True)
    task.enqueue()
    with pytest.raises(DeclarationError, match=r"configure\(\) came too late: the store is open"):
        app.configure(url="sqlite:///other.db")
    app.close()
    app.configure(namespace="shop")
    assert (app.url, app.namespace) == ("memory://", "shop")


def test_configuring_what_there_is_not_is_refused() -> None:
    app = Holdfast("memory://")
    with pytest.raises(UnknownOption, match="there is no setting 'uri'; the settings are url, secret, namespace"):
        app.configure(uri="memory://")
    with pytest.raises(InvalidInput, match="expected url to be text, got: 5"):
        app.configure(url=5)
    assert app.url == "memory://"


def test_another_store_for_a_while(folder: Path, clock: VirtualClock) -> None:
    app = Holdfast("sqlite:///jobs.db", tier="fast", secret=SECRET)
    app.queue("mail", order="lifo")
    task = task_of(app)
    job = task.enqueue()
    with app.override(clock=clock) as same:
        assert same is app
        assert (app.url, app.tier, app.clock, app.is_signed) == ("memory://", None, clock, True)
        assert all_jobs(app) == []
        task.using(queue="mail").enqueue()
        assert app.queues["mail"].record().policy.order == "lifo"
        inner = app.store
        with app.override(secret=""):
            assert all_jobs(app) == []
            assert not app.is_signed
        assert app.store is inner
        assert app.drain() == 1
    assert job.state() == "ready"
    assert app.clock is None
    app.close()


def test_the_other_store_is_closed_when_the_while_is_over_however_it_ends() -> None:
    app = Holdfast("memory://")
    stores: list[Store] = []

    def fail() -> None:
        with app.override():
            stores.append(app.store)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    with pytest.raises(StoreClosed):
        stores[0].queues.names()


def test_an_attached_store_is_used_and_not_closed(clock: VirtualClock) -> None:
    store = MemoryStore(clock)
    app = Holdfast("sqlite:///never.db")
    app.attach(store)
    job = task_of(app).enqueue()
    assert app.store is store
    app.close()
    assert store.inspector.get(job.id) is not None
    store.close()
