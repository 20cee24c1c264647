"""What the doctor asks about an open store: what it promises, who serves it, what lies in it and should not."""

import time
from collections.abc import Iterator
from statistics import median
from typing import Final

from holdfast.cli.output import plural
from holdfast.model.finding import Finding
from holdfast.model.query import Query
from holdfast.policy.moments import SECOND
from holdfast.store.protocol import Store

_TRIPS: Final = 5
_FAR_MS: Final = 20.0
_APART_S: Final = 1.0
_RISKS: Final = {
    "fast": "a power cut (of a Redis server: a crash, too) may take back the last commits",
    "volatile": "what it holds is gone when it ends",
}


def check_store(store: Store) -> Iterator[Finding]:
    """Examine a store that could be opened."""
    info = store.describe()
    yield Finding("ok", "store", f"{info.kind} {info.where} can be opened")
    # Opening brings an older schema up to date, and refuses a newer one.
    yield Finding("ok", "schema", "is the one this version reads and writes")
    yield _tier(info.tier)
    yield from store.inspector.examine()
    yield from _nearness(store)
    yield _workers(store)
    yield from _unserved(store)
    yield from _paused(store)
    yield _parked(store)


def _nearness(store: Store) -> Iterator[Finding]:
    """Measure how far away the store is, and how far apart the clocks are."""
    trips, offsets = [], []
    for _ in range(_TRIPS):
        before_us, began = time.time_ns() // 1000, time.perf_counter()
        there_us = store.now()
        trips.append(time.perf_counter() - began)
        offsets.append(abs(there_us - before_us - trips[-1] * SECOND / 2) / SECOND)
    trip_ms, offset_s = median(trips) * 1000, min(offsets)
    detail = f"answers in {trip_ms:.2f} ms"
    if trip_ms < _FAR_MS:
        yield Finding("ok", "distance", detail)
    else:
        yield Finding("warn", "distance", detail, "every step waits for this: run workers nearer to the store")
    detail = f"the store's clock and this machine's are {offset_s * 1000:,.1f} ms apart"
    if offset_s < _APART_S:
        yield Finding("ok", "clock", detail)
    else:
        yield Finding("warn", "clock", detail, "the store's decides, so jobs are not late; let NTP set this machine's")


def _tier(tier: str) -> Finding:
    if tier == "durable":
        return Finding("ok", "tier", "durable: what was enqueued survives a power cut")
    return Finding(
        "warn",
        "tier",
        f"{tier}: {_RISKS[tier]}",
        "see the table of tiers in the guarantees; tier='durable' refuses to work with less",
    )


def _workers(store: Store) -> Finding:
    live = store.inspector.workers()
    if live:
        shown = ", ".join(f"{worker.id} (pid {worker.pid} on {worker.host})" for worker in live[:5])
        return Finding("ok", "workers", f"{plural(len(live), 'live worker')}: {shown}")
    waiting = store.inspector.count(Query(states=("ready",)))
    if not waiting:
        return Finding("ok", "workers", "none is running, and no job is ready")
    return Finding("warn", "workers", f"none is running, and {plural(waiting)} could run", "holdfast worker MODULE:APP")


def _unserved(store: Store) -> Iterator[Finding]:
    """Find queues that no live worker serves. A worker that names no queues serves all."""
    live = store.inspector.workers()
    if not live or any(not worker.queues for worker in live):
        return
    served = {name for worker in live for name in worker.queues}
    for name in store.queues.names():
        record = store.queues.get(name)
        if name not in served and record is not None and record.size:
            detail = f"queue {name} holds {plural(record.size)}, and no live worker serves it"
            yield Finding("warn", "queues", detail, f"start a worker with --queues {name}, or without --queues")


def _paused(store: Store) -> Iterator[Finding]:
    for name in store.queues.names():
        record = store.queues.get(name)
        if record is not None and record.is_paused:
            detail = f"queue {name} is paused and holds {plural(record.size)}"
            yield Finding("warn", "queues", detail, f"holdfast queue resume {name}")


def _parked(store: Store) -> Finding:
    number = store.inspector.count(Query(states=("parked",)))
    if not number:
        return Finding("ok", "parked", "no job is set aside")
    return Finding("warn", "parked", f"{plural(number)} set aside", "see why: holdfast jobs --state parked")
