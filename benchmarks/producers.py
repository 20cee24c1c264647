"""What producers meet on the stores that keep jobs, durable: a bump of a priority among many, and the wait for room."""

import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.core import Figures, p99
from benchmarks.servers import HOUR_US, SERVERS, Servers
from holdfast.model.job import NewJob
from holdfast.model.queue import QueuePolicy
from holdfast.model.verdict import done
from holdfast.model.worker import WorkerRecord
from holdfast.store.connect import connect
from holdfast.store.protocol import Store

WAITING = 100_000


@contextmanager
def sqlite() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        yield f"sqlite:///{Path(folder) / 'jobs.db'}"


KEPT: Servers = {"SQLite": sqlite, **SERVERS}


def bump(repeats: int) -> Figures:
    """A push under a known key that raises the priority of one waiting job among a hundred thousand."""
    return _on_each("raise a priority among 100,000", lambda store, _: _bumps_ms(store, 200 * repeats))


def room(repeats: int) -> Figures:
    """From the end of the claim that makes room to the end of the push of a producer that waited for it."""
    return _on_each("room made to a blocked push stored", lambda store, other: _rooms_ms(store, other, 20 * repeats))


def _on_each(what: str, measure: Callable[[Store, Store], list[float]]) -> Figures:
    figures: Figures = {}
    for name, server in KEPT.items():
        with server() as url:
            store, other = connect(url), connect(url)
            took_ms = measure(store, other)
            store.close()
            other.close()
        figures |= {
            f"{name}: {what} p50 (ms)": statistics.median(took_ms),
            f"{name}: {what} p99 (ms)": p99(took_ms),
        }
    return figures


def _bumps_ms(store: Store, number: int) -> list[float]:
    for first in range(0, WAITING, 5000):
        store.push([NewJob(f"job{n}", "q", "t", b"x" * 100, key=f"key{n}") for n in range(first, first + 5000)])
    took_ms: list[float] = []
    for n in range(number):
        job = NewJob(f"bump{n}", "q", "t", b"", key=f"key{n * 7919 % WAITING}", priority=n + 1)
        began = time.perf_counter()
        (pushed,) = store.push([job])
        took_ms.append((time.perf_counter() - began) * 1000)
        assert pushed.decision == "merged", pushed
    return took_ms


def _rooms_ms(store: Store, producer: Store, number: int) -> list[float]:
    """The queue holds one job. The producer, on connections of its own, waits for room and pushes the next."""
    store.enlist(WorkerRecord("bench", "here", 1, ("t",), lease_us=HOUR_US))
    store.queues.set_policy("q", QueuePolicy(max_size=1, on_full="block"))
    store.push([NewJob("first", "q", "t", b"")])
    took_ms: list[float] = []
    for n in range(number):
        stored = threading.Thread(target=_push_when_there_is_room, args=(producer, NewJob(f"next{n}", "q", "t", b"")))
        stored.start()
        time.sleep(0.02)  # it waits by then
        claims = store.claim("bench", ["q"], 1)
        began = time.perf_counter()
        stored.join()
        took_ms.append((time.perf_counter() - began) * 1000)
        store.settle([done(claim) for claim in claims])
    return took_ms


def _push_when_there_is_room(store: Store, job: NewJob) -> None:
    while store.push([job])[0].decision == "refused":
        store.wait_for_room("q", 10)
