"""The envelope: what the caller gave, as bytes that are signed, stored and handed to a worker whole.

Whatever the store works out for itself (the due time, the place in the queue) is not in it: an envelope
never changes. Its fields stand in a fixed order without names; a later format may append some under the
next number.
"""

from typing import Final

import msgspec

from holdfast.errors import DecodingFailed, NotEncodable

FORMAT: Final = 1


class Envelope(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """One call of a task, as the caller made it.

    `at_us` and `expires_us` are moments, `delay_us` and `timeout_us` durations. `retries` and `timeout_us`
    are None where the task's own are to hold: those may change between the call and the run.
    """

    format: int
    id: str
    task: str
    queue: str
    priority: int
    delay_us: int
    at_us: int | None
    expires_us: int | None
    payload: bytes
    lane: str | None = None
    key: str | None = None
    version: str | None = None
    retries: int | None = None
    timeout_us: int | None = None
    headers: dict[str, str] = {}


_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(Envelope).decode


def seal_in(envelope: Envelope) -> bytes:
    """Give the bytes of an envelope: what is to be signed and stored."""
    try:
        return _encode(envelope)
    except (OverflowError, UnicodeEncodeError) as error:
        raise NotEncodable(
            f"a field of the envelope of job {envelope.id!a} cannot be written: {error}; "
            "names and keys must be text, and numbers must fit 64 bits"
        ) from error


def open_envelope(data: bytes) -> Envelope:
    """Read an envelope, or raise DecodingFailed. Whether it is genuine, `seal.check_job` says before."""
    try:
        envelope = _decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise DecodingFailed(_why(data, str(error))) from error
    if envelope.format != FORMAT:
        raise DecodingFailed(_newer(envelope.format))
    return envelope


def _why(data: bytes, error: str) -> str:
    """Tell an envelope of another format, which has fields of its own, from a damaged one."""
    try:
        written = msgspec.msgpack.decode(data)[0]
    except Exception:  # noqa: BLE001  # the bytes are damaged, in whatever way: `error` says so already
        written = None
    if isinstance(written, int) and written != FORMAT:
        return _newer(written)
    return f"an envelope cannot be read: {error}"


def _newer(written: int) -> str:
    return (
        f"an envelope has the format {written}, and this Holdfast reads format {FORMAT}: "
        "upgrade the worker before the programs that enqueue"
    )
