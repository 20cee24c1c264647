"""Which servers there are, and which of them a command is for: the seam below `Delivery`.

Three kinds of wiring are known: one server (`one_server`), the primary that sentinels name (`guided`), a cluster
(`cluster`). What is common to all, that commands are sent again, and how, is above this seam; a wiring only tells where to.
It is told what was found out on the way: a server that does not answer or takes no writes, a slot that has moved.
"""

from typing import Protocol

import redis
from redis.exceptions import AskError, MovedError

from holdfast.store.redis.node import Node


class Wiring(Protocol):
    """Ways to servers. Safe to use from many threads and, after `forget`, in a forked child."""

    @property
    def is_cluster(self) -> bool: ...

    @property
    def is_led(self) -> bool:
        """Whether another server may take over, so that one which takes no writes is worth another look."""
        ...

    def node_for(self, key: bytes) -> Node:
        """Give the server that holds this key. May ask around. Raises a driver's error or StoreError."""
        ...

    def primaries(self) -> list[Node]:
        """Give all servers that hold jobs, as they are now."""
        ...

    def listener(self) -> "redis.Redis":
        """Make a client of a server at which everything published is heard; another one each time, if there are more."""
        ...

    def doubt(self, node: Node) -> None:
        """Take note that a server did not answer, or takes no writes: find out who has its place."""
        ...

    def moved(self, node: Node, told: MovedError) -> None:
        """Take note that a node told where a slot is now."""
        ...

    def importing(self, node: Node, told: AskError) -> Node:
        """Give the node to which a slot is on its way, for the one command that was sent there."""
        ...

    def close(self) -> None: ...

    def forget(self) -> None:
        """Begin anew in a forked child."""
        ...
