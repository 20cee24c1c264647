"""`make bench`: measures Holdfast on this machine, on the durable tier of each store; SQLite where none is named.

Every figure is the median of its repeats; what is compared with something is measured in the same run. Beside each stands
the goal. A figure that falls short is printed as it is.
"""

import argparse
import json
import os
import platform
import sqlite3
from collections.abc import Callable

from benchmarks import core, flow, flow_redis, memory, producers, seen, servers, tree
from benchmarks.core import Figures


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--only", help="run the benchmarks whose name contains this")
    arguments.add_argument("--repeats", type=int, default=5)
    arguments.add_argument("--json", action="store_true")
    given = arguments.parse_args()
    figures: Figures = {}
    for name, benchmark in BENCHMARKS.items():
        if not given.only or given.only in name:
            figures |= benchmark(given.repeats)
            if not given.json:
                _show(figures, [key for key in figures if key not in _SHOWN])
    if given.json:
        print(json.dumps({"machine": _machine(), "figures": figures}, indent=2))
    else:
        print(f"\n{_machine()}")


def _show(figures: Figures, keys: list[str]) -> None:
    for key in keys:
        _SHOWN.add(key)
        goal = GOALS.get(key, "")
        print(f"{key:62} {figures[key]:>12,.2f}   {goal}", flush=True)


def _machine() -> str:
    load = os.getloadavg()[0]
    return (
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {os.cpu_count()} cores, load {load:.2f}"
    )


_SHOWN: set[str] = set()
GOALS = {
    "enqueue_many, batches of 1,000 (jobs/s)": "goal: 60,000 or more",
    "enqueue one by one / bare one-row commits": "goal: 0.70 or more",
    "drain, one worker process, no-op jobs (jobs/s)": "goal: 20,000 or more",
    "enqueue to start p50 (ms)": "goal: under 3",
    "lateness of delayed jobs p50 (ms)": "goal: under 3",
    "lateness of delayed jobs p99 (ms)": "goal: under 15",
    "idle worker, share of one core (%)": "goal: under 0.5",
    "claim among 1,000,000 / among 1,000": "goal: under 2",
    "claim among 100,000 lanes, half limited / from one": "goal: under 3",
    "seen.add by 1,000, the first 100,000 keys (keys/s)": "goal: 150,000 or more",
    "seen.add by 1,000, 1,000,000 keys (keys/s)": "goal: 150,000 or more",
    "raise a priority among 100,000, in memory, p50 (ms)": "goal: under 0.1",
    "SQLite: raise a priority among 100,000 p50 (ms)": "goal: under 1",
    "PostgreSQL: raise a priority among 100,000 p50 (ms)": "goal: under 1",
    "Valkey: raise a priority among 100,000 p50 (ms)": "goal: under 1",
    "SQLite: room made to a blocked push stored p50 (ms)": "goal: under 5",
    "PostgreSQL: room made to a blocked push stored p50 (ms)": "goal: under 5",
    "Valkey: room made to a blocked push stored p50 (ms)": "goal: under 5",
    "PostgreSQL: claim among 100,000 lanes, half limited / from one": "goal: under 3",
    "Valkey: claim and settle among 100,000 lanes / one lane": "goal: under 3",
    "claim and settle beside 10,000 full lanes / beside none, in memory": "goal: under 2",
    "start of a worker to its first job (s)": "goal: under 0.7",
    "killed child: its job runs again, median of 20 (s)": "goal: under 1",
    "killed worker: its job runs again elsewhere, median of 20 (s)": "goal: under 12",
    "idle worker with two children, share of one core (%)": "goal: under 1",
    "PostgreSQL: enqueue_many, batches of 1,000 (jobs/s)": "goal: 25,000 or more",
    "Valkey: enqueue_many, batches of 1,000 (jobs/s)": "goal: 40,000 or more",
    "PostgreSQL: drain, one worker process, no-op jobs (jobs/s)": "goal: 8,000 or more",
    "Valkey: drain, one worker process, no-op jobs (jobs/s)": "goal: 15,000 or more",
    "PostgreSQL: enqueue to start p50 (ms)": "goal: under 2",
    "Valkey: enqueue to start p50 (ms)": "goal: under 2",
    "PostgreSQL: killed child: its job runs again, median of 20 (s)": "goal: under 1",
    "Valkey: killed child: its job runs again, median of 20 (s)": "goal: under 1",
    "PostgreSQL: killed worker: its job runs again elsewhere, median of 20 (s)": "goal: under 12",
    "Valkey: killed worker: its job runs again elsewhere, median of 20 (s)": "goal: under 12",
    "PostgreSQL by TCP: enqueue to start p50 (ms)": "goal: under 2",
    "Valkey by TCP: enqueue to start p50 (ms)": "goal: under 2",
    "PostgreSQL by TCP: drain, one worker process, no-op jobs (jobs/s)": "goal: 8,000 or more",
    "Valkey by TCP: drain, one worker process, no-op jobs (jobs/s)": "goal: 15,000 or more",
    "PostgreSQL: claim among 1,000,000 / among 1,000": "goal: under 2",
    "Valkey: claim among 1,000,000 / among 1,000": "goal: under 2",
    "Valkey: memory of a waiting job, payload of 100 bytes (B)": "goal: under 500",
    "PostgreSQL: tables after 1,000,000 / after 200,000": "goal: about 1",
    "PostgreSQL: claim while a snapshot is held, after 200,000 jobs / before": "goal: under 2",
    "PostgreSQL: claim while a number is held, after 200,000 jobs / before": "goal: under 2",
}
BENCHMARKS: dict[str, Callable[[int], Figures]] = {
    "enqueue_many": core.enqueue_many,
    "enqueue_one": core.enqueue_one,
    "drain": core.drain,
    "latency": core.latency,
    "lateness": core.lateness,
    "idle": core.idle,
    "depth": core.depth,
    "flow_lanes": flow.lanes,
    "flow_crowd": flow.crowd,
    "seen_on_sqlite": seen.on_sqlite,
    "memory_bump": memory.bump,
    "memory_held_back": memory.held_back,
    "startup": tree.startup,
    "recovery_child": tree.recovery_child,
    "recovery_tree": tree.recovery_tree,
    "scaling": tree.scaling,
    "head_of_line": tree.head_of_line,
    "cost": tree.cost,
    "producers_bump": producers.bump,
    "producers_room": producers.room,
    "servers_enqueue_many": servers.enqueue_many,
    "servers_drain": servers.drain,
    "servers_latency": servers.latency,
    "servers_recovery_child": tree.servers_recovery_child,
    "servers_recovery_tree": tree.servers_recovery_tree,
    "servers_depth": servers.depth,
    "servers_memory": servers.memory,
    "seen_on_servers": seen.on_servers,
    "servers_flatness": servers.flatness,
    "servers_held": servers.held,
    "servers_lanes": flow_redis.many_lanes,
    "postgres_lanes": flow.postgres_lanes,
}

if __name__ == "__main__":
    main()
