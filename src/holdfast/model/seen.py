"""The seen-set of a queue: which keys came there before."""

from typing import Final

import msgspec

DIGEST_BYTES: Final = 16
"""A key is kept as a digest of this length, whatever its own."""


class Sketch(msgspec.Struct, frozen=True, array_like=True):
    """The shape of an approximate seen-set: a filter of bits that never forgets, and errs at times. See `policy.seen`."""

    capacity: int
    """Up to how many keys it errs no more often than it says."""
    error: float
    """How often, of that many, a new key is taken for one that was seen."""
    blocks: int
    hashes: int


class SeenMark(msgspec.Struct, frozen=True, array_like=True):
    """Of a job that is to be stored only if its key has not been seen in its queue."""

    digest: bytes
    ttl_us: int | None = None
    """For how long the key counts as seen; None: for ever."""
    forgets_failure: bool = False
    """Whether the key is new again when the job fails, expires or is cancelled."""


class SeenRecord(msgspec.Struct, frozen=True):
    """A seen-set as a reader may see it now."""

    queue: str
    count: int
    """How many keys it holds. An approximate one counts those that it took for new."""
    sketch: Sketch | None = None
    """None: it is exact."""
    most_bytes: int | None = None
    """How much room an approximate one takes at most. Told by `SeenSet.record()`, like the next; stores leave both out."""
    error_now: float | None = None
    """How often an approximate one takes a new key for one that was seen, now that it holds so many."""
