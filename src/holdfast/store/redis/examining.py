"""What the doctor asks about a server: which it is, how much memory is left, whether its writes reach the disk."""

from collections.abc import Iterator
from typing import Any, Final

from holdfast.model.finding import Finding
from holdfast.store.redis.examining_cluster import examine_cluster
from holdfast.store.redis.link import Link
from holdfast.store.redis.server import Known, inspect

_MIB: Final = 1024 * 1024
_SHORT: Final = 0.8


def examine(link: Link) -> Iterator[Finding]:
    """Examine servers that can be reached, as they are set now: settings may have changed since the store was opened."""
    server = inspect(link, None)
    if link.wiring.is_cluster:
        yield from examine_cluster(link, server)
    for node in server.nodes:
        yield from _node(node, f"{node.where}: " if link.wiring.is_cluster else "")


def _node(node: Known, whose: str) -> Iterator[Finding]:
    info = node.info
    yield Finding("ok", "server", f"{whose}{node.name}, up {int(info['uptime_in_seconds']) / 3600:,.1f} h")
    for note in node.notes:
        yield Finding("warn", "note", whose + note, "see the settings appendonly and appendfsync of the server")
    yield _memory(whose, int(info["used_memory"]), int(info.get("maxmemory", 0)))
    yield _disk(whose, info)


def _memory(whose: str, used: int, most: int) -> Finding:
    if most == 0:
        return Finding("ok", "memory", f"{whose}{used / _MIB:,.1f} MiB in use, without a limit (maxmemory 0)")
    detail = f"{whose}{used / _MIB:,.1f} of {most / _MIB:,.1f} MiB (maxmemory) in use"
    if used < most * _SHORT:
        return Finding("ok", "memory", detail)
    return Finding(
        "warn", "memory", detail, "raise maxmemory, or let workers drain: when it is full, pushes are refused"
    )


def _disk(whose: str, info: dict[str, Any]) -> Finding:
    states = {name: str(info.get(name, "ok")) for name in ("aof_last_write_status", "aof_last_bgrewrite_status")}
    bad = [f"{name} is {state}" for name, state in states.items() if state != "ok"]
    if bad:
        return Finding("FAIL", "disk", whose + "; ".join(bad), "see the server's log: its disk is full or broken")
    return Finding("ok", "disk", f"{whose}the last write of the server's log went well")
