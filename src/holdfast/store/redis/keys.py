"""The names of keys and channels.

All keys of a queue share the hash tag `{queue}`, so on a cluster a queue lives on one node and queues spread over
nodes. What crosses queues (the house: directory, roster) has a tag of its own, with a character that no queue's
name may have, and the namespace, so that houses spread over nodes, too.
"""

from functools import lru_cache
from typing import Final

_QUEUE_KEYS: Final = (
    "meta", "head", "body", "ready", "later", "running", "parked", "expiring", "kept", "counts", "story", "results",
    "notes", "runs", "tags", "asked", "gone", "leases", "tasks", "ended", "recent", "laned", "since",
    "lanes", "open", "timed", "idle", "weights", "holders", "terms", "waiting", "spilled",
    "seen", "seen_until", "filter", "answers", "answered",
)  # fmt: skip
"""In the order in which `lua/parts/shelf.lua` names and explains them."""
_HOUSE_KEYS: Final = ("ids", "stamp", "queues", "workers", "leases", "lengths", "leaving", "reports", "ended")
"""In the order in which `lua/parts/house.lua` names and explains them."""


EVERYBODY: Final = b"!"
"""A message, in place of a queue's name, that ends all waits. No queue can have this name."""


class Keys:
    """The keys of one namespace."""

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self.house = tuple(f"{namespace}:{{~{namespace}}}:{name}".encode() for name in _HOUSE_KEYS)
        self.bell = f"{namespace}:bell"
        """The channel of those that wait for work. Messages are the names of queues."""
        self.over = f"{namespace}:over"
        """The channel of those that watch for ends. Messages are the names of queues."""
        self.of = lru_cache(maxsize=1024)(self._of)

    def in_house(self, name: str) -> bytes:
        return self.house[_HOUSE_KEYS.index(name)]

    def in_queue(self, queue: str, name: str) -> bytes:
        return self.of(queue)[_QUEUE_KEYS.index(name)]

    def _of(self, queue: str) -> tuple[bytes, ...]:
        return tuple(f"{self.namespace}:{{{queue}}}:{name}".encode() for name in _QUEUE_KEYS)
