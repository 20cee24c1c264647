"""The kill loop: workers at work, and someone who kills them, children and supervisors, at random and without mercy.

    python -m tests.process.kill_loop --jobs 5000 --kills 200 --seed 1

Every killed supervisor is started again, every killed child is its supervisor's business. When all jobs have ended, the
checker compares what was enqueued, what the tasks wrote down and what the store tells. It ends by itself: there is a
bound on the time, and every process is a child of this one.
"""

import argparse
import contextlib
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

from holdfast.model.job import JobRecord
from holdfast.model.query import Query
from tests.process.processes import Workers, children_of
from tests.process.tasks import app, brief
from tests.support.checker import Event, Witnesses, broken_promises

_PAGE = 1000
_OUTLIVES_S = 2.0
"""How long a child may outlive its supervisor."""


class Outcome(NamedTuple):
    """What a loop came to."""

    jobs: int
    child_kills: int
    supervisor_kills: int
    starts: int
    seconds: float
    broken: list[str]


def kill_loop(folder: Path, *, jobs: int, kills: int, seed: int, deadline_s: float) -> Outcome:
    """Run so many jobs of 1 to 20 ms under so many kills, and check what became of them."""
    chance = random.Random(seed)
    workers = Workers(folder)
    began = time.monotonic()
    with app.override(url=workers.url):
        calls = [brief.using(crash_budget=1000).s(chance.uniform(1, 20)) for _ in range(jobs)]
        enqueued = [job.id for job in app.enqueue_many(calls)]
        killer = _Killer(workers, chance)
        try:
            left = jobs
            while left and time.monotonic() - began < deadline_s:
                killer.keep_alive()
                # Kills are spread over the work: half of them by the time half of it is done.
                if sum(killer.counts.values()) < kills and chance.random() < 0.9:
                    killer.strike()
                threading.Event().wait(chance.uniform(0.0, 0.12))
                left = app.store.inspector.count(Query(states=("scheduled", "ready", "running")))
        finally:
            workers.end()
        seen = _witnesses(workers, enqueued, killer.killed)
    broken = [*(["the deadline passed"] if left else []), *broken_promises(seen)]
    starts = sum(event.kind == "start" for event in seen.events)
    return Outcome(jobs, killer.counts["child"], killer.counts["worker"], starts, time.monotonic() - began, broken)


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
    arguments.add_argument("--jobs", type=int, default=5000)
    arguments.add_argument("--kills", type=int, default=200)
    arguments.add_argument("--seed", type=int, default=int(time.time()))
    arguments.add_argument("--deadline", type=float, default=600)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DIARY"] = str(Path(folder) / "diary")
        outcome = kill_loop(
            Path(folder), jobs=given.jobs, kills=given.kills, seed=given.seed, deadline_s=given.deadline
        )
    print(f"seed {given.seed}: {outcome._replace(broken=outcome.broken[:10])}")
    kills = outcome.child_kills + outcome.supervisor_kills
    print(f"repeated runs per kill: {(outcome.starts - outcome.jobs) / max(kills, 1):.2f}")
    return 1 if outcome.broken or kills < given.kills else 0


if __name__ == "__main__":
    sys.exit(main())
