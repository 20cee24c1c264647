"""The job core: what producers and one worker process reach on the SQLite store's durable tier."""

import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.tasks import app, nothing, read_stamps, stamp
from benchmarks.workers import burst, cpu_seconds, worker
from holdfast.model.job import NewJob
from holdfast.model.verdict import released
from holdfast.model.worker import WorkerRecord
from holdfast.store.sqlite.store import SqliteStore

Figures = dict[str, float]


def enqueue_many(repeats: int) -> Figures:
    calls = [nothing.s(number) for number in range(50_000)]

    def once(folder: Path) -> float:
        with app.override(url=f"sqlite:///{folder}/jobs.db"):
            app.enqueue_many(calls[:10])
            began = time.perf_counter()
            for start in range(0, len(calls), 1000):
                app.enqueue_many(calls[start : start + 1000])
            return len(calls) / (time.perf_counter() - began)

    return {"enqueue_many, batches of 1,000 (jobs/s)": median_of(once, repeats)}


def enqueue_one(repeats: int) -> Figures:
    ratios: list[float] = []
    rates: list[float] = []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            bare = _bare_commits(Path(folder))
            with app.override(url=f"sqlite:///{folder}/jobs.db"):
                nothing.enqueue(0)
                began = time.perf_counter()
                for number in range(1000):
                    nothing.enqueue(number)
                rates.append(1000 / (time.perf_counter() - began))
            ratios.append(rates[-1] / bare)
    return {
        "enqueue one by one (jobs/s)": statistics.median(rates),
        "enqueue one by one / bare one-row commits": statistics.median(ratios),
    }


def _bare_commits(folder: Path) -> float:
    connection = sqlite3.connect(folder / "bare.db", isolation_level=None)
    connection.execute("pragma journal_mode=wal")
    connection.execute("pragma synchronous=full")
    connection.execute("create table t (id text primary key, body blob)")
    began = time.perf_counter()
    for number in range(1000):
        connection.execute("begin immediate")
        connection.execute("insert into t values (?, ?)", (f"{number:036}", b"x" * 150))
        connection.execute("commit")
    rate = 1000 / (time.perf_counter() - began)
    connection.close()
    return rate


def drain(repeats: int) -> Figures:
    jobs = 50_000

    def once(folder: Path) -> float:
        with app.override(url=f"sqlite:///{folder}/jobs.db"):
            for start in range(0, jobs, 1000):
                app.enqueue_many(nothing.s(number) for number in range(start, start + 1000))
        burst(folder)
        with sqlite3.connect(folder / "jobs.db") as connection:
            first, last, count = connection.execute(
                "select min(claimed_us), max(ended_us), count(*) from holdfast_run where outcome = 'done'"
            ).fetchone()
        connection.close()
        assert count == jobs, f"{count} of {jobs} done"
        return jobs / ((last - first) / 1e6)

    return {"drain, one worker process, no-op jobs (jobs/s)": median_of(once, repeats)}


def latency(repeats: int) -> Figures:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with app.override(url=f"sqlite:///{folder}/jobs.db"), worker(folder):
            stamp.enqueue(time.time_ns()).result(timeout=30)
            for _ in range(60 * repeats):
                time.sleep(0.01)
                stamp.enqueue(time.time_ns()).result(timeout=30)
        late = [(began - sent) / 1e6 for sent, began in read_stamps(str(folder / "stamps"))[1:]]
    return {"enqueue to start p50 (ms)": statistics.median(late), "enqueue to start p99 (ms)": p99(late)}


def lateness(repeats: int) -> Figures:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with app.override(url=f"sqlite:///{folder}/jobs.db"), worker(folder):
            stamp.enqueue(time.time_ns()).result(timeout=30)
            jobs = []
            for number in range(40 * repeats):
                due_ns = time.time_ns() + 1_000_000_000 + number * 23_000_000
                delay = (due_ns - time.time_ns()) / 1e9
                jobs.append(stamp.using(delay=delay).enqueue(due_ns))
            for job in jobs:
                job.result(timeout=60)
        late = [(began - due) / 1e6 for due, began in read_stamps(str(folder / "stamps"))[1:]]
    return {
        "lateness of delayed jobs p50 (ms)": statistics.median(late),
        "lateness of delayed jobs p99 (ms)": p99(late),
    }


def idle(repeats: int) -> Figures:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with app.override(url=f"sqlite:///{folder}/jobs.db"), worker(folder) as process:
            stamp.enqueue(time.time_ns()).result(timeout=30)
            time.sleep(1)
            before, seconds = cpu_seconds(process.pid), 4.0 * repeats
            time.sleep(seconds)
            used = cpu_seconds(process.pid) - before
    return {"idle worker, share of one core (%)": 100 * used / seconds}


def depth(repeats: int) -> Figures:
    with tempfile.TemporaryDirectory() as name:
        store = SqliteStore.open(Path(name) / "jobs.db", tier="durable")
        store.enlist(WorkerRecord("bench", "here", 1, ("t",), lease_us=3_600_000_000))
        _fill(store, 0, 1000)
        few = _claim_us(store, repeats)
        _fill(store, 1000, 1_000_000)
        many = _claim_us(store, repeats)
        store.close()
    return {"claim of 10 among 1,000 (µs)": few, "claim among 1,000,000 / among 1,000": many / few}


def _fill(store: SqliteStore, start: int, end: int) -> None:
    for first in range(start, end, 5000):
        numbers = range(first, min(first + 5000, end))
        store.push([NewJob(f"{n:012}", "q", "t", b"x" * 100, priority=n % 5) for n in numbers])


def _claim_us(store: SqliteStore, repeats: int) -> float:
    took: list[float] = []
    for _ in range(100 * repeats):
        began = time.perf_counter()
        claims = store.claim("bench", ["q"], 10)
        took.append((time.perf_counter() - began) * 1e6)
        store.settle([released(claim) for claim in claims])
    return statistics.median(took)


def median_of(once: Callable[[Path], float], repeats: int) -> float:
    values: list[float] = []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            values.append(once(Path(folder)))
    return statistics.median(values)


def p99(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.99)]
