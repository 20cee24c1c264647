"""The slot map: which node of a cluster holds which of the 16,384 slots."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

from redis.crc import key_slot

from holdfast.store.redis.addresses import Host

SLOTS: Final = 16_384

slot_of: Final = lru_cache(maxsize=8192)(key_slot)


class SlotMap:
    """A map as one node told it. It is replaced whole, never changed."""

    def __init__(self, owners: tuple[Host | None, ...] = (None,) * SLOTS) -> None:
        self._owners = owners
        self.hosts: list[Host] = sorted({host for host in owners if host is not None})
        """The primaries that hold at least one slot."""

    def owner(self, slot: int) -> Host | None:
        return self._owners[slot]

    def with_move(self, slot: int, host: Host) -> "SlotMap":
        return SlotMap((*self._owners[:slot], host, *self._owners[slot + 1 :]))


def read_map(answer: Iterable[list[Any]], asked: Host) -> SlotMap:
    """Read the answer to CLUSTER SLOTS of the node at `asked`."""
    owners: list[Host | None] = [None] * SLOTS
    for first, last, primary, *_ in answer:
        owners[first : last + 1] = [real_host(primary[0], int(primary[1]), asked)] * (last - first + 1)
    return SlotMap(tuple(owners))


def real_host(name: bytes | str | None, port: int, asked: Host) -> Host:
    """Give a host as a node told it. One that does not know its own name means the one by which it was asked."""
    text = name.decode() if isinstance(name, bytes) else name
    return (asked[0] if text in (None, "", "?") else text, port)
