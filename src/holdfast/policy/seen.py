"""Which keys were seen: how a key is told from all others, and how an approximate set is shaped.

**Exact.** A set keeps a digest of 16 bytes for each key. Two keys of one digest are not to be feared: among a thousand
million keys the chance that any two meet is under 1 in 10^20.

**Approximate** (a Bloom filter, in blocks). A key stands for a few bits of one block of 4 KiB; it counts as seen if all are
set. So it can err in one way only: a key that is new is taken for seen. Nothing can be taken out and nothing grows old. One
block a key means one place to read and write, on every kind of store; the price is a little room, because some blocks fill
up earlier than others.

Stores carry this out; the numbers are the same everywhere, so they agree even in their errors.
"""

import math
from hashlib import blake2b
from typing import Final

from holdfast.errors import InvalidInput
from holdfast.model.seen import DIGEST_BYTES, Sketch

SEEN: Final = "its key was seen before"
"""The reason of a push that was needless because of it."""
BLOCK_BYTES: Final = 4096
BLOCK_BITS: Final = BLOCK_BYTES * 8
MOST_BLOCKS: Final = 131_072
"""512 MiB: what a Redis server can keep under one key."""
_UNEVENNESS: Final = 1.03
"""How much more room a filter in blocks needs than a whole one."""


def digest(key: str, version: str | None = None) -> bytes:
    """Give what is kept of a key. A key with a version is another one."""
    name = key.encode()
    if version is None:
        return blake2b(name, digest_size=DIGEST_BYTES).digest()
    return blake2b(name + b"\0" + version.encode(), digest_size=DIGEST_BYTES, person=b"version").digest()


def sketch(capacity: int, error: float) -> Sketch:
    """Shape an approximate set for so many keys. Raises InvalidInput if no store could hold it."""
    bits = capacity * -math.log(error) / math.log(2) ** 2 * _UNEVENNESS
    blocks = max(1, math.ceil(bits / BLOCK_BITS))
    if blocks > MOST_BLOCKS:
        most = int(MOST_BLOCKS * BLOCK_BITS / (bits / capacity))
        raise InvalidInput(
            f"expected a capacity of {most:,} keys or fewer at an error of {error}, got: {capacity:,}. A set takes 512 MiB "
            "at most: allow a greater error, or spread the keys over several queues"
        )
    return Sketch(capacity, error, blocks, max(1, round(-math.log2(error))))


def place(key_digest: bytes, shape: Sketch) -> tuple[int, list[int]]:
    """Tell the block and the bits in it that stand for a key. Bit 0 is the highest of the block's first byte."""
    block = int.from_bytes(key_digest[:6]) % shape.blocks
    first, second, third = (int.from_bytes(key_digest[at : at + 2]) for at in (6, 8, 10))
    return block, [(first + step * (second + step * third)) % BLOCK_BITS for step in range(shape.hashes)]


def put(block: bytearray, bits: list[int]) -> bool:
    """Set these bits of a block. Return whether any was not set before: whether the key is new."""
    is_new = False
    for bit in bits:
        byte, mask = bit >> 3, 128 >> (bit & 7)
        is_new |= not block[byte] & mask
        block[byte] |= mask
    return is_new


def holds(block: bytes | bytearray, bits: list[int]) -> bool:
    """Tell whether all these bits of a block are set: whether the key counts as seen."""
    return all(block[bit >> 3] & (128 >> (bit & 7)) for bit in bits)
