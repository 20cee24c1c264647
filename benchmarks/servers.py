"""PostgreSQL and Valkey: what producers and one worker process reach on real servers, both durable.

The servers are those of the tests, private, but with their files on disk, so that a commit costs what it costs. They are
reached by unix sockets, and, where a round trip counts, by TCP on loopback as well.
"""

import socket
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from benchmarks.core import Figures, p99
from benchmarks.tasks import app, nothing, read_stamps, stamp
from benchmarks.workers import burst, worker
from holdfast.model.job import NewJob
from holdfast.model.query import Query
from holdfast.model.verdict import Verdict, released
from holdfast.model.worker import WorkerRecord
from holdfast.store.connect import connect
from holdfast.store.protocol import Store
from tests.support.servers_postgres import PostgresServer
from tests.support.servers_valkey import ValkeyServer

Servers = dict[str, Callable[[], AbstractContextManager[str]]]
HOUR_US = 3_600_000_000
DURABLE = ("--appendonly", "yes", "--appendfsync", "always")


@contextmanager
def postgres() -> Iterator[str]:
    server = PostgresServer(base="/tmp", shared_buffers="256MB", max_wal_size="2GB")
    try:
        yield server.url()
    finally:
        server.stop()


@contextmanager
def valkey() -> Iterator[str]:
    server = ValkeyServer(*DURABLE)
    try:
        yield server.url
    finally:
        server.stop()


@contextmanager
def postgres_by_tcp() -> Iterator[str]:
    port = _free_port()
    settings = {"listen_addresses": "127.0.0.1", "port": port, "shared_buffers": "256MB", "max_wal_size": "2GB"}
    server = PostgresServer(base="/tmp", **settings)
    try:
        yield f"postgresql://holdfast@127.0.0.1:{port}/postgres"
    finally:
        server.stop()


@contextmanager
def valkey_by_tcp() -> Iterator[str]:
    port = _free_port()
    server = ValkeyServer(*DURABLE, "--port", port, "--bind", "127.0.0.1")
    try:
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        server.stop()


def _free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return str(listener.getsockname()[1])


SERVERS: Servers = {"PostgreSQL": postgres, "Valkey": valkey}
BOTH_WAYS: Servers = {**SERVERS, "PostgreSQL by TCP": postgres_by_tcp, "Valkey by TCP": valkey_by_tcp}


def enqueue_many(repeats: int) -> Figures:
    calls = [nothing.s(number) for number in range(20_000)]

    def once(url: str) -> float:
        with app.override(url=url):
            app.enqueue_many(calls[:10])
            began = time.perf_counter()
            for start in range(0, len(calls), 1000):
                app.enqueue_many(calls[start : start + 1000])
            return len(calls) / (time.perf_counter() - began)

    return _on_each("enqueue_many, batches of 1,000 (jobs/s)", once, repeats)


def drain(repeats: int) -> Figures:
    jobs = 30_000

    def once(url: str) -> float:
        with tempfile.TemporaryDirectory() as folder, app.override(url=url):
            for start in range(0, jobs, 1000):
                app.enqueue_many(nothing.s(number) for number in range(start, start + 1000))
            burst(Path(folder), url=url)
            done = app.store.inspector.find(Query(states=("succeeded",), limit=jobs))
            assert len(done) == jobs, f"{len(done)} of {jobs} done"
            # A run's claim is in its history; the first and the last to end bound the time from below by one batch.
            first = min(app.store.inspector.history(job.id)[0].claimed_us for job in done[-200:])
            last = max(job.finished_us or 0 for job in done)
            return jobs / ((last - first) / 1e6)

    return _on_each("drain, one worker process, no-op jobs (jobs/s)", once, repeats, BOTH_WAYS)


def latency(repeats: int) -> Figures:
    figures: Figures = {}
    for name, server in BOTH_WAYS.items():
        with server() as url, tempfile.TemporaryDirectory() as folder:
            with app.override(url=url), worker(Path(folder), url=url):
                stamp.enqueue(time.time_ns()).result(timeout=30)
                for _ in range(60 * repeats):
                    time.sleep(0.01)
                    stamp.enqueue(time.time_ns()).result(timeout=30)
            late = [(began - sent) / 1e6 for sent, began in read_stamps(str(Path(folder) / "stamps"))[1:]]
        figures |= {
            f"{name}: enqueue to start p50 (ms)": statistics.median(late),
            f"{name}: enqueue to start p99 (ms)": p99(late),
        }
    return figures


def depth(repeats: int) -> Figures:
    figures: Figures = {}
    for name, server in SERVERS.items():
        with server() as url:
            store = connect(url)
            store.enlist(WorkerRecord("bench", "here", 1, ("t",), lease_us=HOUR_US))
            _fill(store, 0, 1000)
            few = _claim_us(store, repeats)
            _fill(store, 1000, 1_000_000)
            many = _claim_us(store, repeats)
            store.close()
        figures |= {
            f"{name}: claim of 10 among 1,000 (µs)": few,
            f"{name}: claim among 1,000,000 / among 1,000": many / few,
        }
    return figures


