"""What a store keeps of a queue that flows, and the few things it has to do with that: one statement each.

A `Ledger` is of one queue and lives for one step, in which its queue's lock is held: no other step with a ledger of this
queue is under way, and all of it is committed or nothing. Flows are texts to a store.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Literal, Protocol

import msgspec

from holdfast.model.queue import QueuePolicy
from holdfast.policy.flow import Flow

NAMELESS: Final = ""
"""The lane of the jobs that have none. It goes by its name like the others."""

Gate = Literal["open", "timed", "shut", "idle", "rested"]
"""Where a lane stands in the round; see the package."""

Kind = Literal["came", "ok", "bad", "void", "slow"]
"""Came: look at this lane, it may have a ready job now. Ok, bad, void: runs ended like that. Slow: leave it alone."""


class Book(msgspec.Struct, frozen=True, array_like=True):
    """What is kept of the queue itself. `declared` and `overlay` are as `policy.overlay.packed` gives them."""

    declared: str | None
    overlay: str | None
    flow: str | None
    is_flowing: bool


class LaneRow(msgspec.Struct, frozen=True, array_like=True):
    """What is kept of a lane, if anything is (`gate`), and what its jobs tell."""

    name: str
    gate: Gate | None
    rank: int
    flow: str | None
    has_ready: bool
    running: int


class Place(msgspec.Struct, frozen=True, array_like=True):
    """What is to be kept of a lane."""

    name: str
    gate: Gate
    rank: int
    flow: str


class News(msgspec.Struct, frozen=True, array_like=True):
    """Something that happened to a lane. `value` is how often (ok, bad, void) or until when (slow)."""

    id: int
    lane: str
    kind: Kind
    at_us: int
    value: int


class Ledger(Protocol):
    """The tables, as far as they are about one queue. Names sort by code point, as Python does."""

    def load(self) -> Book:
        """Give what is kept of the queue, which exists."""
        ...

    def save(self, flow: str, opens_us: int | None) -> None:
        """Keep the queue's flow, and when it may start a job as a whole: 0 for now, None for not before an event."""
        ...

    def keep(self, flow: str) -> None:
        """Keep the queue's flow, in which nothing has changed that decides when it may start a job."""
        ...

    def has_jobs(self) -> tuple[bool, bool]:
        """Tell whether any job of the queue runs, and whether any has yet to start, but for those that are parked."""
        ...

    def running(self) -> int:
        """Count the running jobs of the queue."""
        ...

    def read_news(self, limit: int) -> list[News]:
        """Give up to `limit` of the queue's news: all others before those of the kind `came`, then by id."""
        ...

    def drop_news(self, ids: Sequence[int]) -> None: ...

    def named(self, names: Sequence[str], *, counts: bool) -> list[LaneRow]:
        """Give one row for each name, kept or not. `running` matters only if it `counts`."""
        ...

    def open_lanes(self, after: tuple[int, str] | None, limit: int, *, counts: bool) -> list[LaneRow]:
        """Give the next open lanes behind this (rank, name), by (rank, name). Their `has_ready` is true, whatever is."""
        ...

    def names_at(self, gate: Gate, up_to: int, limit: int) -> list[str]:
        """List lanes at this gate whose rank is `up_to` or less, the lowest rank first."""
        ...

    def place(self, places: Sequence[Place]) -> None:
        """Keep these lanes, in place of what was kept of them."""
        ...

    def forget(self, names: Sequence[str]) -> None: ...

    def best(self, wanted: Mapping[str, int], policy: QueuePolicy) -> dict[str, list[int]]:
        """Give, by lane, the keys of its best ready jobs, as many as are wanted or there are; expired ones are none.

        The best are those by the order of the policy, and by how it has priorities age.
        """
        ...

    def put_in_force(self, declared: str | None, overlay: str | None, policy: QueuePolicy) -> None:
        """Keep the queue's policy, declared and overlaid, and what comes of both: the order and the bound in force.

        Jobs that were spilled enter, as far as there is room now.
        """
        ...

    def begin_to_flow(self, now_us: int) -> None:
        """Mark the queue as one that flows, and leave the news that something may have come to the nameless lane.

        If it flows already, do nothing.
        """
        ...

    def stir(self, names: Sequence[str], now_us: int) -> None:
        """Leave the news that something may have come to these lanes."""
        ...

    def stir_all(self, now_us: int) -> None:
        """Leave the news that something may have come to every lane that is open, timed or shut."""
        ...


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Flow).decode


def packed(flow: Flow) -> str:
    return _encode(flow).decode()


def unpacked(text: str | None) -> Flow:
    return _decode(text) if text else Flow()
