"""A real Valkey cluster for tests: three primaries on loopback, each with as many replicas as asked for.

The shared one is formed when first asked for, in about two seconds, once for each pytest process; a test that kills nodes or
moves slots forms one for itself.
"""

import atexit
import contextlib
from functools import cache

import redis
from redis.crc import key_slot

from tests.support.servers_tcp import HOST, TcpServer, free_port, until

FORM_S = 30.0
SLOTS = 16_384


class ClusterNode(TcpServer):
    """One node."""

    def __init__(self, *settings: str) -> None:
        self.bus = free_port()
        super().__init__(*settings)
        self.id = str(self.ask("CLUSTER", "MYID"), "utf-8")  # type: ignore[call-overload]

    def command(self) -> list[str]:
        return [*super().command(), "--cluster-enabled", "yes", "--cluster-port", str(self.bus)]


class ClusterServer:
    """A cluster of three primaries, until `stop`."""

    def __init__(self, *settings: str, replicas: int = 0, node_timeout_ms: int = 5000) -> None:
        self._stack = contextlib.ExitStack()
        settings = ("--cluster-node-timeout", str(node_timeout_ms), *settings)
        try:
            self.primaries = [self._node(settings) for _ in range(3)]
            self.replicas = [self._node(settings) for _ in range(3 * replicas)]
            self._form()
        except BaseException:
            self.stop()
            raise

    @property
    def nodes(self) -> list[ClusterNode]:
        return [*self.primaries, *self.replicas]

    @property
    def url(self) -> str:
        return "redis://" + ",".join(node.name for node in self.primaries)

    def holder(self, key: str) -> ClusterNode:
        """Give the primary that holds this key now, as the first node tells that can be asked."""
        for node in self.nodes:
            with contextlib.suppress(redis.exceptions.ConnectionError), node.client() as client:
                slots = client.cluster("SLOTS")
                slot = key_slot(key.encode())
                port = next(one[2][1] for one in slots if one[0] <= slot <= one[1])
                return next(one for one in self.nodes if one.port == port)
        raise AssertionError("no node answers")

    def crash(self) -> None:
        """Kill every primary, and start it again on what it had written."""
        for node in self.primaries:
            node.kill()
            node.start()
        self._await_state()

    def stop(self) -> None:
        self._stack.close()

    def _node(self, settings: tuple[str, ...]) -> ClusterNode:
        node = ClusterNode(*settings)
        self._stack.callback(node.stop)
        return node

    def _form(self) -> None:
        for number, node in enumerate(self.primaries):
            first, last = (-(-SLOTS * end // 3) for end in (number, number + 1))
            node.ask("CLUSTER", "ADDSLOTSRANGE", first, last - 1)
            node.ask("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        for node in self.nodes[1:]:
            self.nodes[0].ask("CLUSTER", "MEET", HOST, node.port, node.bus)
        until(lambda: all(self._knows_all(node) for node in self.nodes), FORM_S, "nodes that know one another")
        for place, replica in enumerate(self.replicas):
            replica.ask("CLUSTER", "REPLICATE", self.primaries[place % 3].id)
        self._await_state()

    def _knows_all(self, node: ClusterNode) -> bool:
        told = str(node.ask("CLUSTER", "NODES"))
        return all(other.id in told for other in self.nodes) and "handshake" not in told

    def _await_state(self) -> None:
        until(lambda: all(_is_ok(node) for node in self.nodes), FORM_S, "a cluster that is ok")
        until(
            lambda: all(node.info("replication")["master_link_status"] == "up" for node in self.replicas),
            FORM_S, "replicas that follow",
        )  # fmt: skip


def _is_ok(node: ClusterNode) -> bool:
    told = node.ask("CLUSTER", "INFO")
    return "cluster_state:ok" in str(told) or "'cluster_state': 'ok'" in str(told)


@cache
def shared_cluster() -> ClusterServer:
    """Give this process's cluster, which keeps nothing on disk."""
    cluster = ClusterServer("--appendonly", "no")
    atexit.register(cluster.stop)
    return cluster
