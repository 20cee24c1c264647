"""Seals on jobs and results: what is signed in each case, and the checks before anything stored is believed.

A job's seal covers its id and its envelope, a result's the id of its job and the payload: neither can be
moved to another row. A worker verifies before it decodes, so that bytes nobody vouches for reach no
decoder. Then it compares the envelope with the row that it came from, since a genuine envelope may have
been copied into another one.

Without a key ring nothing is signed and nothing verified: whoever can write to the store can run tasks. The
comparison with the row is made all the same, against mistakes.
"""

from typing import Final

from holdfast.errors import DecodingFailed, SealBroken
from holdfast.wire.envelope import Envelope, open_envelope
from holdfast.wire.keyring import SEAL_FORMAT, SEAL_LENGTH, KeyRing, joined

__all__ = [
    "KeyRing",
    "seal_job",
    "verify_job",
    "check_job",
    "seal_result",
    "verify_result",
    "close_result",
    "open_result",
]

_JOB: Final = b"job"
_RESULT: Final = b"result"


def seal_job(ring: KeyRing | None, job_id: str, envelope: bytes) -> bytes | None:
    """Give the seal to store beside an envelope, or None without a ring."""
    return None if ring is None else ring.sign(_JOB, joined(_text(job_id), envelope))


def verify_job(ring: KeyRing, job_id: str, envelope: bytes, seal: bytes | None) -> None:
    """Return if the envelope is this job's, by a key that counts; else raise SealBroken."""
    ring.verify(_JOB, joined(_text(job_id), envelope), seal)


def check_job(ring: KeyRing | None, job_id: str, queue: str, envelope: bytes, seal: bytes | None) -> Envelope:
    """Give the envelope of a stored job once it is known to be genuine and to belong to this row.

    Raises SealBroken if it is not, and DecodingFailed if it cannot be read (without a ring: for either
    reason).
    """
    if ring is not None:
        verify_job(ring, job_id, envelope, seal)
    opened = open_envelope(envelope)
    if (opened.id, opened.queue) != (job_id, queue):
        broken = DecodingFailed if ring is None else SealBroken
        raise broken(
            f"the envelope was re-bound: it is of job {opened.id!r} in queue {opened.queue!r}, "
            f"and stands in the row of job {job_id!r} in queue {queue!r}; enqueue the job anew"
        )
    return opened


def seal_result(ring: KeyRing, job_id: str, data: bytes) -> bytes:
    """Give the seal over a job's result."""
    return ring.sign(_RESULT, joined(_text(job_id), data))


def verify_result(ring: KeyRing, job_id: str, data: bytes, seal: bytes | None) -> None:
    """Return if the result is this job's, by a key that counts; else raise SealBroken."""
    ring.verify(_RESULT, joined(_text(job_id), data), seal)


def close_result(ring: KeyRing | None, job_id: str, data: bytes) -> bytes:
    """Give a result as a store keeps it: the payload, with its seal in front if there is a ring."""
    return data if ring is None else seal_result(ring, job_id, data) + data


def open_result(ring: KeyRing | None, job_id: str, stored: bytes) -> bytes:
    """Give the payload of a stored result once it is known to be genuine.

    Without a ring a seal is taken off unread. No payload begins with a seal's first byte, so the two cannot
    be taken for each other.
    """
    seal, data = (stored[:SEAL_LENGTH], stored[SEAL_LENGTH:]) if stored[:1] == _SEALED else (None, stored)
    if ring is not None:
        verify_result(ring, job_id, data, seal)
    return data


_SEALED: Final = bytes((SEAL_FORMAT,))


def _text(job_id: str) -> bytes:
    # A damaged row may hold text that is none; it has to end as a broken seal, not as an encoding error.
    return job_id.encode("utf-8", "surrogatepass")