def memory(_repeats: int) -> Figures:
    """Tell what a waiting job with a payload of 100 bytes costs a Valkey server."""
    jobs = 200_000
    server = ValkeyServer("--appendonly", "no")
    try:
        store = connect(server.url)
        _fill(store, 0, 10)
        with server.client() as client:
            before = int(client.info("memory")["used_memory"])
            _fill(store, 10, 10 + jobs)
            after = int(client.info("memory")["used_memory"])
        store.close()
    finally:
        server.stop()
    return {"Valkey: memory of a waiting job, payload of 100 bytes (B)": (after - before) / jobs}


def flatness(_repeats: int) -> Figures:
    """Send a million jobs through a queue that is held at a thousand, and see how the table grows."""
    with postgres() as url:
        store = connect(url)
        store.enlist(WorkerRecord("bench", "here", 1, ("t",), lease_us=HOUR_US))
        sizes: list[int] = []
        _fill(store, 0, 1000, keep_s=0)
        for first in range(1000, 1_001_000, 500):
            claims = store.claim("bench", ["q"], 500)
            store.settle([Verdict(claim.id, claim.token, "q", "done", took_us=1) for claim in claims])
            _fill(store, first, first + 500, keep_s=0)
            if first % 5000 == 0:
                while store.tidy().is_more:
                    pass
            if first in (200_000, 1_000_000):
                sizes.append(_table_bytes(url))
        store.close()
    return {
        "PostgreSQL: tables after 200,000 jobs through a queue of 1,000 (MiB)": sizes[0] / 2**20,
        "PostgreSQL: tables after 1,000,000 / after 200,000": sizes[1] / sizes[0],
    }


def held(_repeats: int) -> Figures:
    """Send 200,000 jobs through a queue that is held at a thousand while someone's transaction stays open."""
    figures: Figures = {}
    for what, number in (("a snapshot", "select 1 from pg_class"), ("a number", "select pg_current_xact_id()")):
        with postgres() as url:
            store = connect(url)
            store.enlist(WorkerRecord("bench", "here", 1, ("t",), lease_us=HOUR_US))
            _fill(store, 0, 1000)
            before = _claims_ms(store, 1000, 20_000)
            with _open_transaction(url, number):
                after = _claims_ms(store, 21_000, 200_000)
            store.close()
        figures |= {
            f"PostgreSQL: claim of 100 of a queue of 1,000 (ms), before {what} is held": before,
            f"PostgreSQL: claim while {what} is held, after 200,000 jobs / before": after / before,
        }
    return figures


@contextmanager
def _open_transaction(url: str, statement: str) -> Iterator[None]:
    import psycopg

    with psycopg.connect(url) as connection:
        connection.execute("set transaction isolation level repeatable read")
        connection.execute(statement)
        yield
        connection.rollback()


def _claims_ms(store: Store, first: int, number: int) -> float:
    """Send jobs through the queue, a hundred at a time; give the median time of the last fifty claims."""
    took: list[float] = []
    for start in range(first, first + number, 100):
        began = time.perf_counter()
        claims = store.claim("bench", ["q"], 100)
        took.append((time.perf_counter() - began) * 1e3)
        store.settle([Verdict(claim.id, claim.token, "q", "done", took_us=1) for claim in claims])
        _fill(store, start, start + 100)
        if start % 5000 == 0:
            store.tidy()
    return statistics.median(took[-50:])


def _table_bytes(url: str) -> int:
    import psycopg

    with psycopg.connect(url) as connection:
        row = connection.execute(
            "select sum(pg_total_relation_size(oid)) from pg_class "
            "where relkind = 'r' and relnamespace = 'holdfast'::regnamespace"
        ).fetchone()
    assert row is not None
    return int(row[0])


def _on_each(what: str, once: Callable[[str], float], repeats: int, servers: Servers = SERVERS) -> Figures:
    figures: Figures = {}
    for name, server in servers.items():
        values = []
        for _ in range(repeats):
            with server() as url:
                values.append(once(url))
        figures[f"{name}: {what}"] = statistics.median(values)
    return figures


def _fill(store: Store, start: int, end: int, keep_s: int = 3600) -> None:
    for first in range(start, end, 5000):
        numbers = range(first, min(first + 5000, end))
        store.push([NewJob(f"{n:036}", "q", "t", b"x" * 100, priority=n % 5, keep_done_s=keep_s) for n in numbers])


def _claim_us(store: Store, repeats: int) -> float:
    took: list[float] = []
    for _ in range(40 * repeats):
        began = time.perf_counter()
        claims = store.claim("bench", ["q"], 10)
        took.append((time.perf_counter() - began) * 1e6)
        store.settle([released(claim) for claim in claims])
    return statistics.median(took)
