"""Lanes and limits on the durable tier of the SQL stores: what a claim costs among very many lanes."""

import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.core import Figures, p99
from benchmarks.servers import postgres
from holdfast.model.claim import Claim
from holdfast.model.job import NewJob
from holdfast.model.queue import Limits, QueuePolicy, Rate
from holdfast.model.verdict import done
from holdfast.model.worker import WorkerRecord
from holdfast.policy.moments import SECOND
from holdfast.store.connect import connect
from holdfast.store.protocol import Store
from holdfast.store.sqlite.store import SqliteStore

LANES = 100_000
ONCE_A_DAY = QueuePolicy(lane_limits=Limits(Rate(86_400 * SECOND, 1)))
FREE = QueuePolicy(lane_limits=Limits(Rate(1, 1_000_000)))
"""A rate that is reckoned with and never reached."""
BENCH = WorkerRecord("bench", "here", 1, ("t",), lease_us=86_400 * SECOND)


def lanes(repeats: int) -> Figures:
    """Claims of 10 among 100,000 lanes, half of which have had their start of the day, against one lane."""
    with tempfile.TemporaryDirectory() as name:
        return _compare(_opened(name), repeats)


def postgres_lanes(repeats: int) -> Figures:
    """The same on PostgreSQL."""
    with postgres() as url:
        store = connect(url)
        store.enlist(BENCH)
        return {f"PostgreSQL: {what}": value for what, value in _compare(store, repeats).items()}


def _compare(store: Store, repeats: int) -> Figures:
    """Measure both by turns, so that what else the machine does falls on both."""
    store.queues.set_policy("one", FREE)
    _fill(store, "one", 1, 2_000 + 1_000 * repeats)
    store.queues.set_policy("many", ONCE_A_DAY)
    _fill(store, "many", LANES, 2 * LANES)
    folds = _use_up(store, "many", LANES // 2)
    pairs = [(_claims_us(store, "one"), _claims_us(store, "many")) for _ in range(2 * repeats)]
    store.close()
    one, many = (statistics.median(side) for side in zip(*pairs, strict=True))
    return {
        "claim and settle of 10 from one lane (µs)": one,
        "claim and settle of 10 among 100,000 lanes, half limited (µs)": many,
        "claim among 100,000 lanes, half limited / from one": many / one,
        "claim of 500 that takes in the news of 1,000 lanes (ms)": statistics.median(folds),
    }


def crowd(repeats: int) -> Figures:
    """1,000,000 jobs over 100,000 lanes without limits: pushed, then claimed and settled by the hundred."""
    del repeats
    with tempfile.TemporaryDirectory() as name:
        store = _opened(name)
        began = time.perf_counter()
        _fill(store, "q", LANES, 1_000_000)
        pushed_s = time.perf_counter() - began
        took: list[float] = []
        began = time.perf_counter()
        for _ in range(2_000):
            started = time.perf_counter()
            claims = store.claim("bench", ["q"], 100)
            took.append((time.perf_counter() - started) * 1000)
            store.settle([done(claim) for claim in claims])
        rate = 200_000 / (time.perf_counter() - began)
        store.close()
    return {
        "push, 1,000,000 jobs over 100,000 lanes (jobs/s)": 1_000_000 / pushed_s,
        "claim and settle by 100, of 1,000,000 over 100,000 lanes (jobs/s)": rate,
        "claim of 100 among 100,000 lanes p50 (ms)": statistics.median(took),
        "claim of 100 among 100,000 lanes p99 (ms)": p99(took),
    }


def _opened(folder: str) -> SqliteStore:
    store = SqliteStore.open(Path(folder) / "jobs.db", tier="durable")
    store.enlist(BENCH)
    return store


def _fill(store: Store, queue: str, lanes: int, jobs: int) -> None:
    for first in range(0, jobs, 5000):
        numbers = range(first, min(first + 5000, jobs))
        store.push([NewJob(f"{queue}{n:012}", queue, "t", b"x" * 100, lane=f"lane{n % lanes:06}") for n in numbers])


def _use_up(store: Store, queue: str, starts: int) -> list[float]:
    """Start a job in so many lanes. Give how long each claim took, in ms."""
    took: list[float] = []
    while starts > 0:
        began = time.perf_counter()
        claims = store.claim("bench", [queue], 500)
        took.append((time.perf_counter() - began) * 1000)
        store.settle([done(claim) for claim in claims])
        starts -= len(claims)
    _settle_down(store, queue)
    return took


def _settle_down(store: Store, queue: str) -> None:
    """Claim one by one until all news have been read: what is measured then is the round, not the reading."""
    for _ in range(LANES // 1000):
        store.settle([done(claim) for claim in store.claim("bench", [queue], 1)])


def _claims_us(store: Store, queue: str) -> float:
    took: list[float] = []
    held: list[Claim] = []
    for _ in range(50):
        began = time.perf_counter()
        _, claims = store.exchange([done(claim) for claim in held], "bench", [queue], 10)
        took.append((time.perf_counter() - began) * 1e6)
        assert len(claims) == 10, f"{len(claims)} of 10 claimed"
        held = claims
    store.settle([done(claim) for claim in held])
    return statistics.median(took)
