"""The demo's worker: a real `holdfast worker` in a process tree of its own."""

import os
import subprocess
import sys
from pathlib import Path

from holdfast.cli.demo_tasks import LINES
from holdfast.errors import HoldfastError

PROCESSES = 2
_LINES = 20


def store_in(folder: Path) -> str:
    """Give the URL of the demo's store."""
    return f"sqlite:///{folder / 'jobs.db'}"


class DemoWorker:
    """A worker that was started. Only this process, by its id, is ever killed; its children die with it."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "worker.log"
        command = ("worker", "holdfast.cli.demo_tasks:app", "--processes", str(PROCESSES), "--grace", "3")
        with self._log.open("ab") as output:
            self._process = subprocess.Popen(  # noqa: S603  # our own module, by our own interpreter
                [sys.executable, "-m", "holdfast.cli", *command, "--log-level", "warning"],
                env=os.environ | {"HOLDFAST_URL": store_in(folder), LINES: str(folder / "lines")},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def check(self) -> None:
        """Raise if the worker has ended by itself: it should not have."""
        code = self._process.poll()
        if code is not None:
            told = "\n".join(self._log.read_text("utf-8", "replace").splitlines()[-_LINES:])
            raise HoldfastError(f"the demo's worker ended with code {code} and should not have; it said:\n{told}")

    def kill(self) -> None:
        """SIGKILL, as a machine that runs out of memory would: no handler runs, nothing is tidied up."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """SIGTERM, and if that takes too long SIGKILL. A worker that is gone is left alone."""
        self._process.terminate()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self.kill()
