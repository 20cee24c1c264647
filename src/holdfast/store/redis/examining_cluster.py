"""What the doctor asks about a cluster as a whole: its state, its slots, its replicas, its clocks."""

from collections.abc import Iterator
from typing import Final

from redis.exceptions import RedisError

from holdfast.model.finding import Finding
from holdfast.policy.moments import SECOND
from holdfast.store.redis.link import Link
from holdfast.store.redis.server import Server
from holdfast.store.redis.slots import SLOTS

_APART_S: Final = 1.0


def examine_cluster(link: Link, server: Server) -> Iterator[Finding]:
    """Examine a cluster by what its primaries say."""
    yield _state(link)
    yield _replicas(server)
    yield _clocks(link)


def _state(link: Link) -> Finding:
    told: dict[str, dict[str, str]] = {}
    for node in link.wiring.primaries():
        try:
            text = node.execute(("CLUSTER", "INFO"))[0].decode()
        except RedisError as error:
            return Finding(
                "FAIL", "cluster", f"{node.name} does not say how it sees the cluster: {error}", "see its log"
            )
        told[node.name] = dict(line.split(":", 1) for line in text.split() if ":" in line)
    bad = [name for name, one in told.items() if one.get("cluster_state") != "ok"]
    covered = min(int(one.get("cluster_slots_ok", 0)) for one in told.values())
    detail = f"{len(told)} primaries, {covered:,} of {SLOTS:,} slots served"
    if bad:
        return Finding(
            "FAIL", "cluster", f"{detail}; not ok as seen by {', '.join(bad)}",
            "see CLUSTER NODES: bring nodes back, or give slots without a node to others (valkey-cli --cluster fix)",
        )  # fmt: skip
    if covered < SLOTS:
        return Finding("FAIL", "cluster", detail, "queues in the other slots do not work: valkey-cli --cluster fix")
    return Finding("ok", "cluster", detail)


def _replicas(server: Server) -> Finding:
    alone = [node.where for node in server.nodes if int(node.info.get("connected_slaves", 0)) == 0]
    if alone:
        return Finding(
            "warn", "replicas", f"without a replica: {', '.join(alone)}",
            "add replicas: when such a node is down, its queues stand still, and if it holds the house, all do",
        )  # fmt: skip
    return Finding("ok", "replicas", "every primary has a replica")


def _clocks(link: Link) -> Finding:
    """Compare the nodes' clocks, asked one after the other: what lies between the questions counts, too."""
    moments = []
    for node in link.wiring.primaries():
        seconds, micros = node.execute(("TIME",))[0]
        moments.append(int(seconds) + int(micros) / SECOND)
    apart_s = max(moments) - min(moments)
    if apart_s > _APART_S:
        return Finding(
            "warn", "clocks", f"the clocks of the nodes are {apart_s:.1f} s apart",
            "set them by NTP: due times are those of the node that holds the queue",
        )  # fmt: skip
    return Finding("ok", "clocks", f"the clocks of the nodes agree within {max(apart_s, 0.01):.2f} s")
