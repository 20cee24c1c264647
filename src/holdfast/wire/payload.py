"""Payloads: the arguments of a call, or the result of one, as the bytes that a store keeps.

The first byte says how the rest is to be read: 1 is the codec's bytes as they are, 2 the same compressed by
zlib; 3 is kept free for encryption. Bodies over 4 KiB are compressed if that makes them smaller.

The size limit is on the uncompressed body, when it is written and when it is read, so that a small payload
can never grow large in a worker's memory: inflating stops at the limit.
"""

import zlib
from collections.abc import Callable, Mapping
from typing import Any, Final

from holdfast.errors import DecodingFailed, PayloadTooLarge
from holdfast.wire.codec import Codec, Where

LIMIT_BYTES: Final = 1024 * 1024

_PLAIN: Final = b"\x01"
_ZLIB: Final = b"\x02"
_WORTH_COMPRESSING: Final = 4096
_NO_ARGUMENTS: Final = _PLAIN + b"\x92\x90\x80"  # [[], {}]: most scheduled jobs


def pack(
    args: tuple[object, ...],
    kwargs: Mapping[str, object],
    codec: Codec,
    where: Where,
    limit_bytes: int = LIMIT_BYTES,
) -> bytes:
    """Give the payload of a call. `where` names an argument, by position or keyword, should it be refused."""
    if not args and not kwargs:
        return _NO_ARGUMENTS
    return _close(codec.encode_call(args, kwargs, where), lambda: _largest(args, kwargs, where), limit_bytes)


def unpack(data: bytes, codec: Codec, limit_bytes: int = LIMIT_BYTES) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Give the arguments of a call back, or raise DecodingFailed."""
    if data == _NO_ARGUMENTS:
        return (), {}
    return codec.decode_call(_open(data, limit_bytes))


def pack_value(value: object, codec: Codec, where: str, limit_bytes: int = LIMIT_BYTES) -> bytes:
    """Give the payload of one value; `where` says what it is, e.g. "the result of send()"."""
    return _close(codec.encode(value, where), lambda: where, limit_bytes)


def unpack_value(data: bytes, codec: Codec, limit_bytes: int = LIMIT_BYTES) -> Any:
    """Give one value back, or raise DecodingFailed."""
    return codec.decode(_open(data, limit_bytes))


def _close(body: bytes, what: Callable[[], str], limit_bytes: int) -> bytes:
    size = len(body)
    if size > limit_bytes:
        raise PayloadTooLarge(
            f"{what()} would take {size:,} bytes, and the limit is {limit_bytes:,}: "
            "store it elsewhere and pass a reference (a path, a key, a URL)"
        )
    if size > _WORTH_COMPRESSING:
        squeezed = zlib.compress(body, 1)
        if len(squeezed) < size:
            return _ZLIB + squeezed
    return _PLAIN + body


def _open(data: bytes, limit_bytes: int) -> bytes:
    mark, body = data[:1], data[1:]
    if mark == _ZLIB:
        body = _inflate(body, limit_bytes)
    elif mark != _PLAIN:
        raise DecodingFailed(
            f"a payload begins with the unknown format byte {mark!r}: if a newer Holdfast wrote it, upgrade this one"
        )
    if len(body) > limit_bytes:
        raise DecodingFailed(f"a payload is larger than the limit of {limit_bytes:,} bytes: raise the limit here too")
    return body


def _inflate(body: bytes, limit_bytes: int) -> bytes:
    """Inflate up to one byte past the limit; whoever looks at the length then sees that there was more."""
    stream = zlib.decompressobj()
    try:
        inflated = stream.decompress(body, limit_bytes + 1)
    except zlib.error as error:
        raise DecodingFailed(f"a compressed payload is damaged: {error}") from error
    if len(inflated) <= limit_bytes and (not stream.eof or stream.unused_data):
        raise DecodingFailed("a compressed payload is damaged: it ends too early or too late")
    return inflated


def _largest(args: tuple[object, ...], kwargs: Mapping[str, object], where: Where) -> str:
    """Name the argument that is to blame for a payload's size, as far as its length tells."""
    given: list[tuple[int | str, object]] = [*enumerate(args), *kwargs.items()]
    sizes = {where(key): _length(value) for key, value in given}
    name = max(sizes, key=lambda name: sizes[name])
    return f"the arguments (the longest is {name})"


def _length(value: object) -> int:
    return len(value) if isinstance(value, str | bytes | bytearray | list | tuple | dict | set | frozenset) else 0
