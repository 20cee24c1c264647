"""What only the SQLite store has to get right about keys and bounds: what they cost, and that sizes are true."""

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import invariant, run_state_machine_as_test

from holdfast.model.queue import QueuePolicy
from holdfast.model.verdict import released
from holdfast.store.protocol import Clock
from holdfast.store.sqlite.store import SqliteStore
from holdfast.testing.contract.model import Program
from holdfast.testing.contract.sample_jobs import enlisted, job, jobs
from tests.support.sqlite_costs import statements, steps

WRONG_SIZES = """
select name, size, max_size, n
  from (select name, size, max_size, (select count(*) from holdfast_job where queue = name
                                         and state in ('waiting', 'scheduled', 'ready')) as n from holdfast_queue)
 where (size is null) <> (max_size is null) or size <> n
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore.open(tmp_path / "jobs.db", tier="fast")
    yield store
    store.close()


def test_the_size_that_is_kept_of_a_bounded_queue_is_the_one_that_is_counted(tmp_path: Path) -> None:
    """I39, after every operation of many programs."""
    numbers = count()

    def open_store(clock: Clock | None) -> SqliteStore:
        return SqliteStore.open(tmp_path / f"{next(numbers)}.db", tier="fast", clock=clock)

    class Counted(Program):
        def __init__(self) -> None:
            super().__init__(open_store, count())

        @invariant()
        def sizes_are_right(self) -> None:
            with self.store._db.read() as connection:  # type: ignore[attr-defined]
                assert connection.execute(WRONG_SIZES).fetchall() == []

    run_state_machine_as_test(
        Counted,
        settings=settings(
            max_examples=25, stateful_step_count=40, derandomize=True, database=None, deadline=None,
            suppress_health_check=list(HealthCheck), phases=[Phase.generate],
        ),
    )  # fmt: skip


def test_a_bounded_queue_is_not_counted_on_the_job_path(store: SqliteStore) -> None:
    """Counted in steps of SQLite's machine, among 20 jobs and among 20,000."""
    worker = enlisted(store, lease_s=1000)
    for queue, number in (("small", 20), ("large", 20_000)):
        store.queues.set_policy(queue, QueuePolicy(max_size=100_000))
        store.push(jobs(number, queue))
    taken: dict[str, int] = {}
    for queue in ("small", "large"):
        with steps(store) as seen:
            store.push(jobs(5, queue))
            claims = store.claim(worker, [queue], 5)
            store.settle([released(claim) for claim in claims])
        taken[queue] = len(seen)
    assert taken["large"] < 2 * taken["small"]


def test_a_batch_under_keys_asks_for_all_of_them_at_once(store: SqliteStore) -> None:
    store.push([job(key="first")])
    asked: list[int] = []
    for number in (1, 1000):
        with statements(store) as seen:
            store.push([job(key=f"{number}-{each}") for each in range(number)])
        asked.append(len([text for text in seen if "select" in text.lower() and "insert" not in text.lower()]))
    assert asked[0] == asked[1]


def test_the_database_itself_refuses_a_second_job_under_a_key(store: SqliteStore) -> None:
    """I23: a fault of ours would be an error, never a fact."""
    first = job(key="k")
    store.push([first])
    copy = (
        "insert into holdfast_job (id, queue, key, task, state, priority, due_us, created_us, crash_budget, keep_done_s, "
        "keep_dead_s, result_ttl_s, envelope) select 'twin', queue, key, task, ?, priority, due_us, created_us, "
        "crash_budget, keep_done_s, keep_dead_s, result_ttl_s, envelope from holdfast_job where id = ?"
    )
    with sqlite3.connect(store.describe().where) as connection:
        for state in ("scheduled", "parked", "spilled", "running"):
            with pytest.raises(sqlite3.IntegrityError):
                connection.execute(copy, (state, first.id))
    connection.close()


PUSHER = """
import json, sys
from collections import Counter
from holdfast.model.job import NewJob
from holdfast.store.sqlite.store import SqliteStore
path, name = sys.argv[1:]
store = SqliteStore.open(path, tier="fast")
print("ready", flush=True)
sys.stdin.readline()
found = Counter()
for number in range(40):
    batch = [NewJob(f"{name}-{number}-{each}", "q", "t", b"", key=f"{number}-{each}") for each in range(3)]
    found.update(answer.decision for answer in store.push(batch))
print(json.dumps(found), flush=True)
"""


def test_processes_that_push_at_once_share_one_bound_and_one_set_of_keys(tmp_path: Path) -> None:
    """I23, I24, I30"""
    path = tmp_path / "jobs.db"
    store = SqliteStore.open(path, tier="fast")
    store.queues.set_policy("q", QueuePolicy(max_size=100))
    pushers = [
        subprocess.Popen(
            [sys.executable, "-c", PUSHER, str(path), f"pusher{number}"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for number in range(3)
    ]  # fmt: skip
    for pusher in pushers:
        assert pusher.stdout is not None
        assert pusher.stdout.readline() == "ready\n"
    for pusher in pushers:
        assert pusher.stdin is not None
        pusher.stdin.write("go\n")
        pusher.stdin.flush()
    answers = [json.loads(pusher.communicate(timeout=60)[0]) for pusher in pushers]
    totals = {what: sum(answer.get(what, 0) for answer in answers) for what in ("created", "merged", "refused")}
    assert totals["created"] == 100, "the bound, and each key once"
    assert sum(totals.values()) == 3 * 40 * 3
    found = store.queues.get("q")
    assert found is not None
    assert (found.size, found.refused) == (100, totals["refused"])
    store.close()
