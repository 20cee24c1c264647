"""Keys and lanes in memory: what one bump costs among many jobs, and one round beside many lanes."""

import statistics
import time

from benchmarks.core import Figures
from holdfast.model.job import NewJob
from holdfast.model.queue import Limits, QueuePolicy
from holdfast.model.verdict import done
from holdfast.model.worker import WorkerRecord
from holdfast.store.memory.store import MemoryStore

_WAITING = 100_000


def bump(repeats: int) -> Figures:
    """A push under a known key that raises the priority of one waiting job among a hundred thousand, in memory."""
    store = MemoryStore()
    store.push([NewJob(f"job{number}", "queue", "task", b"", key=f"key{number}") for number in range(_WAITING)])
    took_ms: list[float] = []
    for number in range(1000 * repeats):
        job = NewJob(f"bump{number}", "queue", "task", b"", key=f"key{number * 7919 % _WAITING}", priority=number + 1)
        began = time.perf_counter()
        store.push([job])
        took_ms.append((time.perf_counter() - began) * 1000)
    return {
        "raise a priority among 100,000, in memory, p50 (ms)": statistics.median(took_ms),
        "raise a priority among 100,000, in memory, p99 (ms)": statistics.quantiles(took_ms, n=100)[98],
    }


def held_back(repeats: int) -> Figures:
    """One job claimed and settled beside ten thousand lanes that are full, over the same beside none, in memory."""
    ratio = _round_us(10_000, repeats) / _round_us(0, repeats)
    return {"claim and settle beside 10,000 full lanes / beside none, in memory": ratio}


def _round_us(lanes: int, repeats: int) -> float:
    store = MemoryStore()
    store.queues.set_policy("queue", QueuePolicy(lane_limits=Limits(max_running=1)))
    store.enlist(WorkerRecord("worker", "here", 1, lease_us=3_600_000_000))
    store.push([NewJob(f"{number}", "queue", "task", b"", lane=f"lane{number % lanes}") for number in range(2 * lanes)])
    while store.claim("worker", ["queue"], 1000):
        pass  # one of each lane runs, and one of each waits for it
    store.push([NewJob(f"open{number}", "queue", "task", b"", lane="open") for number in range(500 * repeats)])
    took_us: list[float] = []
    for _ in range(500 * repeats):
        began = time.perf_counter()
        store.settle([done(store.claim("worker", ["queue"], 1)[0])])
        took_us.append((time.perf_counter() - began) * 1_000_000)
    return statistics.median(took_us)
