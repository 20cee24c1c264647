"""What only the SQLite store has to get right about lanes and limits: what they cost, and that nobody is left asleep."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.model.query import Query
from holdfast.model.queue import Limits, QueuePolicy, Rate
from holdfast.model.verdict import done
from holdfast.policy.moments import SECOND
from holdfast.store.sqlite.store import SqliteStore
from holdfast.testing.contract.sample_jobs import claimed_ids, enlisted, job, jobs, verdict
from holdfast.testing.contract.virtual_clock import VirtualClock
from tests.support.sqlite_costs import statements, steps

ONE_EACH = QueuePolicy(lane_limits=Limits(max_running=1))
ONCE_A_DAY = QueuePolicy(lane_limits=Limits(Rate(86_400 * SECOND, 1)))


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def store(tmp_path: Path, clock: VirtualClock) -> Iterator[SqliteStore]:
    store = SqliteStore.open(tmp_path / "jobs.db", tier="fast", clock=clock)
    yield store
    store.close()


@pytest.fixture
def worker(store: SqliteStore) -> str:
    return enlisted(store, lease_s=1_000_000)


def count(store: SqliteStore, table: str) -> int:
    with store._db.read() as connection:
        return int(connection.execute(f"select count(*) from holdfast_{table}").fetchone()[0])


# --- what it costs ----------------------------------------------------------------------------------------------


def test_a_plain_queue_pays_nothing_for_lanes_and_limits(store: SqliteStore, worker: str) -> None:
    """Not a statement more than what it takes: the lease, the look, the jobs, between begin and commit."""
    store.push([job(), job("flowing", lane="a")])
    with statements(store) as pushing:
        store.push([job()])
    with statements(store) as claiming:
        claims = store.claim(worker, ["default"], 10)
    with statements(store) as settling:
        store.settle([done(claim) for claim in claims])
    assert [len(pushing), len(claiming), len(settling)] == [4, 5, 3 + 2 * len(claims)]
    assert not [text for text in pushing + claiming + settling if "_news" in text or "_lane" in text]


def test_a_claim_costs_the_same_among_very_many_lanes_half_of_which_are_limited(
    store: SqliteStore, worker: str
) -> None:
    """I21: a lane that is held back costs a claim nothing, however many there are; nor do those whose turn is later."""
    for queue in ("few", "many"):
        store.queues.set_policy(queue, ONCE_A_DAY)
    store.push(jobs(100, "few", lane="a") + [job("few", lane=f"b{number}") for number in range(30)])
    limited, free = 50_000, 50_000
    lanes = [f"lane{number:06}" for number in range(limited)] * 2 + [f"open{number:06}" for number in range(free)]
    for first in range(0, len(lanes), 10_000):
        store.push([job("many", lane=lane) for lane in lanes[first : first + 10_000]])
    assert len(claimed_ids(store, worker, "few", limit=5)) == 5
    started = 0
    while started < limited or count(store, "news"):
        started += len(store.claim(worker, ["many"], 1000 if started < limited else 1))
    cost_of = {}
    for queue in ("few", "many"):
        with statements(store) as seen, steps(store) as taken:
            assert len(claimed_ids(store, worker, queue, limit=10)) == 10
        cost_of[queue] = len(seen), len(taken)
    assert cost_of["many"][0] <= cost_of["few"][0]
    assert cost_of["many"][1] <= 2 * cost_of["few"][1], cost_of


def test_where_priorities_age_a_claim_costs_by_the_priorities_there_are_and_not_by_the_jobs(
    store: SqliteStore, worker: str
) -> None:
    cost_of = {}
    for queue, number in (("few", 50), ("many", 5000)):
        store.queues.set_policy(queue, QueuePolicy(ageing_us=SECOND))
        store.push([job(queue, priority=place % 10) for place in range(number)])
        claimed_ids(store, worker, queue, limit=1)
        with statements(store) as seen, steps(store) as taken:
            assert len(claimed_ids(store, worker, queue, limit=2)) == 2
        cost_of[queue] = len(seen), len(taken)
    assert cost_of["many"][0] == cost_of["few"][0]
    assert cost_of["many"][1] <= 1.2 * cost_of["few"][1], cost_of


def test_looking_for_a_drain_writes_only_what_there_is_to_note(store: SqliteStore, worker: str) -> None:
    store.queues.set_policy("default", QueuePolicy(tells_drained=True))
    store.queues.set_policy("limited", ONE_EACH)
    store.push([job() for _ in range(2)] + [job("limited")])
    (claim,) = store.claim(worker, ["default"], 1)
    names = ["default", "limited", "nowhere"]
    with statements(store) as seen:
        assert store.queues.find_drained(names) == []
    assert seen == []
    store.settle([done(claim)])
    store.queues.purge("default")
    with statements(store) as seen:
        assert len(store.queues.find_drained(names)) == 1
    assert [text for text in seen if "limited" in text] == []


def test_the_unfinished_jobs_of_a_lane_are_found_whatever_else_there_is(store: SqliteStore, worker: str) -> None:
    query = Query(("scheduled", "ready", "running"), "default", limit=1, lane="mine")

    def cost() -> int:
        taken: list[int] = []
        with store._db.read() as connection:
            connection.set_progress_handler(lambda: taken.append(1), 10)
        assert len(store.inspector.find(query)) == 1
        connection.set_progress_handler(None, 0)
        return len(taken)

    store.push([job(lane="mine") for _ in range(10)])
    few = cost()
    store.push([job(lane=f"lane{number % 100}") for number in range(5_000)])
    assert cost() <= few * 2 + 5


def test_the_news_of_very_many_lanes_are_read_by_the_slice(store: SqliteStore, worker: str) -> None:
    store.push([job(lane=f"lane{number:04}") for number in range(2500)])
    left = []
    for _ in range(3):
        assert len(claimed_ids(store, worker, limit=1)) == 1
        left.append(count(store, "news"))
        assert store.inspector.wake_at(["default"]) == 0
    assert left == [1501, 501, 0], "one more for the lane without a name: the queue began to flow"


def test_how_runs_ended_is_known_to_a_claim_however_many_jobs_came_before(store: SqliteStore, worker: str) -> None:
    """I22: a limit is never late."""
    store.push(jobs(2, lane="a"))
    (claim,) = store.claim(worker, ["default"], 1)
    store.push([job(lane=f"lane{number:04}") for number in range(3000)])
    store.settle([verdict(claim, "released", slows_us=SECOND)])
    taken = claimed_ids(store, worker, limit=3000)
    assert len(taken) == 998, "two of the slice told of the run"
    assert claim.id not in taken


def test_lanes_that_rest_are_forgotten_by_the_slice(store: SqliteStore, clock: VirtualClock, worker: str) -> None:
    store.queues.set_policy("default", QueuePolicy(lane_limits=Limits(Rate(86_400 * SECOND, 4))))
    store.push([job(lane=f"lane{number:04}") for number in range(1500)])
    for _ in range(3):
        store.settle([done(claim) for claim in store.claim(worker, ["default"], 1000)])
    assert not store.tidy().is_more
    assert count(store, "lane") == 1500, "each remembers that it has had its start"
    clock.advance(86_400)
    store.push(jobs(3, lane="next"))
    assert len(claimed_ids(store, worker)) == 3, "the queue's turn has come past theirs"
    assert store.tidy().is_more
    while store.tidy().is_more:
        pass
    assert count(store, "lane") <= 2


# --- waking -----------------------------------------------------------------------------------------------------


def test_a_claim_that_found_nothing_leaves_nothing_to_wake_for(store: SqliteStore, worker: str) -> None:
    """No waiter is called again and again for lanes that were emptied, are full or are paused."""
    store.queues.set_policy("default", ONE_EACH)
    emptied, paused, first, second = (job(lane=lane) for lane in ("a", "b", "c", "c"))
    store.push([emptied, paused, first, second])
    store.queues.pause("default", "b")
    store.operator.cancel([emptied.id])
    assert claimed_ids(store, worker) == [first.id]
    assert claimed_ids(store, worker) == []
    assert store.inspector.wake_at(["default"]) is None


def test_a_claim_that_took_the_last_job_leaves_nothing_to_wake_for(store: SqliteStore, worker: str) -> None:
    store.push([*jobs(2, lane="a"), *jobs(2)])
    assert len(claimed_ids(store, worker, limit=4)) == 4
    assert store.inspector.wake_at(["default"]) is None


def test_a_waiter_sleeps_until_the_first_lane_may_go_on(store: SqliteStore, clock: VirtualClock, worker: str) -> None:
    store.queues.set_policy("default", QueuePolicy(lane_limits=Limits(Rate(10 * SECOND)), limits=Limits(Rate(SECOND))))
    store.push(jobs(2, lane="a"))
    assert store.inspector.wake_at(["default"]) == 0
    assert len(claimed_ids(store, worker)) == 1
    assert store.inspector.wake_at(["default"]) == clock.in_s(10)
    store.push(jobs(1, lane="b"))
    assert claimed_ids(store, worker) == []
    assert store.inspector.wake_at(["default"]) == clock.in_s(1), "lane b may start, and so may the queue by then"
    store.push(jobs(1, lane="b", delay_us=500_000))
    assert store.inspector.wake_at(["default"]) == clock.in_s(0.5)


@pytest.mark.parametrize("act", ["settle", "resume", "policy", "retry", "push"])
def test_whatever_may_make_room_wakes_a_waiter(store: SqliteStore, worker: str, act: str) -> None:
    store.queues.set_policy("default", ONE_EACH)
    store.push(jobs(3, lane="a"))
    (claim,) = store.claim(worker, ["default"], 5)
    if act == "resume":
        store.queues.pause("default", "a")
        store.settle([done(claim)])
    assert claimed_ids(store, worker) == []
    assert store.inspector.wake_at(["default"]) is None
    if act == "settle":
        store.settle([done(claim)])
    elif act == "resume":
        store.queues.resume("default", "a")
    elif act == "policy":
        store.queues.set_policy("default", QueuePolicy())
    else:
        gone = job(lane="b")
        store.push([gone])
        if act == "retry":
            store.operator.cancel([gone.id])
            assert claimed_ids(store, worker) == []
            assert store.inspector.wake_at(["default"]) is None
            store.operator.retry([gone.id])
    assert store.inspector.wake_at(["default"]) == 0
    assert claimed_ids(store, worker, limit=1)


# --- many processes ---------------------------------------------------------------------------------------------

TAKER = """
import json, sys
from holdfast.model.verdict import done
from holdfast.model.worker import WorkerRecord
from holdfast.store.sqlite.store import SqliteStore
path, name = sys.argv[1:]
store = SqliteStore.open(path, tier="fast")
store.enlist(WorkerRecord(name, "here", 1))
print("ready", flush=True)
sys.stdin.readline()
started, most = 0, 0
for _ in range(60):
    started += len(store.claim(name, ["rated"], 5))
    claims = store.claim(name, ["few"], 5)
    most = max(most, store.queues.get("few").counts.get("running", 0))
    store.settle([done(claim) for claim in claims])
