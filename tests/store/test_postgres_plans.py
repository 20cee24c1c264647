"""How the server carries out what is on the job path: by seeks in the right index, however deep the backlog.

A plan is made once and kept, so it must not depend on how many jobs there were when it was made.
"""

import re
from collections.abc import Iterator

import psycopg
import pytest

from holdfast.model.job import NewJob
from holdfast.model.query import Query
from holdfast.store.postgres.inspector import _CONDITIONS
from holdfast.store.postgres.rows import RECORD
from holdfast.store.postgres.store import PostgresStore
from holdfast.testing.contract.sample_jobs import job, jobs
from tests.support.servers_postgres import empty_url

PARAMS = {
    "queue": "q", "queues": ["q"], "worker": "w", "nonce": "n", "now": 1, "limit": 10, "ids": ["a"], "priority": 0,
    "below": 1, "reason": "r", "state": "failed", "shelved": ["other"], "seqs": [1], "since": 1, "under_way": [1],
    "names": ["a"], "counts": True, "rank": 0, "name": "", "gate": "timed", "up_to": 1, "lanes": ["a"], "numbers": [1],
    "known": [1], "keys": ["k"], "bounded": ["q"], "by": 1, "ageing": 1, "most": 1, "digests": [b"d"], "ttls": [1],
    "blocks": [1], "bits": b"b",
}  # fmt: skip
JOB_PATH = (
    "look", "wake_at", "claim_fifo", "claim_lifo", "claim_known", "shelf", "shelf_news", "promote", "expire",
    "unpark_known", "held", "ripe", "next_due", "hold_lease", "lock_queues", "read_lane_news", "lanes_named", "lanes_open",
    "lanes_at", "best_fifo", "best_lifo", "best_ageing", "take", "begin_to_flow", "restless",
    "lock_keys", "unlock_keys", "holders", "before_admission", "let_go", "let_in", "grow", "recount", "forget_successes",
    "mark_seen", "find_seen", "forget_seen", "forget_old_seen", "read_seen_blocks", "make_seen_blocks", "lock_seen_blocks",
    "look_drained",
)  # fmt: skip
BAD_SIGNS = ("Seq Scan", "hashed SubPlan", "Bitmap", "Hash Join", "Merge Join")


@pytest.fixture
def store() -> Iterator[PostgresStore]:
    opened = PostgresStore.open(empty_url())
    yield opened
    opened.close()


@pytest.mark.parametrize("number", [0, 1000], ids=["an empty table", "a small table that was analysed"])
@pytest.mark.parametrize("name", JOB_PATH)
def test_what_is_on_the_job_path_is_found_by_seeks(name: str, number: int, store: PostgresStore) -> None:
    store.push(jobs(number, "q"))
    store._db.do(lambda connection: connection.execute(store._statements.of("analyze ns_job, ns_queue")))

    def plan(connection: "psycopg.Connection[tuple[str, ...]]") -> str:
        text = store._statements[name]
        with psycopg.ClientCursor(connection) as cursor:
            cursor.execute(f"explain {text}", {key: PARAMS[key] for key in PARAMS if f"%({key})" in text})
            return "\n".join(row[0] for row in cursor.fetchall())

    told = store._db.do(plan)
    assert [sign for sign in BAD_SIGNS if sign in told] == [], told


def test_when_the_next_job_is_due_costs_seeks_and_no_walk_over_the_backlog(store: PostgresStore) -> None:
    store.push([NewJob(f"{number}", "q", "t", b"", priority=number % 3) for number in range(3000)])
    first = store.inspector.get("0")
    assert first is not None
    assert store.inspector.next_due(["q"]) == first.due_us

    def rows(connection: "psycopg.Connection[tuple[str, ...]]") -> list[str]:
        with psycopg.ClientCursor(connection) as cursor:
            cursor.execute(f"explain (analyze, costs off) {store._statements['next_due']}", {"queues": ["q"]})
            return [row[0] for row in cursor.fetchall() if "on job" in row[0]]

    # Per index scan: how many rows it gave each time it was begun.
    assert {re.search(r"rows=([\d.]+) loops", told)[1].partition(".")[0] for told in store._db.do(rows)} <= {"0", "1"}  # type: ignore[index]


def test_the_unfinished_jobs_of_a_lane_are_found_in_their_own_index(store: PostgresStore) -> None:
    store.push([job("q", lane=f"lane{number % 50}") for number in range(2000)])
    where, values = _CONDITIONS.of(Query(("ready", "running"), "q", limit=1, lane="lane7"), None)
    text = store._statements.of(f"explain {RECORD} where {where} order by seq desc limit %(limit)s")

    def plan(connection: "psycopg.Connection[tuple[str, ...]]") -> str:
        with psycopg.ClientCursor(connection) as cursor:
            cursor.execute(text, values)
            return "\n".join(row[0] for row in cursor.fetchall())

    told = store._db.do(plan)
    assert "using job_unfinished" in told, told
    assert "Sort" not in told, told
