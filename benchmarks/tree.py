"""The worker as a process tree: how fast it starts, recovers and scales, and what it costs."""

import os
import resource
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import servers
from benchmarks.core import Figures, p99
from benchmarks.tasks import app, compute, nothing, read_stamps, stamp, stay
from benchmarks.workers import burst, children, command, cpu_seconds, environment, worker

RECOVERIES = 20


def startup(repeats: int) -> Figures:
    took: list[float] = []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            with app.override(url=_url(folder)):
                job = stamp.enqueue(0)
                began = time.time_ns()
                with worker(folder):
                    job.result(timeout=30)
            took.append((read_stamps(str(folder / "stamps"))[0][1] - began) / 1e9)
    return {"start of a worker to its first job (s)": statistics.median(took)}


def recovery_child(_repeats: int) -> Figures:
    with tempfile.TemporaryDirectory() as name:
        return _recovered_children(Path(name), _url(Path(name)), "")


def recovery_tree(_repeats: int) -> Figures:
    with tempfile.TemporaryDirectory() as name:
        return _recovered_trees(Path(name), _url(Path(name)), "", RECOVERIES)


def servers_recovery_child(_repeats: int) -> Figures:
    figures: Figures = {}
    for name, server in servers.SERVERS.items():
        with server() as url, tempfile.TemporaryDirectory() as folder:
            figures |= _recovered_children(Path(folder), url, f"{name}: ")
    return figures


def servers_recovery_tree(repeats: int) -> Figures:
    """On a server a lease has to end first, so each takes ten seconds and more: four for each repeat."""
    figures: Figures = {}
    for name, server in servers.SERVERS.items():
        with server() as url, tempfile.TemporaryDirectory() as folder:
            figures |= _recovered_trees(Path(folder), url, f"{name}: ", 4 * repeats)
    return figures


def _recovered_children(folder: Path, url: str, where: str) -> Figures:
    with app.override(url=url), worker(folder, url=url):
        took = [_killed_and_back(folder, lambda pid: os.kill(pid, signal.SIGKILL)) for _ in range(RECOVERIES)]
    return {
        f"{where}killed child: its job runs again, median of 20 (s)": statistics.median(took),
        f"{where}killed child: its job runs again, longest (s)": max(took),
    }


def _recovered_trees(folder: Path, url: str, where: str, times: int) -> Figures:
    with app.override(url=url):
        crew = _Crew(folder, url)
        try:
            took = []
            for _ in range(times):
                crew.fill()
                took.append(_killed_and_back(folder, crew.kill_parent_of))
        finally:
            crew.end()
    return {
        f"{where}killed worker: its job runs again elsewhere, median of {times} (s)": statistics.median(took),
        f"{where}killed worker: its job runs again elsewhere, longest (s)": max(took),
    }


def scaling(repeats: int) -> Figures:
    figures: Figures = {}
    for what, call, jobs in (("no-op", nothing, 30_000), ("2 ms of CPU", compute, 2_000)):
        rates = {
            processes: statistics.median(_drained(call.s(0), jobs, processes) for _ in range(max(1, repeats // 2)))
            for processes in (1, 2)
        }
        figures[f"{what} jobs, one process (jobs/s)"] = rates[1]
        figures[f"{what} jobs, two processes / one"] = rates[2] / rates[1]
    figures["the same computation without a queue, two processes / one"] = _bare_loops(2) / _bare_loops(1)
    return figures


def _bare_loops(processes: int) -> float:
    """Compute for two seconds in so many processes at once; give how often per second. What the machine has to offer."""
    command = [sys.executable, "-c", _LOOP]
    loops = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(processes)]
    return sum(float(loop.communicate()[0]) for loop in loops)


_LOOP = """
import time
from benchmarks.tasks import compute
over, rounds = time.perf_counter() + 2, 0
while time.perf_counter() < over:
    compute(0)
    rounds += 1
print(rounds / 2)
"""


def head_of_line(repeats: int) -> Figures:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with app.override(url=_url(folder)), worker(folder, "-p", "2", "--grace", "0"):
            stamp.enqueue(time.time_ns()).result(timeout=30)
            stay.enqueue()
            _until(lambda: len(read_stamps(str(folder / "stamps"))) == 2)
            for _ in range(40 * repeats):
                stamp.enqueue(time.time_ns()).result(timeout=30)
        late = [(began - sent) / 1e6 for sent, began in read_stamps(str(folder / "stamps"))[2:]]
    return {
        "start of short jobs beside a long one, p50 (ms)": statistics.median(late),
        "start of short jobs beside a long one, p99 (ms)": p99(late),
    }


def cost(repeats: int) -> Figures:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with app.override(url=_url(folder)), worker(folder, "-p", "2") as process:
            app.enqueue_many(nothing.s(number) for number in range(2000))
            stamp.enqueue(0).result(timeout=30)
            rss = [_rss_bytes(pid) / 2**20 for pid in children(process.pid)]
            own = _rss_bytes(process.pid) / 2**20
            time.sleep(1)
            before, seconds = cpu_seconds(process.pid), 4.0 * repeats
            time.sleep(seconds)
            used = cpu_seconds(process.pid) - before
    return {
        "memory of a child (MiB)": statistics.median(rss),
        "memory of the supervisor (MiB)": own,
        "idle worker with two children, share of one core (%)": 100 * used / seconds,
    }


class _Crew:
    """Two workers at all times; whichever runs the job is killed, and replaced."""

    def __init__(self, folder: Path, url: str) -> None:
        self._folder = folder
        self._url = url
        self._processes: list[subprocess.Popen[bytes]] = []

    def kill_parent_of(self, pid: int) -> None:
        (victim,) = [process for process in self._processes if pid in children(process.pid)]
        victim.kill()
        victim.wait()
        self._processes.remove(victim)

    def end(self) -> None:
        for process in self._processes:
            process.terminate()
            process.wait(30)

    def fill(self) -> None:
        while len(self._processes) < 2:
            log = subprocess.DEVNULL
            process = subprocess.Popen(command(), env=environment(self._folder, self._url), stdout=log, stderr=log)
            self._processes.append(process)
        _until(lambda: len(app.store.inspector.workers()) == 2)  # a killed one is listed until its lease has ended


def _killed_and_back(folder: Path, kill: Callable[[int], None]) -> float:
    """Start a job that stays, kill its process, and measure until its next run has begun."""
    stamps = str(folder / "stamps")
    before = len(read_stamps(stamps))
    job = stay.enqueue()
    _until(lambda: len(read_stamps(stamps)) == before + 1)
    kill(read_stamps(stamps)[-1][0])
    killed_ns = time.time_ns()
    job.result(timeout=60)
    return (read_stamps(stamps)[-1][1] - killed_ns) / 1e9


def _drained(call: object, jobs: int, processes: int) -> float:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with app.override(url=_url(folder)):
            app.enqueue_many([call] * jobs)  # type: ignore[list-item]
        burst(folder, "-p", str(processes))
        with sqlite3.connect(folder / "jobs.db") as connection:
            first, last = connection.execute("select min(claimed_us), max(ended_us) from holdfast_run").fetchone()
        connection.close()
    return jobs / ((last - first) / 1e6)


def _rss_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()


def _until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not is_so():
        if time.monotonic() > deadline:
            raise TimeoutError("what the benchmark waits for never happened")
        time.sleep(0.002)


def _url(folder: Path) -> str:
    return f"sqlite:///{folder}/jobs.db"
