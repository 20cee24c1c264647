"""The wiring of a primary that sentinels watch: they are asked who it is, again whenever it is in doubt.

    find     ask one sentinel after the other for the address; go there; make sure that it says it is a primary
    doubt    it did not answer, or takes no writes: forget it, so that the next command asks again

The sentinel that answered is asked first the next time. While they choose a new primary they still name the old one; that
takes longer than anybody should wait inside a call, so the caller gets `StoreUnavailable` meanwhile, as with any server that
is down, and the first call after the choice finds the new one.
"""

import threading
from typing import Any

import redis
from redis.exceptions import AskError, MovedError, ReadOnlyError, RedisError, ResponseError

from holdfast.errors import StoreUnavailable
from holdfast.store.redis.addresses import Address, Host, shown
from holdfast.store.redis.node import Node


class Guided:
    """See `wiring.Wiring`."""

    is_cluster = False
    is_led = True

    def __init__(self, address: Address) -> None:
        assert address.service is not None
        self._address = address
        self._service: str = address.service
        self._begin()

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._sentinels = list(self._address.hosts)
        self._primary: tuple[Host, Node] | None = None

    def node_for(self, key: bytes) -> Node:
        del key
        return self._found()[1]

    def primaries(self) -> list[Node]:
        return [self._found()[1]]

    def listener(self) -> "redis.Redis":
        return self._address.client(self._found()[0])

    def doubt(self, node: Node) -> None:
        with self._lock:
            if self._primary is not None and self._primary[1] is node:
                node.close()
                self._primary = None

    def moved(self, node: Node, told: MovedError) -> None:
        raise told  # sentinels do not watch clusters

    def importing(self, node: Node, told: AskError) -> Node:
        raise told

    def close(self) -> None:
        if self._primary is not None:
            self._primary[1].close()

    def forget(self) -> None:
        if self._primary is not None:
            self._primary[1].forget()
        self._begin()

    def _found(self) -> tuple[Host, Node]:
        """Give the primary, asking for it if it is not known."""
        with self._lock:
            if self._primary is None:
                host = self._named()
                node = Node(shown(host), self._address.client(host))
                _check_role(node)
                self._primary = host, node
            return self._primary

    def _named(self) -> Host:
        """Ask the sentinels who the primary is, the one that answered last first."""
        failures: list[str] = []
        reached: list[Host] = []
        for sentinel in list(self._sentinels):
            try:
                found = self._ask(sentinel, "GET-MASTER-ADDR-BY-NAME", self._service)
            except (RedisError, OSError) as error:
                failures.append(f"{shown(sentinel)}: {error}")
                continue
            reached.append(sentinel)
            if found:
                self._sentinels.sort(key=lambda one: one != sentinel)
                return found[0].decode(), int(found[1])
        if reached:
            raise self._unknown(reached[0])
        raise StoreUnavailable(
            f"no sentinel can be reached ({'; '.join(failures)}). Is one running, and does the URL name it?"
        )

    def _unknown(self, sentinel: Host) -> StoreUnavailable:
        try:
            watched = [dict(zip(one[::2], one[1::2], strict=True)) for one in self._ask(sentinel, "MASTERS")]
            names = ", ".join(sorted(one[b"name"].decode() for one in watched)) or "none"
        except (RedisError, OSError):
            names = "unknown"
        return StoreUnavailable(
            f"the sentinel at {shown(sentinel)} watches no service {self._service!r} (it watches: {names}). "
            "Let the URL name one of those: redis+sentinel://host:26379/service."
        )

    def _ask(self, sentinel: Host, *words: str) -> Any:
        client = self._address.sentinel_client(sentinel)
        node = Node(shown(sentinel), client)
        try:
            return node.execute(("SENTINEL", *words))[0]
        finally:
            node.close()


def _check_role(node: Node) -> None:
    """Make sure that a server takes itself for a primary: what sentinels say may be a moment old."""
    try:
        role = node.execute(("ROLE",))[0][0]
    except ResponseError:
        return  # a user who may not ask; a replica will say so itself, to the first write
    except BaseException:
        node.close()
        raise
    if role != b"master":
        node.close()
        raise ReadOnlyError(f"{node.name} is a replica, though sentinels name it as the primary")
