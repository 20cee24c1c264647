"""The kill loop: workers at work, and someone who kills them, children and supervisors, at random and without mercy.

    python -m tests.process.kill_loop --jobs 5000 --kills 200 --seed 1
    python -m tests.process.kill_loop --store postgres --jobs 10000 --kills 0 --server-kills 10

Every killed supervisor is started again, every killed child is its supervisor's business. A killed server is started again
on what it had written; the workers go on by themselves. When all jobs have ended, the checker compares what was enqueued,
what the tasks wrote down and what the store tells. It ends by itself: there is a bound on the time, and every process is a
child of this one.
"""

import argparse
import contextlib
import os
import random
import select
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

from holdfast.model.job import JobRecord
from holdfast.model.query import Query
from tests.process.processes import Workers, children_of
from tests.process.tasks import app, brief
from tests.support.checker import Event, Witnesses, broken_promises
from tests.support.servers_cluster import ClusterServer
from tests.support.servers_postgres import PostgresServer
from tests.support.servers_valkey import ValkeyServer

_PAGE = 1000
_OUTLIVES_S = 2.0
"""How long a child may outlive its supervisor."""


class Outcome(NamedTuple):
    """What a loop came to."""

    jobs: int
    child_kills: int
    supervisor_kills: int
    server_kills: int
    starts: int
    seconds: float
    broken: list[str]


class Server(Protocol):
    """A server that can be killed and comes back with what it had acknowledged."""

    def crash(self) -> None: ...


def kill_loop(
    folder: Path,
    *,
    jobs: int,
    kills: int,
    seed: int,
    deadline_s: float,
    url: str | None = None,
    server: Server | None = None,
    server_kills: int = 0,
) -> Outcome:
    """Run so many jobs of 1 to 20 ms under so many kills, and check what became of them."""
    chance = random.Random(seed)
    workers = Workers(folder, url)
    began = time.monotonic()
    with app.override(url=workers.url):
        calls = [brief.using(crash_budget=1000).s(chance.uniform(1, 20)) for _ in range(jobs)]
        enqueued = [job.id for job in app.enqueue_many(calls)]
        killer = _Killer(workers, chance)
        try:
            left, crashes = jobs, 1  # the next to come
            while left and time.monotonic() - began < deadline_s:
                killer.keep_alive()
                # Kills are spread over the work: half of them by the time half of it is done.
                if sum(killer.counts.values()) < kills and chance.random() < 0.9:
                    killer.strike()
                threading.Event().wait(chance.uniform(0.0, 0.12))
                if server and left <= jobs - crashes * jobs / (server_kills + 1) and crashes <= server_kills:
                    crashes += 1
                    server.crash()
                left = app.store.inspector.count(Query(states=("scheduled", "ready", "running")))
        finally:
            workers.end()
        seen = _witnesses(workers, enqueued, killer.killed)
    broken = [*(["the deadline passed"] if left else []), *broken_promises(seen)]
    starts = sum(event.kind == "start" for event in seen.events)
    kills_made = (killer.counts["child"], killer.counts["worker"], crashes - 1)
    return Outcome(jobs, *kills_made, starts, time.monotonic() - began, broken)


class _Killer:
    def __init__(self, workers: Workers, chance: random.Random) -> None:
        self._workers = workers
        self._chance = chance
        self.killed: dict[int, float] = {}
        self.counts = {"child": 0, "worker": 0}

    def keep_alive(self) -> None:
        """Have two workers at all times."""
        alive = [process for process in self._workers.started if process.poll() is None]
        for _ in range(2 - len(alive)):
            self._workers.start("--log-level", "error")

    def strike(self) -> None:
        """Kill a child or, half as often, a supervisor."""
        alive = [process for process in self._workers.started if process.poll() is None]
        process = self._chance.choice(alive)
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            children = children_of(process.pid)
            if not children:
                return  # it is still starting
            if self._chance.random() < 1 / 3:
                self._kill(process.pid, [process.pid, *children])  # they die with it
                process.wait()
                self.counts["worker"] += 1
            else:
                child = self._chance.choice(children)
                self._kill(child, [child])
                self.counts["child"] += 1

    def _kill(self, pid: int, dying: list[int]) -> None:
        """Kill one, and see with our own eyes when each of those that die of it is dead."""
        with contextlib.ExitStack() as stack:
            ends = {one: os.pidfd_open(one) for one in dying}
            for end in ends.values():
                stack.callback(os.close, end)
            os.kill(pid, signal.SIGKILL)
            for one, end in ends.items():
                is_dead, _, _ = select.select([end], [], [], _OUTLIVES_S)
                assert is_dead, f"process {one} outlives the kill of {pid} by more than {_OUTLIVES_S} s"
                self.killed[one] = time.time()


def _witnesses(workers: Workers, enqueued: list[str], killed: dict[int, float]) -> Witnesses:
    records: dict[str, JobRecord] = {}
    last = None
    while page := app.store.inspector.find(Query(limit=_PAGE, after=last)):
        records |= {record.id: record for record in page}
        last = page[-1].id
    runs = {job_id: app.store.inspector.history(job_id) for job_id in records}
    return Witnesses(enqueued, [_event(line) for line in workers.lines("run")], records, runs, killed)


def _event(line: str) -> Event:
    _, moment, kind, job_id, token, pid, parent = line.split(" ")
    return Event(float(moment), kind, job_id, token, int(pid), int(parent))


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--store", choices=("sqlite", "postgres", "valkey", "cluster"), default="sqlite")
    arguments.add_argument("--jobs", type=int, default=5000)
    arguments.add_argument("--kills", type=int, default=200)
    arguments.add_argument("--server-kills", type=int, default=0)
    arguments.add_argument("--seed", type=int, default=int(time.time()))
    arguments.add_argument("--deadline", type=float, default=600)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder, durable_server(given.store) as (url, server):
        os.environ["DIARY"] = str(Path(folder) / "diary")
        outcome = kill_loop(
            Path(folder), jobs=given.jobs, kills=given.kills, seed=given.seed, deadline_s=given.deadline,
            url=url, server=server, server_kills=given.server_kills,
        )  # fmt: skip
    print(f"{given.store}, seed {given.seed}: {outcome._replace(broken=outcome.broken[:10])}")
    kills = outcome.child_kills + outcome.supervisor_kills
    print(f"repeated runs per kill: {(outcome.starts - outcome.jobs) / max(kills + outcome.server_kills, 1):.2f}")
    return 1 if outcome.broken or kills < given.kills or outcome.server_kills < given.server_kills else 0


@contextlib.contextmanager
def durable_server(store: str) -> Iterator[tuple[str | None, Server | None]]:
    """Start a server of this kind that keeps what it acknowledges. Give its URL and itself; for SQLite there is none."""
    if store == "sqlite":
        yield None, None
        return
    server = _STARTED[store]()
    try:
        yield server.url() if isinstance(server, PostgresServer) else server.url, server
    finally:
        server.stop()


_KEEPS_ALL = ("--appendonly", "yes", "--appendfsync", "always")
_STARTED: dict[str, Callable[[], PostgresServer | ValkeyServer | ClusterServer]] = {
    "postgres": PostgresServer,
    "valkey": lambda: ValkeyServer(*_KEEPS_ALL),
    "cluster": lambda: ClusterServer(*_KEEPS_ALL),
}


if __name__ == "__main__":
    sys.exit(main())
