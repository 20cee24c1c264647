"""The seen-set of one shelf.

Exact: a dict of digests with the moment until which each counts, and a heap of those moments for upkeep; one that is past
it counts for nothing before. Approximate: the blocks that have been touched. Every use of a book is made with its shelf's
lock held, so that a push looks and marks in one step (I24).
"""

from typing import Final

from holdfast.model.seen import Sketch
from holdfast.policy import seen as rules
from holdfast.store.memory.heap import IndexedHeap

FOR_EVER: Final = 2**62


class SeenBook:
    """The keys that were seen in one queue."""

    def __init__(self) -> None:
        self.sketch: Sketch | None = None
        self._until: dict[bytes, int] = {}
        self._terms = IndexedHeap()
        self._blocks: dict[int, bytearray] = {}
        self._added = 0

    def has(self, digest: bytes, now_us: int) -> bool:
        if self.sketch is None:
            return self._until.get(digest, 0) > now_us
        block, bits = rules.place(digest, self.sketch)
        return block in self._blocks and rules.holds(self._blocks[block], bits)

    def add(self, digest: bytes, ttl_us: int | None, now_us: int) -> bool:
        """Mark a key. Return whether it is new. One that is there keeps its term."""
        if self.sketch is not None:
            is_new = self._set_bits(digest, self.sketch)
            self._added += is_new
            return is_new
        if self.has(digest, now_us):
            return False
        self.discard(digest, now_us)
        self._until[digest] = FOR_EVER if ttl_us is None else now_us + ttl_us
        if ttl_us is not None:
            self._terms.push(digest.hex(), (now_us + ttl_us,))
        return True

    def discard(self, digest: bytes, now_us: int) -> bool:
        """Forget a key. Return whether it was there. An approximate set forgets nothing."""
        until_us = self._until.pop(digest, 0)
        if digest.hex() in self._terms:
            self._terms.remove(digest.hex())
        return until_us > now_us

    def clear(self) -> int:
        """Forget all, also the shape."""
        number = len(self)
        self._until.clear()
        self._terms = IndexedHeap()
        self._blocks.clear()
        self._added, self.sketch = 0, None
        return number

    def forget_old(self, limit: int, now_us: int) -> None:
        """Drop up to `limit` keys that are past their term."""
        for _ in range(limit):
            first = self._terms.peek()
            if first is None or first[0][0] > now_us:
                return
            self.discard(bytes.fromhex(first[1]), now_us)

    def count(self, now_us: int) -> int:
        return self._added + sum(until_us > now_us for until_us in self._until.values())

    def __len__(self) -> int:
        return self._added + len(self._until)

    def _set_bits(self, digest: bytes, shape: Sketch) -> bool:
        block, bits = rules.place(digest, shape)
        return rules.put(self._blocks.setdefault(block, bytearray(rules.BLOCK_BYTES)), bits)
