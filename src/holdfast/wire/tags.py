"""The extension types on the wire: one code per Python type that MessagePack does not know.

A tagged value is an extension whose body is MessagePack again: the value taken apart into plain ones. The
codes are for ever: stored jobs are read by them. A new type takes the next free code; none is used again.

| code | type                        | body                                          |
|------|-----------------------------|-----------------------------------------------|
| 1–3  | tuple, set, frozenset       | the elements                                  |
| 4    | dict with keys of any type  | [keys, values]                                |
| 5    | named: see `shapes`         | [registered name, fields]                     |
| 6, 7 | datetime, time              | numbers, fold, zone: see `times`              |
| 8, 9 | date, timedelta             | the ordinal; days, seconds, microseconds      |
| 10   | Decimal                     | its text, which is exact                      |
| 11   | UUID                        | 16 bytes                                      |
| 12   | a path                      | [class, text as bytes]                        |
| 13   | int beyond 64 bits          | two's complement, big end first               |
| 14   | bytearray                   | bytes                                         |
| 15   | complex                     | [real, imaginary]                             |
"""

import pathlib
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from holdfast.wire import times
from holdfast.wire.refusal import Refusal

TUPLE: Final = 1
SET: Final = 2
FROZENSET: Final = 3
MAP: Final = 4
NAMED: Final = 5
INT: Final = 13


def int_apart(value: int) -> bytes:
    return value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True)


def _int_together(body: bytes) -> int:
    return int.from_bytes(_bytes(body), "big", signed=True)


def _path_apart(value: pathlib.PurePath) -> list[object]:
    # pathlib does not read back every text it writes: half a UNC name ('//a/') becomes another path.
    if isinstance(value, pathlib.PureWindowsPath) and type(value)(str(value)) != value:
        raise Refusal(f"is {value!r}, which its own text does not give back: pass a whole path, or the text itself")
    # File names are bytes to the system: what is not UTF-8 reaches us as lone surrogates, and leaves as them.
    return [type(value).__name__, str(value).encode("utf-8", "surrogatepass")]


def _path_together(body: list[Any]) -> pathlib.PurePath:
    """Make the same class; where this system cannot have it (a WindowsPath on Linux), its pure twin."""
    name, text = body
    kind = _PATHS[name]
    try:
        return kind(text.decode("utf-8", "surrogatepass"))
    except NotImplementedError:
        return _PATHS[f"Pure{name}"](text.decode("utf-8", "surrogatepass"))


def _map_together(body: list[Any]) -> dict[Any, Any]:
    keys, values = body
    return dict(zip(_list(keys), _list(values), strict=True))


def _list(body: object) -> list[Any]:
    if type(body) is not list:
        raise TypeError(f"expected a list in the body, got {type(body).__name__}")
    return body


def _bytes(body: object) -> bytes:
    # Not left to the constructors: bytearray(2**40) is a terabyte, not an error.
    if type(body) is not bytes:
        raise TypeError(f"expected bytes in the body, got {type(body).__name__}")
    return body


def _text(body: object) -> str:
    if type(body) is not str:
        raise TypeError(f"expected text in the body, got {type(body).__name__}")
    return body


_PATHS: Final[Mapping[str, type[pathlib.PurePath]]] = {
    kind.__name__: kind
    for kind in (pathlib.PurePosixPath, pathlib.PureWindowsPath, pathlib.PosixPath, pathlib.WindowsPath)
}

APART: Final[Mapping[type, tuple[int, Callable[[Any], object]]]] = {
    datetime: (6, times.datetime_apart),
    time: (7, times.time_apart),
    date: (8, date.toordinal),
    timedelta: (9, times.timedelta_apart),
    Decimal: (10, str),
    UUID: (11, lambda value: value.bytes),
    **dict.fromkeys(_PATHS.values(), (12, _path_apart)),
    bytearray: (14, bytes),
    complex: (15, lambda value: [value.real, value.imag]),
}
"""How values that hold no others are taken apart: the code, and the function that does it."""

TOGETHER: Final[Mapping[int, Callable[[Any], object]]] = {
    TUPLE: lambda body: tuple(_list(body)),
    SET: lambda body: set(_list(body)),
    FROZENSET: lambda body: frozenset(_list(body)),
    MAP: _map_together,
    6: times.datetime_together,
    7: times.time_together,
    8: date.fromordinal,
    9: times.timedelta_together,
    10: lambda body: Decimal(_text(body)),
    11: lambda body: UUID(bytes=_bytes(body)),
    12: _path_together,
    INT: _int_together,
    14: lambda body: bytearray(_bytes(body)),
    15: lambda body: complex(*_list(body)),
}
"""How each code is put together from its body. What these raise, `Codec.decode` turns into DecodingFailed."""
