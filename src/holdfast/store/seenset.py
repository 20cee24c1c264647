"""The part of a seen-set that a batch touches: read by a SQL store, asked and marked here, and written back by the store.

Keys of one batch see each other. What keeps the rest true until the commit (a lock) is the store's.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from holdfast.model.job import NewJob
from holdfast.model.seen import SeenMark, Sketch
from holdfast.policy import seen as rules


class SeenSet:
    """What a batch knows of the seen-set of one queue, and what it adds to it."""

    def __init__(
        self, sketch: Sketch | None = None, known: Iterable[bytes] = (), blocks: Mapping[int, bytes] | None = None
    ) -> None:
        """`known` has those of the batch's digests that an exact set holds, `blocks` what is there of an approximate one."""
        self.sketch = sketch
        self.blocks = {number: bytearray(bits) for number, bits in (blocks or {}).items()}
        self.fresh: dict[bytes, int | None] = {}
        """What was added to an exact set, each with its term."""
        self.added: Counter[int] = Counter()
        """How many keys were added to each block of an approximate set."""
        self._known = set(known)

    def has(self, digest: bytes) -> bool:
        if self.sketch is None:
            return digest in self._known
        number, bits = rules.place(digest, self.sketch)
        return number in self.blocks and rules.holds(self.blocks[number], bits)

    def add(self, digest: bytes, ttl_us: int | None) -> bool:
        """Mark a key. Return whether it is new. One that is there keeps its term."""
        if self.sketch is not None:
            return self._put(*rules.place(digest, self.sketch))
        if digest in self._known:
            return False
        self._known.add(digest)
        self.fresh[digest] = ttl_us
        return True

    def discard(self, digest: bytes) -> None:
        """Forget a key, whether it was there or is one of the batch. An approximate set forgets nothing."""
        self._known.discard(digest)
        self.fresh.pop(digest, None)

    def _put(self, number: int, bits: list[int]) -> bool:
        is_new = rules.put(self.blocks.setdefault(number, bytearray(rules.BLOCK_BYTES)), bits)
        if is_new:
            self.added[number] += 1
        return is_new


class Ending(msgspec.Struct, frozen=True):
    """The end of a job whose key is new again if it did not succeed."""

    queue: str
    digest: bytes
    ttl_us: int | None
    is_success: bool


def succeeded(ends: Iterable[Ending]) -> dict[str, dict[bytes, int | None]]:
    """List by queue the digests that endings may mark, each once, with the term that it would get."""
    digests: dict[str, dict[bytes, int | None]] = {}
    for end in ends:
        if end.is_success:
            digests.setdefault(end.queue, {}).setdefault(end.digest, end.ttl_us)
    return digests


def replayed(ends: Iterable[Ending], sets: Mapping[str, SeenSet]) -> dict[str, set[bytes]]:
    """Do to these sets what the endings do, in their order. Give by queue what is to be forgotten before what they add."""
    forgotten: dict[str, set[bytes]] = {}
    for end in ends:
        if end.is_success:
            sets[end.queue].add(end.digest, end.ttl_us)
            continue
        forgotten.setdefault(end.queue, set()).add(end.digest)
        if end.queue in sets:
            sets[end.queue].discard(end.digest)
    return forgotten


def failures(queue: str, digests: Iterable[bytes | None]) -> list[Ending]:
    """Give the endings of jobs of one queue that were cancelled or have expired. Most have no digest to be forgotten."""
    return [Ending(queue, digest, None, is_success=False) for digest in digests if digest is not None]


def remembered(mark: SeenMark | None) -> tuple[bytes | None, int | None]:
    """Give what a job's row keeps of its mark: digest and term, if its end has a say."""
    return (mark.digest, mark.ttl_us) if mark is not None and mark.forgets_failure else (None, None)


def asked(jobs: Iterable[NewJob]) -> dict[str, dict[bytes, int | None]]:
    """List by queue the digests that a batch names, each once, with the term that it would get."""
    digests: dict[str, dict[bytes, int | None]] = {}
    for job in jobs:
        if job.seen is not None:
            digests.setdefault(job.queue, {}).setdefault(job.seen.digest, job.seen.ttl_us)
    return digests


def blocks_of(digests: Iterable[bytes], sketch: Sketch) -> list[int]:
    """List, sorted, the blocks in which these keys have their bits."""
    return sorted({rules.place(digest, sketch)[0] for digest in digests})
