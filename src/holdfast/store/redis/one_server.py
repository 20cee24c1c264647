"""The wiring of one server: everything is for it."""

import redis
from redis.exceptions import AskError, MovedError

from holdfast.store.redis.addresses import Address
from holdfast.store.redis.node import Node


class OneServer:
    """See `wiring.Wiring`."""

    is_cluster = False
    is_led = False

    def __init__(self, address: Address, where: str) -> None:
        self._address = address
        self._where = where
        self._node = Node(where, self.listener())

    def node_for(self, key: bytes) -> Node:
        del key
        return self._node

    def primaries(self) -> list[Node]:
        return [self._node]

    def listener(self) -> "redis.Redis":
        return self._address.client(self._address.hosts[0] if self._address.hosts else None)

    def doubt(self, node: Node) -> None:
        """There is no other."""

    def moved(self, node: Node, told: MovedError) -> None:
        raise told  # it was no cluster when the store was opened

    def importing(self, node: Node, told: AskError) -> Node:
        raise told

    def close(self) -> None:
        self._node.close()

    def forget(self) -> None:
        self._node.forget()
        self._node = Node(self._where, self.listener())
