"""Worker processes for the benchmarks: started, asked for their CPU time, stopped by pid."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def environment(folder: Path, url: str | None = None) -> dict[str, str]:
    place = url or f"sqlite:///{folder}/jobs.db"
    return {**os.environ, "HOLDFAST_URL": place, "BENCH_STAMPS": str(folder / "stamps")}


def command(*options: str) -> list[str]:
    return [sys.executable, "-m", "holdfast", "worker", "benchmarks.tasks:app", "--log-level", "WARNING", *options]


@contextlib.contextmanager
def worker(folder: Path, *options: str, url: str | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """Run a worker for the length of the block."""
    with (folder / "worker.log").open("w") as log:
        process = subprocess.Popen(command(*options), env=environment(folder, url), stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        code = process.wait(30)
    if code not in (0, 3):
        raise RuntimeError(f"the worker ended with code {code}:\n{(folder / 'worker.log').read_text()}")


def burst(folder: Path, *options: str, url: str | None = None) -> None:
    """Run a worker until nothing is left to do."""
    done = subprocess.run(
        command("--burst", *options),
        env=environment(folder, url),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"the worker ended with code {done.returncode}:\n{done.stderr}")


def cpu_seconds(pid: int) -> float:
    """Sum the CPU time of a process and its children that are alive."""
    total = 0.0
    for member in [pid, *_members(pid)]:
        fields = Path(f"/proc/{member}/stat").read_text().rpartition(")")[2].split()
        total += (int(fields[11]) + int(fields[12])) / _TICKS
    return total


def children(pid: int) -> list[int]:
    """List the processes in which a worker runs jobs."""
    return [
        member for member in _members(pid) if "holdfast.worker.child" in Path(f"/proc/{member}/cmdline").read_text()
    ]


def _members(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
