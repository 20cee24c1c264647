"""What only the SQLite store has to get right between processes: bells, locks, forks, checkpoints."""

import contextlib
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.errors import StoreUnavailable
from holdfast.model.query import Query
from holdfast.model.states import State
from holdfast.model.verdict import done
from holdfast.model.worker import WorkerRecord
from holdfast.store.sqlite import database
from holdfast.store.sqlite.store import SqliteStore
from holdfast.testing.contract.sample_jobs import job
from tests.support.processes import fork, in_a_child, until

PUSHER = """
import sys
from holdfast.model.job import NewJob
from holdfast.store.sqlite.store import SqliteStore
SqliteStore.open(sys.argv[1]).push([NewJob("from-afar", "q", "t", b"")])
"""
HOLDER = """
import sys
from holdfast.model.worker import WorkerRecord
from holdfast.store.sqlite.store import SqliteStore
store = SqliteStore.open(sys.argv[1])
store.enlist(WorkerRecord("holder", "here", 1, ("t",), lease_us=3_600_000_000))
print(store.claim("holder", ["q"], 10)[0].id, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "jobs.db"


def test_a_push_in_another_process_ends_a_wait_long_before_the_slow_look(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.store.sqlite.store.LOOK_S", 60.0)
    store = SqliteStore.open(path)
    ended = threading.Event()
    waiter = threading.Thread(target=lambda: (store.wait(["q"], 60.0), ended.set()))
    waiter.start()
    until(lambda: any((path.parent / "jobs.db-holdfast").glob("work-*")))
    subprocess.run([sys.executable, "-c", PUSHER, str(path)], check=True, timeout=30)
    assert ended.wait(5.0)
    waiter.join()


def test_a_worker_killed_by_the_system_is_rescued_at_once_whatever_its_lease(path: Path) -> None:
    """I13: the lock of a dead process is free; nobody waits for the hour of its lease."""
    store = SqliteStore.open(path)
    store.push([job("q", task="t", id="held")])
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdout is not None
    assert holder.stdout.readline().strip() == b"held"
    assert store.rescue() == []
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    (rescued,) = store.rescue()
    assert (rescued.worker, rescued.jobs) == ("holder", ("held",))
    store.enlist(WorkerRecord("next", "here", 1, ("t",)))
    assert [claim.id for claim in store.claim("next", ["q"], 10)] == ["held"]
    holder.communicate()


def test_a_pipe_left_by_a_killed_process_is_removed_by_the_next_push(path: Path) -> None:
    store = SqliteStore.open(path)
    stale = path.parent / "jobs.db-holdfast" / "work-1-dead"
    os.mkfifo(stale)
    store.push([job("q")])
    assert not stale.exists()


def test_a_forked_child_opens_its_own_connections(path: Path) -> None:
    store = SqliteStore.open(path)
    store.push([job("q", id="before")])
    child = os.fork()
    if child == 0:
        code = 1
        try:
            store.push([job("q", id="inside")])
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    store.push([job("q", id="after")])
    assert store.queues.get("q").counts == {"ready": 3}  # type: ignore[union-attr]


def test_a_child_forked_while_others_write_can_write_at_once(path: Path) -> None:
    """What is under way at the fork is the parent's business: the child must not wait for it for ever."""
    store = SqliteStore.open(path, tier="fast")
    is_over = threading.Event()

    def write() -> None:
        while not is_over.is_set():
            store.push([job("q")])

    writers = [threading.Thread(target=write) for _ in range(2)]
    for writer in writers:
        writer.start()
    try:
        codes = [in_a_child(lambda: store.push([job("q")])) for _ in range(10)]
    finally:
        is_over.set()
        for writer in writers:
            writer.join()
    assert codes == [0] * 10


def test_a_parent_that_closes_takes_nothing_from_its_child(path: Path) -> None:
    """I1: the parent must not take itself for the last user and remove the log that the child writes to."""
    store = SqliteStore.open(path)
    store.push([job("q", id="before")])
    ours, theirs = socket.socketpair()

    def act() -> None:
        store.push([job("q", id="first")])
        theirs.send(b"I have the file open")
        theirs.recv(1)
        store.push([job("q", id="second")])

    with ours, theirs:
        child = fork(act)
        store.push([job("q", id="beside")])
        ours.recv(100)
        store.close()
        ours.send(b".")
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    again = SqliteStore.open(path)
    assert {record.id for record in again.inspector.find(Query())} == {"before", "beside", "first", "second"}


def test_the_log_is_copied_into_the_file_when_it_grows_and_starts_anew(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "CHECKPOINT_BYTES", 200_000)
    store = SqliteStore.open(path)
    largest = 0
    for _ in range(60):
        store.push([job("q", envelope=b"x" * 2000) for _ in range(20)])
        largest = max(largest, Path(f"{path}-wal").stat().st_size)
    assert largest < 600_000
    assert path.stat().st_size > 1_000_000
    assert store.queues.get("q").counts == {"ready": 1200}  # type: ignore[union-attr]


