"""Seen-sets: which keys came to a queue before. All of it happens inside a transaction.

**Exact.** Whoever may mark keys inserts their rows first, and decides then: of two that bring the same key at once, the
second waits for the first. Rows of what was not stored after all are deleted again by the same transaction: nobody ever
sees them.

**Approximate.** Keys whose bits are all set already are only read. For the others the blocks are locked, read again, and
written back.

Rows and blocks are locked by queue and digest, or block, after all jobs. Verdicts forget keys and mark them with their jobs
locked, so a push must not wait for a job while it holds a key.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import msgspec

from holdfast.model.seen import Sketch
from holdfast.policy.seen import BLOCK_BYTES
from holdfast.store.postgres.schema import Statements
from holdfast.store.postgres.talk import Rows, Talk
from holdfast.store.seenset import Ending, SeenSet, blocks_of, replayed, succeeded

Asked = Mapping[str, Mapping[bytes, int | None]]
"""Digests with the term that each would get, by queue."""
_EMPTY = bytes(BLOCK_BYTES)


class Marking:
    """The sets that a step asks and marks, with what it holds of them."""

    def __init__(self, sets: dict[str, SeenSet], held: dict[tuple[str, bytes], int | None]) -> None:
        self.sets = sets
        self.held = held
        """Keys that were new, with the term under which they are marked already."""


def begin(statements: Statements, asked: Asked, now_us: int | None) -> Talk[Marking]:
    """Hold what a step may mark, until its transaction is over, and read the rest."""
    if not asked:
        return Marking({}, {})
    terms = {(queue, digest): ttl_us for queue, digests in asked.items() for digest, ttl_us in digests.items()}
    rows = yield statements["mark_seen"], _marks(terms, now_us)
    held = {(queue, digest): terms[queue, digest] for queue, digest, sketch in rows if sketch is None}
    sets = {
        queue: SeenSet(None, [digest for digest in digests if (queue, digest) not in held])
        for queue, digests in asked.items()
    }
    shaped = {queue: decoded(sketch) for queue, _, sketch in rows if sketch is not None}
    if shaped:
        sets |= yield from _hold_blocks(statements, shaped, asked)
    return Marking(sets, held)


def finish(
    statements: Statements, marking: Marking, forgotten: Mapping[str, Iterable[bytes]], now_us: int | None
) -> Talk[None]:
    """Write what has become of the sets: forget, and mark what was added."""
    added = {(queue, digest): ttl for queue, one in marking.sets.items() for digest, ttl in one.fresh.items()}
    gone = {(queue, digest) for queue, digests in forgotten.items() for digest in digests}
    gone |= {place for place, ttl in marking.held.items() if place not in added or added[place] != ttl}
    if gone:
        yield statements["forget_seen"], {**_columns(gone), "now": now_us}
    left = {place: ttl for place, ttl in added.items() if place in gone or place not in marking.held}
    if left:
        yield statements["mark_seen"], _marks(left, now_us)
    blocks = [
        (queue, block, number, bytes(one.blocks[block]))
        for queue, one in marking.sets.items()
        for block, number in one.added.items()
    ]
    if blocks:
        names = ("queues", "blocks", "added", "bits")
        lists = map(list, zip(*blocks, strict=True))
        yield statements["save_seen_blocks"], dict(zip(names, lists, strict=True))


def end(statements: Statements, ends: Sequence[Ending], now_us: int | None) -> Talk[None]:
    """Mark the keys of jobs that have succeeded, and forget those of jobs that have not."""
    if ends:
        marking = yield from begin(statements, succeeded(ends), now_us)
        yield from finish(statements, marking, replayed(ends, marking.sets), now_us)


def look(statements: Statements, queue: str, digests: Collection[bytes], now_us: int | None) -> Talk[SeenSet]:
    """Read what a set holds of these digests, without holding it."""
    sketch = yield from shape(statements, queue)
    if sketch is None:
        rows = yield statements["find_seen"], {"queue": queue, "digests": list(digests), "now": now_us}
        return SeenSet(None, (row[0] for row in rows))
    rows = yield statements["read_seen_blocks"], _places({queue: blocks_of(digests, sketch)})
    return SeenSet(sketch, blocks={block: bits for _, block, bits in rows})


def shape(statements: Statements, queue: str) -> Talk[Sketch | None]:
    text = "select sketch from ns_seen_shape where queue = %(queue)s"
    rows = yield statements.of(text), {"queue": queue}
    return decoded(rows[0][0]) if rows else None


def decoded(text: str) -> Sketch:
    return msgspec.json.decode(text, type=Sketch)


def _hold_blocks(statements: Statements, shaped: Mapping[str, Sketch], asked: Asked) -> Talk[dict[str, SeenSet]]:
    wanted = {queue: blocks_of(asked[queue], sketch) for queue, sketch in shaped.items()}
    rows = yield statements["read_seen_blocks"], _places(wanted)
    sets = {queue: SeenSet(sketch, blocks=_bits(rows, queue)) for queue, sketch in shaped.items()}
    needed = {
        queue: blocks_of([digest for digest in asked[queue] if not sets[queue].has(digest)], sketch)
        for queue, sketch in shaped.items()
    }
    if any(needed.values()):
        places = _places(needed)
        yield statements["make_seen_blocks"], {**places, "bits": _EMPTY}
        rows = yield statements["lock_seen_blocks"], places
        for queue, one in sets.items():
            one.blocks |= {block: bytearray(bits) for block, bits in _bits(rows, queue).items()}
    return sets


def _bits(rows: Rows, queue: str) -> dict[int, bytes]:
    return {block: bits for name, block, bits in rows if name == queue}


def _places(blocks: Mapping[str, Collection[int]]) -> dict[str, object]:
    return {
        "queues": [queue for queue, numbers in blocks.items() for _ in numbers],
        "blocks": list(chain.from_iterable(blocks.values())),
    }


def _columns(places: Iterable[tuple[str, bytes]]) -> dict[str, Any]:
    pairs = sorted(places)
    return {"queues": [queue for queue, _ in pairs], "digests": [digest for _, digest in pairs]}


def _marks(terms: Mapping[tuple[str, bytes], int | None], now_us: int | None) -> dict[str, object]:
    return {**_columns(terms), "ttls": [terms[place] for place in sorted(terms)], "now": now_us}
