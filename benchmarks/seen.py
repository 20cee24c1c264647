"""Seen-sets on the stores that keep jobs, durable: how fast a million keys are marked, and what room they take."""

import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.core import Figures
from benchmarks.servers import SERVERS
from holdfast.app.app import Holdfast

KEYS = 1_000_000


def on_sqlite(repeats: int) -> Figures:
    """A million keys, marked as seen a thousand at a time; in an exact set, and in one made for so many."""
    exact = [_once() for _ in range(repeats)]
    shaped = [_once(KEYS) for _ in range(repeats)]
    return {
        "seen.add by 1,000, the first 100,000 keys (keys/s)": statistics.median(rates[0] for rates, _ in exact),
        "seen.add by 1,000, 1,000,000 keys (keys/s)": statistics.median(rates[1] for rates, _ in exact),
        "seen.add, room on disk (B/key)": statistics.median(room for _, room in exact),
        "seen.add by 1,000, 1,000,000 keys, approximate (keys/s)": statistics.median(rates[1] for rates, _ in shaped),
        "seen.add, approximate, room on disk (B/key)": statistics.median(room for _, room in shaped),
    }


def _once(capacity: int | None = None) -> tuple[tuple[float, float], float]:
    """Give the keys per second, early and overall, and the bytes per key of one set."""
    with tempfile.TemporaryDirectory() as name:
        with Holdfast(f"sqlite:///{name}/jobs.db") as app:
            rates = _rates(app, capacity)
        return rates, sum(file.stat().st_size for file in Path(name).glob("jobs.db*") if file.is_file()) / KEYS


def _rates(app: Holdfast, capacity: int | None = None) -> tuple[float, float]:
    """Give the keys per second at which an empty set is filled: the first tenth, and all."""
    filled = app.seen("crawl", capacity=capacity)
    filled.add(["the first one opens the store"])
    began = time.perf_counter()
    for first in range(0, KEYS, 1000):
        filled.add(f"https://site.example/page/{number}" for number in range(first, first + 1000))
        if first + 1000 == KEYS // 10:
            early = KEYS / 10 / (time.perf_counter() - began)
    return early, KEYS / (time.perf_counter() - began)


def on_servers(repeats: int) -> Figures:
    """The same, exact, on PostgreSQL and Valkey."""
    figures: Figures = {}
    for name, server in SERVERS.items():
        rates = []
        for _ in range(repeats):
            with server() as url, Holdfast(url) as app:
                rates.append(_rates(app)[1])
        figures[f"{name}: seen.add by 1,000, 1,000,000 keys (keys/s)"] = statistics.median(rates)
    return figures
