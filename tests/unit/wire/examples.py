"""Types and values that the tests of this folder send to and fro."""

import math
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, Flag, IntEnum, StrEnum
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import msgspec
from hypothesis import strategies as st

from holdfast.wire.codec import Codec


class Colour(Enum):
    RED = "red"
    BLUE = ("b", 1)


class Size(IntEnum):
    SMALL = 1


class Word(StrEnum):
    YES = "yes"


class Right(Flag):
    READ = 1
    WRITE = 2


@dataclass(frozen=True, slots=True)
class Point:
    x: object
    y: object = 0


@dataclass
class Basket:
    lines: list[Any]
    total: object = field(default=None, init=False)


class Page(msgspec.Struct, frozen=True, array_like=True):
    url: object
    links: object = ()


class Pair(NamedTuple):
    left: object
    right: object = None


TYPES = (Colour, Size, Word, Right, Point, Basket, Page, Pair)


def knowing_codec() -> Codec:
    codec = Codec()
    codec.register(*TYPES)
    return codec


def is_same(one: Any, other: Any) -> bool:
    """Tell whether two values are equal, of one type at every depth, NaN and -0.0 and folds included."""
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return (math.isnan(one) and math.isnan(other)) or (
            one == other and math.copysign(1, one) == math.copysign(1, other)
        )
    if isinstance(one, complex):
        return is_same([one.real, one.imag], [other.real, other.imag])
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(is_same, one, other))
    if isinstance(one, dict):
        return is_same(list(one), list(other)) and is_same(list(one.values()), list(other.values()))
    if isinstance(one, set | frozenset):
        return is_same(sorted(one, key=_order), sorted(other, key=_order))
    if isinstance(one, datetime | time):
        return (
            one.isoformat() == other.isoformat() and one.fold == other.fold and repr(one.tzinfo) == repr(other.tzinfo)
        )
    if isinstance(one, Decimal):
        return str(one) == str(other)
    if isinstance(one, Point | Basket | Page):
        return is_same(_fields(one), _fields(other))
    return bool(one == other)


def _order(value: object) -> str:
    """Give a text by which members of equal sets come in one order. That of a set's own repr is by accident."""
    shown = sorted(map(_order, value)) if isinstance(value, frozenset) else value
    return f"{type(value).__name__} {shown!r}"


def _fields(value: object) -> dict[str, object]:
    return {name: getattr(value, name) for name in type(value).__annotations__}


_zones = st.sampled_from(
    [
        None,
        UTC,
        timezone(timedelta(hours=-3, minutes=-30)),
        timezone(timedelta(hours=1), "CET"),
        ZoneInfo("Europe/Berlin"),
    ]
)
_paths = st.text("abc ./\\", max_size=8)

keys = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.binary(max_size=5),
    st.dates(),
    st.uuids(),
    st.sampled_from([Colour.RED, Size.SMALL, Word.YES, Right.READ | Right.WRITE]),
    st.tuples(st.integers(), st.text(max_size=2)),
    st.frozensets(st.integers(), max_size=2),
)

leaves = st.one_of(
    keys,
    st.integers(min_value=-(2**200), max_value=2**200),
    st.datetimes(timezones=_zones, allow_imaginary=True),
    st.builds(lambda moment, fold: moment.replace(fold=fold), st.datetimes(timezones=_zones), st.sampled_from([0, 1])),
    st.times(),
    st.timedeltas(),
    st.decimals(),
    st.complex_numbers(),
    st.builds(bytearray, st.binary(max_size=5)),
    st.builds(PurePosixPath, _paths),
    st.builds(PureWindowsPath, _paths).filter(lambda path: PureWindowsPath(str(path)) == path),
    st.sampled_from(
        [Colour.BLUE, Right(0), date.min, datetime.max, Decimal("-0"), Decimal("sNaN7"), -0.0, 2**64, 2**64 - 1]
    ),
)

values = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.sets(keys, max_size=4),
        st.frozensets(keys, max_size=4),
        st.dictionaries(keys, inner, max_size=4),
        st.builds(Point, inner, inner),
        st.builds(Basket, st.lists(inner, max_size=3)),
        st.builds(Page, inner),
        st.builds(Pair, inner, inner),
    ),
    max_leaves=12,
)
