"""A real Valkey on a loopback port: what clusters, replicas and sentinels need, which find one another by host and port.

Otherwise as in `servers_valkey`: a folder of its own, killed by its pid, and by the kernel if pytest is killed.
"""

import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import redis

from tests.support.servers_valkey import START_S, binary, die_with_parent

HOST = "127.0.0.1"


class TcpServer:
    """A server that is running, until `stop`."""

    def __init__(self, *settings: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="hf-valkey-", dir="/tmp"))
        self.port = free_port()
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def name(self) -> str:
        return f"{HOST}:{self.port}"

    @property
    def url(self) -> str:
        return f"redis://{self.name}"

    def start(self) -> None:
        """Start it on what it left in its folder."""
        self._process = subprocess.Popen(self.command(), preexec_fn=die_with_parent)  # noqa: PLW1509 - only prctl
        until(self._has_answered, START_S, f"valkey-server at {self.name}")

    def command(self) -> list[str]:
        return [
            binary(), "--port", str(self.port), "--bind", HOST, "--dir", str(self.folder), "--save", "",
            "--daemonize", "no", "--logfile", str(self.folder / "log"), "--repl-diskless-sync-delay", "0",
            "--repl-ping-replica-period", "1", *self._settings,
        ]  # fmt: skip

    def client(self) -> "redis.Redis":
        return redis.Redis(host=HOST, port=self.port)

    def ask(self, *words: object) -> object:
        with self.client() as client:
            return client.execute_command(*words)

    def info(self, section: str) -> dict[str, object]:
        with self.client() as client:
            return dict(client.info(section))

    def kill(self) -> None:
        """Kill it as a crash would; its folder stays."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """Kill it and leave nothing behind."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _has_answered(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, f"valkey-server ended at once:\n{(self.folder / 'log').read_text()}"
        try:
            return bool(self.ask("PING"))
        except redis.exceptions.ConnectionError:
            return False


def free_port() -> int:
    """Give a port that nobody uses now."""
    with socket.create_server((HOST, 0)) as found:
        return int(found.getsockname()[1])


def until(is_so: Callable[[], object], deadline_s: float, what: str) -> None:
    """Look, often, until it is so."""
    deadline = time.monotonic() + deadline_s
    while not is_so():
        assert time.monotonic() < deadline, f"{what}: not within {deadline_s} s"
        threading.Event().wait(0.01)
