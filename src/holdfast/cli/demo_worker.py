"""The demo's worker: a real `holdfast worker` in a process tree of its own."""

import os
import subprocess
import sys
from pathlib import Path

from holdfast.cli.demo_tasks import LINES
from holdfast.errors import HoldfastError

PROCESSES = 2


class DemoWorker:
    """A worker that was started. Only this process, by its id, is ever killed; its children die with it."""

    def __init__(self, url: str, lines: Path, log: Path) -> None:
        self._log = log
        command = ("worker", "holdfast.cli.demo_tasks:app", "--processes", str(PROCESSES), "--grace", "3")
        with log.open("ab") as output:
            self._process = subprocess.Popen(  # noqa: S603  # our own module, by our own interpreter
                [sys.executable, "-m", "holdfast.cli", *command, "--log-level", "warning"],
                env=os.environ | {"HOLDFAST_URL": url, LINES: str(lines)},
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
            told = self._log.read_text("utf-8", "replace").strip()[-2000:]
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