print(json.dumps([started, most]), flush=True)
"""


def test_processes_that_claim_at_once_stay_within_the_limit_together(tmp_path: Path) -> None:
    """I22"""
    path = tmp_path / "jobs.db"
    store = SqliteStore.open(path, tier="fast")
    store.queues.set_policy("rated", QueuePolicy(limits=Limits(Rate(3600 * SECOND, 17))))
    store.queues.set_policy("few", QueuePolicy(limits=Limits(max_running=3), lane_limits=Limits(max_running=2)))
    store.push(jobs(200, "rated") + [job("few", lane=f"lane{number % 5}") for number in range(400)])
    takers = [
        subprocess.Popen(
            [sys.executable, "-c", TAKER, str(path), f"taker{number}"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for number in range(3)
    ]  # fmt: skip
    for taker in takers:
        assert taker.stdout is not None
        assert taker.stdout.readline() == "ready\n"
    answers = [json.loads(answer) for answer in _go(takers)]
    assert sum(started for started, _ in answers) == 17
    assert max(most for _, most in answers) == 3
    store.close()


def _go(takers: "list[subprocess.Popen[str]]") -> list[str]:
    """Let all begin, then give what each says at its end."""
    for taker in takers:
        assert taker.stdin is not None
        taker.stdin.write("go\n")
        taker.stdin.flush()
    return [taker.communicate(timeout=60)[0] for taker in takers]
