"""The door to seen-sets.

Batches go in slices, one script each, so that the server is never held for long. Each slice is a step of its own; if the
server fails between two, the earlier ones stand, and the caller gets an error.

**If an answer is lost**, the call is sent again, and would find its own marks: *not new*. So what a call answered is kept
with the queue, under the caller and the number of the call (see `lua/parts/answers.lua`). That holds within one operation:
who is told `StoreUnavailable` and adds the same keys once more may be told that they were seen. Who must not lose a
key for that leaves the marking to the push.
"""

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any, Final

import msgspec

from holdfast.model.seen import SeenRecord, Sketch
from holdfast.policy.seen import BLOCK_BYTES
from holdfast.store.redis.link import Link
from holdfast.store.redis.rows import pack

SLICE: Final = 1000
"""How many digests one script takes: a few milliseconds."""
WIDTH: Final = 8 * 1024 * 1024
"""How many bytes of a filter are made in one step."""
_sketch_of: Final = msgspec.msgpack.Decoder(Sketch).decode


class RedisSeen:
    """Seen-sets; see `protocol.Seen`."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._callers = _Callers()

    def add(
        self, name: str, digests: Sequence[bytes], ttl_us: int | None = None, now_us: int | None = None
    ) -> list[bool]:
        self._register(name)
        term = "" if ttl_us is None else ttl_us
        return [new for part in _slices(digests) for new in self._change("see", name, part, term, now_us=now_us)]

    def has(self, name: str, digests: Sequence[bytes], now_us: int | None = None) -> list[bool]:
        parts = _slices(digests)
        return [seen for part in parts for seen in _truths(self._link.call("has_seen", name, part, now_us=now_us))]

    def discard(self, name: str, digests: Sequence[bytes], now_us: int | None = None) -> list[bool]:
        return [was for part in _slices(digests) for was in self._change("unsee", name, part, now_us=now_us)]

    def clear(self, name: str) -> int:
        with self._callers.one() as call:
            return int(self._link.call("unsee_all", name, *call, now_us=None))

    def shape(self, name: str, sketch: Sketch | None = None) -> Sketch | None:
        if sketch is None:
            packed = self._link.ask(("HGET", self._link.keys.in_queue(name, "meta"), "sketch"))[0]
            return None if packed is None else _sketch_of(packed)
        self._register(name)
        packed = self._link.call("shape", name, pack(sketch), now_us=None)
        if packed is None:
            return None
        self._widen(name, _sketch_of(packed))
        return _sketch_of(packed)

    def get(self, name: str, now_us: int | None = None) -> SeenRecord:
        number, packed = self._link.call("count_seen", name, now_us=now_us)
        return SeenRecord(name, int(number), None if packed is None else _sketch_of(packed))

    def _change(self, script: str, name: str, *args: Any, now_us: int | None) -> Iterator[bool]:
        with self._callers.one() as call:
            return _truths(self._link.call(script, name, *call, *args, now_us=now_us))

    def _widen(self, name: str, shape: Sketch) -> None:
        """Make the whole filter now, step by step: the first bit at its end would have the server make it at once."""
        there, wanted = 0, shape.blocks * BLOCK_BYTES
        while there < wanted:
            before = there
            there = self._link.call("widen", name, before + WIDTH, now_us=None)
            if there == before:
                return  # somebody has cleared the set

    def _register(self, name: str) -> None:
        self._link.ask(("SADD", self._link.keys.in_house("queues"), name))


class _Callers:
    """Names for those that call at the same moment: none has two calls under way. Each call has a number of its own."""

    def __init__(self) -> None:
        self._free: list[str] = []
        self._numbers = count(1)

    @contextmanager
    def one(self) -> Iterator[tuple[str, int]]:
        """Give a caller, which is nobody else's within the block, and the number of its call."""
        try:
            caller = self._free.pop()
        except IndexError:
            caller = secrets.token_hex(8)
        try:
            # After a fork the child has the same names in hand as its parent.
            yield f"{caller}-{os.getpid()}", next(self._numbers)
        finally:
            self._free.append(caller)


def _slices(digests: Sequence[bytes]) -> Iterator[bytes]:
    """Give the digests, one behind the other, so many at a time."""
    for at in range(0, len(digests), SLICE):
        yield b"".join(digests[at : at + SLICE])


def _truths(text: bytes) -> Iterator[bool]:
    return (one == ord("1") for one in text)
