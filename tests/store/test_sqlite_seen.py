"""What only the SQLite store has to get right about seen-sets: what they cost, and that processes share them."""

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.model.seen import SeenMark, Sketch
from holdfast.policy.seen import digest
from holdfast.store.sqlite.store import SqliteStore
from holdfast.testing.contract.sample_jobs import job, jobs
from tests.support.sqlite_costs import statements

A, B = digest("a"), digest("b")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore.open(tmp_path / "jobs.db", tier="fast")
    yield store
    store.close()


PUSHER = """
import json, sys
from collections import Counter
from holdfast.model.job import NewJob
from holdfast.model.seen import SeenMark
from holdfast.policy.seen import digest
from holdfast.store.sqlite.store import SqliteStore
path, name = sys.argv[1:]
store = SqliteStore.open(path, tier="fast")
print("ready", flush=True)
sys.stdin.readline()
stored = []
for number in range(40):
    keys = [f"{number}-{each}" for each in range(3)]
    batch = [NewJob(f"{name}-{key}", "q", "t", b"", seen=SeenMark(digest(key))) for key in keys]
    stored += [key for key, answer in zip(keys, store.push(batch)) if answer.decision == "created"]
print(json.dumps(stored), flush=True)
"""


@pytest.mark.parametrize("sketch", [None, Sketch(1000, 1e-9, blocks=2, hashes=30)])
def test_of_processes_that_push_one_key_at_once_one_stores_it(tmp_path: Path, sketch: Sketch | None) -> None:
    """I24"""
    path = tmp_path / "jobs.db"
    store = SqliteStore.open(path, tier="fast")
    store.seen.shape("q", sketch)
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
    stored = [key for pusher in pushers for key in json.loads(pusher.communicate(timeout=60)[0])]
    assert sorted(stored) == sorted(f"{number}-{each}" for number in range(40) for each in range(3))
    assert store.seen.get("q").count == 120
    store.close()


def test_a_transaction_that_is_rolled_back_leaves_its_keys_unseen(store: SqliteStore) -> None:
    """I4"""
    mine = sqlite3.connect(store.describe().where)
    store.guest.push(mine, [job(key="a", seen=SeenMark(A)), job(seen=SeenMark(B))])
    mine.rollback()
    assert store.seen.has("default", [A, B]) == [False, False]
    store.guest.push(mine, [job(key="a", seen=SeenMark(A))])
    mine.commit()
    mine.close()
    assert store.seen.has("default", [A, B]) == [True, False]


def test_who_does_not_ask_the_seen_set_pays_nothing_for_it(store: SqliteStore) -> None:
    store.seen.add("default", [A])
    for batch in (jobs(3), [job(key="a"), job()]):
        with statements(store) as told:
            store.push(batch)
        assert [
            text for text in told if "seen_block" in text or "from holdfast_seen" in text or "seen_set" in text
        ] == []


def test_a_thousand_keys_are_a_few_statements_and_one_commit(store: SqliteStore) -> None:
    for batch in ([digest(f"{number}") for number in range(1000)], [digest(f"new {number}") for number in range(1000)]):
        with statements(store) as told:
            store.seen.add("default", batch)
        assert len(told) <= 12
        assert [text for text in told if text == "commit"] == ["commit"]


def test_keys_that_were_seen_are_not_written_again(store: SqliteStore) -> None:
    batch = [digest(f"{number}") for number in range(1000)]
    store.seen.add("default", batch)
    with store._db.write() as connection:
        before = connection.total_changes
    assert not any(store.seen.add("default", batch))
    with store._db.write() as connection:
        assert connection.total_changes == before


def test_a_key_is_found_by_a_seek_and_what_is_past_its_term_by_an_index(store: SqliteStore) -> None:
    texts = [
        "select digest from holdfast_seen where seen_set = 1 and (until_us is null or until_us > 1) and digest in (?, ?)",
        store._statements["forget_seen"].replace(":now", "1").replace(":limit", "1"),
        "select block, bits from holdfast_seen_block where seen_set = ? and block in (?, ?)",
    ]
    with store._db.read() as connection:
        for text in texts:
            plan = connection.execute(
                "explain query plan " + text, (A, B)[: text.count("?")] + (1,) * (text.count("?") - 2)
            )
            assert [row[3] for row in plan if row[3].startswith("SCAN") and "VIRTUAL" not in row[3]] == []