def test_a_log_that_grew_behind_a_long_reader_is_cut_back_afterwards(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "CHECKPOINT_BYTES", 200_000)
    monkeypatch.setattr(database, "_KEPT_LOG_BYTES", 400_000)
    store = SqliteStore.open(path)
    log = Path(f"{path}-wal")
    store.push([job("q")])
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("begin")
        reader.execute("select count(*) from holdfast_job").fetchone()
        for _ in range(30):
            store.push([job("q", envelope=b"x" * 2000) for _ in range(20)])
        assert log.stat().st_size > 1_000_000
        reader.execute("rollback")
    for _ in range(3):
        store.push([job("q")])
    assert log.stat().st_size <= 400_000
    assert store.queues.get("q").counts == {"ready": 604}  # type: ignore[union-attr]


def test_a_claim_among_a_hundred_thousand_jobs_reads_no_more_than_one_among_a_hundred(path: Path) -> None:
    """Counted in steps of SQLite's machine, not in seconds."""
    store = SqliteStore.open(path, tier="fast")
    store.enlist(WorkerRecord("w", "here", 1, ("t",), lease_us=3_600_000_000))
    store.push([job("q", priority=n % 7) for n in range(100)])
    few = _steps_of_a_claim(store)
    for _ in range(10):
        store.push([job("q", priority=n % 7) for n in range(10_000)])
    assert _steps_of_a_claim(store) < few * 2


def test_writers_in_many_threads_all_get_through(path: Path) -> None:
    store = SqliteStore.open(path, tier="fast")
    other = SqliteStore.open(path, tier="fast")
    threads = [
        threading.Thread(target=lambda at=at: [at.push([job("q")]) for _ in range(50)]) for at in (store, other) * 3
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.queues.get("q").counts == {"ready": 300}  # type: ignore[union-attr]


def test_a_step_of_the_wall_clock_ends_no_lease(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """I11 on one machine: leases run on the boot clock."""
    store = SqliteStore.open(path)
    store.enlist(WorkerRecord("w", "here", 1, ("t",)))
    real = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() + 86_400 * 10**9)
    assert store.rescue() == []
    assert store.beat("w").is_alive


@pytest.mark.parametrize("states", [("running",), ("failed",), ("parked", "cancelled")])
def test_few_jobs_of_a_state_are_found_among_many_without_a_walk_over_all(
    path: Path, states: tuple[State, ...]
) -> None:
    store = SqliteStore.open(path, tier="fast")
    few = _steps(store, lambda: store.inspector.find(Query(states=states)))
    store.push([job("q") for _ in range(5000)])
    many = _steps(store, lambda: store.inspector.find(Query(states=states)))
    assert many < few + 200


def _steps(store: SqliteStore, act: Callable[[], object]) -> int:
    steps = [0]

    def count() -> int:
        steps[0] += 1
        return 0

    with store._db.read() as connection:
        connection.set_progress_handler(count, 1)
    act()
    with store._db.read() as connection:
        connection.set_progress_handler(None, 0)
    return steps[0]


def _steps_of_a_claim(store: SqliteStore) -> int:
    steps = [0]

    def count() -> int:
        steps[0] += 1
        return 0

    store._db._ready().writer.set_progress_handler(count, 1)
    claims = store.claim("w", ["q"], 10)
    store._db._ready().writer.set_progress_handler(None, 0)
    assert store.settle([done(claim) for claim in claims]) == []
    return steps[0]


# --- bells ----------------------------------------------------------------------------------------------------------


def test_a_bell_that_is_being_made_is_not_taken_for_one_left_over(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever rings removes pipes without a reader, and a new pipe has none for a moment."""
    store, other = SqliteStore.open(path), SqliteStore.open(path)
    make = os.mkfifo

    def make_and_be_rung(*given: Any, **options: Any) -> None:
        make(*given, **options)
        other.push([job()])

    monkeypatch.setattr("holdfast.store.sqlite.doorbell.os.mkfifo", make_and_be_rung)
    store.wait(["nothing"], 0.01)
    assert list((path.parent / "jobs.db-holdfast").glob("work-*"))
    store.close()
    other.close()


def test_a_folder_of_bells_that_is_gone_is_an_error_for_who_waits_and_for_nobody_else(path: Path) -> None:
    """I32: what is committed is not reported as failed."""
    store = SqliteStore.open(path)
    shutil.rmtree(path.parent / "jobs.db-holdfast")
    assert store.push([job()])[0].decision == "created"
    with pytest.raises(StoreUnavailable, match=r"jobs\.db-holdfast"):
        store.wait(["nothing"], 0.01)
    store.close()
