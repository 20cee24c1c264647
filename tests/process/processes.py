"""Real workers: started by the tests, watched through their diary and the store, stopped by pid."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path


class Workers:
    """Starts worker processes on one store, and ends them all."""

    def __init__(self, folder: Path, url: str | None = None) -> None:
        self.folder = folder
        self.url = url or f"sqlite:///{folder}/jobs.db"
        self.diary = folder / "diary"
        self.started: list[subprocess.Popen[str]] = []
        self.environment = {
            **os.environ,
            "HOLDFAST_URL": self.url,
            "DIARY": str(self.diary),
            "PYTHONPATH": os.pathsep.join(filter(None, (str(Path.cwd()), os.environ.get("PYTHONPATH")))),
        }

    def start(
        self, *options: str, target: str = "tests.process.tasks:app", faults: Sequence[str] = ()
    ) -> subprocess.Popen[str]:
        module = ["tests.process.faults", *faults, "--"] if faults else ["holdfast"]
        command = [sys.executable, "-m", *module, "worker", target, *options]
        with (self.folder / "output").open("a") as output:
            process = subprocess.Popen(command, env=self.environment, stdout=output, stderr=output, text=True)
        self.started.append(process)
        return process

    def burst(self, *options: str, target: str = "tests.process.tasks:app") -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "holdfast", "worker", target, "--burst", *options]
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=60, check=False)

    def lines(self, word: str) -> list[str]:
        if not self.diary.exists():
            return []
        return [line for line in self.diary.read_text().splitlines() if line.split(" ")[0] == word]

    @property
    def output(self) -> str:
        return (self.folder / "output").read_text()

    def end(self) -> None:
        for process in self.started:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait(10)


def until(is_so: Callable[[], object], what: str, deadline_s: float = 20.0) -> None:
    """Wait for something that another process does, with a deadline."""
    deadline = time.monotonic() + deadline_s
    while not is_so():
        assert time.monotonic() < deadline, f"never happened: {what}"
        threading.Event().wait(0.01)


def children_of(pid: int) -> list[int]:
    """List the processes in which a worker runs jobs."""
    return [child for child in _descendants(pid) if "holdfast.worker.child" in _command(child)]


def guard_of(pid: int) -> int | None:
    """Give the process that guards a worker's children, None if there is none just now."""
    return next((child for child in _descendants(pid) if "guard.py" in _command(child)), None)


def _descendants(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def is_running(pid: int) -> bool:
    """Tell whether a process still runs. One that is dead and not yet reaped does not."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] != "Z"
