"""Lanes and limits on Valkey, durable: what a job costs to claim and settle where a hundred thousand lanes take turns.

Three queues of a million jobs are compared, by turns, on the same server: a plain one, one lane, and 100,000 lanes
of ten jobs each, of which half have had the one start that their rate allows in an hour. Jobs are taken and settled as a
busy worker does, a hundred at a time.
"""

import statistics
import time

from benchmarks.core import Figures
from benchmarks.servers import DURABLE, HOUR_US
from holdfast.model.job import NewJob
from holdfast.model.queue import Limits, QueuePolicy, Rate
from holdfast.model.verdict import done
from holdfast.model.worker import WorkerRecord
from holdfast.store.connect import connect
from holdfast.store.protocol import Store
from tests.support.servers_valkey import ValkeyServer

JOBS = 1_000_000
LANES = 100_000
BATCH = 100
POLITE = QueuePolicy(lane_limits=Limits(Rate(HOUR_US, 1)))


def many_lanes(repeats: int) -> Figures:
    """Compare a queue of many lanes, half of them held back, with one of one lane."""
    server = ValkeyServer(*DURABLE)
    try:
        store = connect(server.url)
        store.enlist(WorkerRecord("bench", "here", 1, ("t",), lease_us=24 * HOUR_US))
        _fill(store, "none", lanes=0)
        _fill(store, "one", lanes=1)
        store.queues.set_policy("many", POLITE)
        _fill(store, "many", lanes=LANES)
        _take(store, "many", LANES // 2)
        rounds = [[_cost_us(store, queue) for queue in ("none", "one", "many")] for _ in range(2 * repeats)]
        plain_us, one_us, many_us = (statistics.median(costs) for costs in zip(*rounds, strict=True))
        idle_us = _look_us(store, "many")
        store.close()
    finally:
        server.stop()
    return {
        "Valkey: claim and settle of a job, 1,000,000 in a plain queue (µs)": plain_us,
        "Valkey: claim and settle of a job, one lane of 1,000,000 (µs)": one_us,
        "Valkey: the same, 100,000 lanes, half held back (µs)": many_us,
        "Valkey: claim and settle among 100,000 lanes / one lane": many_us / one_us,
        "Valkey: look of a waiter at 100,000 lanes (µs)": idle_us,
    }


def _fill(store: Store, queue: str, lanes: int) -> None:
    for first in range(0, JOBS, 5000):
        numbers = range(first, first + 5000)
        names = [f"lane-{n % lanes:06}" if lanes else None for n in numbers]
        ids = [f"{queue:>4}{n:032}" for n in numbers]
        store.push([NewJob(i, queue, "t", b"x" * 100, lane=lane) for i, lane in zip(ids, names, strict=True)])


def _take(store: Store, queue: str, number: int) -> None:
    """Claim and settle so many jobs."""
    claims = store.claim("bench", [queue], BATCH)
    for _ in range(number // BATCH - 1):
        _, claims = store.exchange([done(claim, took_us=1) for claim in claims], "bench", [queue], BATCH)
        assert len(claims) == BATCH
    store.settle([done(claim, took_us=1) for claim in claims])


def _cost_us(store: Store, queue: str) -> float:
    began = time.perf_counter()
    _take(store, queue, 3000)
    return (time.perf_counter() - began) / 3000 * 1e6


def _look_us(store: Store, queue: str) -> float:
    began = time.perf_counter()
    for _ in range(100):
        store.wait([queue], 0)
    return (time.perf_counter() - began) / 100 * 1e6
