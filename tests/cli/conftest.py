"""Commands as these tests run them: inside this process where that proves as much, in a process of their own if not."""

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from holdfast import Holdfast
from holdfast.cli.main import holdfast
from holdfast.model.claim import Claim, Progress
from holdfast.model.verdict import done
from holdfast.model.worker import WorkerRecord, WorkerReport
from holdfast.store.connect import connect
from holdfast.store.protocol import Store
from tests.cli import shop
from tests.process.processes import Workers
from tests.process.tasks import app as process_app

ROOT = Path(__file__).parents[2]
APP = "tests.cli.shop:make"
SECRET = "a secret of more than sixteen characters"


class Answer(msgspec.Struct, frozen=True):
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def run(*arguments: str) -> Answer:
    """Run a command here. It may end in any way but by an error that nobody caught."""
    result = CliRunner().invoke(holdfast, list(arguments))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Answer(result.exit_code, result.stdout, result.stderr)


def run_apart(*arguments: str, **options: Any) -> Answer:
    """Run a command in a process of its own."""
    done = subprocess.run(
        command(*arguments), capture_output=True, text=True, timeout=60, check=False, env=environment(), **options
    )
    return Answer(done.returncode, done.stdout, done.stderr)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "holdfast", *arguments]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


class Shop:
    """A folder with a store in it, and an app that works on that store."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "jobs.db"
        self.url = f"sqlite:///{self.path}"
        self.app: Holdfast = shop.make(self.url)

    def enqueue(self, task: str, *args: Any, **options: Any) -> str:
        with self.app:
            return self.app.tasks[task].using(**options).enqueue(*args).id

    def drain(self) -> None:
        """Run what is due."""
        with self.app:
            self.app.drain()

    def done(self, task: str, *args: Any, **options: Any) -> str:
        """Enqueue a job and run it."""
        job_id = self.enqueue(task, *args, **options)
        self.drain()
        return job_id

    def state(self, job_id: str) -> str:
        with self.app:
            return self.app.job(job_id).state()

    def run(self, *arguments: str) -> Answer:
        """Run a command on this store."""
        return run("--url", self.url, *arguments)

    def json(self, *arguments: str) -> Any:
        answer = self.run(*arguments, "--json")
        assert answer.code == 0, answer.err
        return answer.json

    def change(self, statement: str, *values: Any) -> None:
        """Do what someone else does who can write to the file."""
        with closing(sqlite3.connect(self.path)) as connection:
            connection.execute("pragma wal_autocheckpoint=0")
            assert connection.execute(statement, values).rowcount == 1
            connection.commit()


class PretendedWorker:
    """Holds a lease on the store, claims, and tells of progress, all when the test says so."""

    def __init__(self, opened: Store) -> None:
        self.store = opened
        self.claims: dict[str, Claim] = {}
        self.records: list[WorkerRecord] = []

    def enlist(self, worker: str = "web-3-412-9f3c21ab", *, report: WorkerReport | None = None, **facts: Any) -> str:
        record = WorkerRecord(worker, "web-3", 412, lease_us=60_000_000, **facts)
        self.records.append(record)
        self.store.enlist(record)
        self.store.beat(worker, report=report)
        return worker

    def claim(self, worker: str, *queues: str) -> list[str]:
        """Take all that is ready."""
        claims = self.store.claim(worker, queues or self.store.queues.names(), 1000)
        self.claims |= {claim.id: claim for claim in claims}
        return [claim.id for claim in claims]

    def note(self, job_id: str, fraction: float | None, words: str | None = None) -> None:
        claim = self.claims[job_id]
        assert self.store.note([Progress(claim.id, claim.token, claim.queue, fraction, words)]) == []

    def finish(self, job_id: str) -> None:
        assert self.store.settle([done(self.claims[job_id])]) == []


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run every test in an empty folder, with an environment that names nothing."""
    for name in [name for name in os.environ if name.startswith("HOLDFAST_") or name == "NO_COLOR"]:
        monkeypatch.delenv(name)
    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Shop]:
    """A store that has two empty queues."""
    made = Shop(tmp_path)
    with made.app as app:
        app.queue("default")
        app.queue("mail")
        app.declare_queues()
    yield made
    made.app.close()


@pytest.fixture
def workers(store: Shop, tmp_path: Path) -> Iterator[Workers]:
    """Real workers on the store of this test, which run the tasks of `tests.process.tasks`."""
    crew = Workers(tmp_path)
    assert crew.url == store.url
    crew.environment["PYTHONPATH"] = str(ROOT)
    try:
        with process_app.override(url=crew.url):
            yield crew
    finally:
        crew.end()


@pytest.fixture
def pretended(store: Shop) -> Iterator[PretendedWorker]:
    """A worker that does only what the test says."""
    with closing(connect(store.url)) as opened:
        yield PretendedWorker(opened)


@pytest.fixture
def signed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have jobs signed, by whoever looks into the environment."""
    monkeypatch.setenv("HOLDFAST_SECRET", SECRET)


@pytest.fixture(params=[(), ("--json",)], ids=["human", "json"])
def form(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """Both forms of output."""
    chosen: tuple[str, ...] = request.param
    return chosen
