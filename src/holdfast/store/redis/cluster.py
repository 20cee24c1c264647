"""The wiring of a cluster: each slot has a node, and the map of slots is learnt from the nodes.

The map is asked for when the store opens, when a node says that a slot has moved (MOVED), and when a node does not answer.
It is asked of any node that is known or was named in the URL, the doubted one last: what a dead node's neighbours say is
true sooner. A map that is old costs a hop, never a job: a node answers only for slots that it holds.

A slot that is being moved has two places. The old one sends us to the new one for single commands (ASK), without the map
being changed; and a call of a script, which names all keys of its queue, is put off by both (TRYAGAIN) until the move is
over. Half a queue is never seen by anybody.
"""

import threading
from itertools import count
from typing import Any

import redis
from redis.exceptions import AskError, ClusterDownError, MovedError, RedisError

from holdfast.store.redis.addresses import Address, Host, shown
from holdfast.store.redis.node import Node
from holdfast.store.redis.slots import SlotMap, read_map, real_host, slot_of


class Cluster:
    """See `wiring.Wiring`."""

    is_cluster = True
    is_led = True

    def __init__(self, address: Address) -> None:
        self._address = address
        self._map = SlotMap()
        self._begin()

    def _begin(self) -> None:
        self._lock = threading.Lock()
        """Held while the table of nodes is looked at: never for long."""
        self._learning = threading.RLock()
        """Held while nodes are asked for the map; others go on with the old one meanwhile."""
        self._lessons = 0
        self._nodes: dict[Host, Node] = {}
        self._turns = count()

    def node_for(self, key: bytes) -> Node:
        slot = slot_of(key)
        if self._map.owner(slot) is None:
            self._learn(None)
        host = self._map.owner(slot)
        if host is None:
            raise ClusterDownError(f"no node of the cluster holds slot {slot}")
        return self._node(host)

    def primaries(self) -> list[Node]:
        self._learn(None)
        return [self._node(host) for host in self._map.hosts]

    def listener(self) -> "redis.Redis":
        # What is published at one node is heard at all of them. The next one each time, so that an ear which has lost its
        # node finds another.
        hosts = self._known()
        return self._address.client(hosts[next(self._turns) % len(hosts)])

    def doubt(self, node: Node) -> None:
        self._learn(node)

    def moved(self, node: Node, told: MovedError) -> None:
        host = real_host(told.host, told.port, self._host_of(node))
        with self._learning:
            if self._map.owner(told.slot_id) != host:  # the first to be told; usually more than one slot has moved
                self._learn(None)
                self._map = self._map.with_move(told.slot_id, host)

    def importing(self, node: Node, told: AskError) -> Node:
        return self._node(real_host(told.host, told.port, self._host_of(node)))

    def close(self) -> None:
        with self._lock:
            for node in self._nodes.values():
                node.close()

    def forget(self) -> None:
        for node in self._nodes.values():
            node.forget()
        self._begin()

    def _learn(self, doubted: Node | None) -> None:
        """Ask the nodes for the map, until one tells it. If none does, the old one stays."""
        before = self._lessons
        last = None if doubted is None else self._host_of(doubted)
        with self._learning:
            if self._lessons != before:
                return  # another thread has learnt it while this one waited
            for host in sorted(self._known(), key=lambda known: known == last):
                found = self._asked(host)
                if found is not None and found.hosts:
                    self._map = found
                    self._lessons += 1
                    return

    def _asked(self, host: Host) -> SlotMap | None:
        """Give the map as one node knows it, or None: it cannot be asked now, and another one will be."""
        try:
            slots: list[Any] = self._node(host).execute(("CLUSTER", "SLOTS"))[0]
        except (RedisError, OSError):
            return None
        return read_map(slots, host)

    def _known(self) -> list[Host]:
        return list(dict.fromkeys((*self._map.hosts, *self._address.hosts)))

    def _node(self, host: Host) -> Node:
        with self._lock:
            if host not in self._nodes:
                self._nodes[host] = Node(shown(host), self._address.client(host))
            return self._nodes[host]

    def _host_of(self, node: Node) -> Host:
        with self._lock:
            return next((host for host, known in self._nodes.items() if known is node), self._address.hosts[0])
