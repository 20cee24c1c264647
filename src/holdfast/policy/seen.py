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

from msgspec.structs import replace

from holdfast.errors import InvalidInput
from holdfast.model.seen import DIGEST_BYTES, SeenRecord, Sketch

SEEN: Final = "its key was seen before"
"""The reason of a push that was needless because of it."""
BLOCK_BYTES: Final = 4096
BLOCK_BITS: Final = BLOCK_BYTES * 8
MOST_BLOCKS: Final = 131_072
"""512 MiB: what a Redis server can keep under one key."""
LEAST_ERROR: Final = 1e-6
"""Some digests give fewer bits than others: about one in 70 million new keys is taken for seen however large the set is."""
MOST_ERROR: Final = 0.25
_UNEVENNESS: Final = 1.03
"""How much more room a filter in blocks needs than a whole one."""
_FILLINGS: Final = ((-1, 1 / 6), (0, 2 / 3), (1, 1 / 6))


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


def mismatch(queue: str, wanted: Sketch, found: Sketch | None) -> str | None:
    """Tell why a set cannot be had in the shape that is wanted; None if it has that shape."""
    if found is not None and (found.capacity, found.error) == (wanted.capacity, wanted.error):
        return None
    now = "exact, and holds keys" if found is None else f"approximate, {_shown(found)}"
    return (
        f"the seen-set of queue {queue} is {now}; an approximate one {_shown(wanted)} was asked for. Ask for it as it is, "
        "or clear() it: an empty set can be shaped anew"
    )


def check_can_have_ttl(queue: str, shape: Sketch | None) -> None:
    _check_exact(queue, shape, "gives no key a time of its own: leave the ttl out")


def check_can_forget(queue: str, shape: Sketch | None) -> None:
    _check_exact(queue, shape, "cannot forget one key: clear it, and it forgets all of them")


def most_bytes(shape: Sketch) -> int:
    """Tell how much room an approximate set takes at most. Stores make a block when the first key falls into it."""
    return shape.blocks * BLOCK_BYTES


def expected_error(shape: Sketch, keys: int) -> float:
    """Tell how often an approximate set that holds so many keys takes a new one for seen.

    Keys spread over the blocks by chance, and an emptier block makes up for a fuller one only in part. So this is the mean
    over blocks of all fillings, taken at three of them (a quadrature of Gauss and Hermite).
    """
    mean = keys / shape.blocks
    apart = math.sqrt(3 * mean * (1 - 1 / shape.blocks))
    return sum(weight * _error_of_a_block(shape, mean + step * apart) for step, weight in _FILLINGS)


def told(record: SeenRecord) -> SeenRecord:
    """Give what a store tells of a set together with what follows from it."""
    if record.sketch is None:
        return record
    return replace(record, most_bytes=most_bytes(record.sketch), error_now=expected_error(record.sketch, record.count))


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


def _check_exact(queue: str, shape: Sketch | None, what: str) -> None:
    if shape is not None:
        raise InvalidInput(f"the seen-set of queue {queue} is approximate ({_shown(shape)}): it {what}")


def _shown(shape: Sketch) -> str:
    return f"for {shape.capacity:,} keys at an error of {shape.error:g}"


def _error_of_a_block(shape: Sketch, keys: float) -> float:
    share_of_bits_set = -math.expm1(-shape.hashes * max(0.0, keys) / BLOCK_BITS)
    return share_of_bits_set**shape.hashes
