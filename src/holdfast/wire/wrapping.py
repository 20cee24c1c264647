"""The walk before encoding: finds what MessagePack would change or lose, and wraps it in a tag.

MessagePack by msgspec takes almost any Python value, and quietly makes a tuple a list, a set a list, a
dataclass a dict, a numpy float a float. So every value is looked at first, by its exact type. Values of
trusted types stay as they are, and containers that hold only such values are not even copied. The rest is
wrapped or refused.

There are two walks. The quick one trusts ints and strs, and nearly always it is right; if msgspec then
finds an int over 64 bits or a str that is not text, the thorough one is made, which looks into each of
them.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec.msgpack import Ext

from holdfast.wire.refusal import Refusal, refuse
from holdfast.wire.shapes import Shape
from holdfast.wire.tags import APART, FROZENSET, INT, MAP, NAMED, SET, TUPLE, int_apart

DEEPEST: Final = 64
"""How many containers may stand inside each other. What holds itself has no end, and is stopped here.

An innermost one that holds only plain values is not counted: it is never walked.
"""

_LEAST: Final = -(2**63)
_MOST: Final = 2**64 - 1

pack: Final = msgspec.msgpack.Encoder().encode


class Wrapper:
    """One walk, over values of any type that is plain, tagged or described by a shape."""

    def __init__(self, shapes: Mapping[type, Shape], *, is_thorough: bool) -> None:
        self._shapes = shapes
        self._trusted: frozenset[type] = frozenset({type(None), bool, float, bytes})
        self._ways: dict[type, Callable[[Any, int], object]] = {
            list: self.items,
            dict: self.mapping,
            tuple: lambda value, depth: Ext(TUPLE, pack(self.items(value, depth))),
            set: lambda value, depth: Ext(SET, pack(self._elements(value, depth))),
            frozenset: lambda value, depth: Ext(FROZENSET, pack(self._elements(value, depth))),
        }
        if is_thorough:
            self._ways |= {int: _checked_int, str: _checked_str}
        else:
            self._trusted |= {int, str}

    def wrap(self, value: object, depth: int = 0) -> object:
        """Give what msgspec is to encode in place of `value`: often the value itself."""
        kind = type(value)
        if kind in self._trusted:
            return value
        if way := self._ways.get(kind):
            return way(value, depth)
        if leaf := APART.get(kind):
            code, apart = leaf
            return Ext(code, pack(apart(value)))
        if shape := self._shapes.get(kind):
            return self._named(shape, value, depth)
        raise refuse(value)

    def items(self, values: Sequence[object], depth: int) -> Sequence[object]:
        if self._trusted.issuperset(map(type, values)):
            return values
        _check_depth(depth)
        wrapped: list[object] = []
        try:
            for value in values:
                wrapped.append(self.wrap(value, depth + 1))  # noqa: PERF401  # its length is the place of a refusal
        except Refusal as refusal:
            refusal.step("[{}]", len(wrapped))
            raise
        return wrapped

    def mapping(self, value: Mapping[Any, object], depth: int) -> object:
        if self._trusted.issuperset(map(type, value)):
            return self._values(value, depth, "[{!r}]")
        _check_depth(depth)
        keys = [self._key(key, depth + 1) for key in value]
        values = self._values(value, depth, "[{!r}]")
        if all(map(operator.is_, keys, value)):
            return values
        return Ext(MAP, pack([keys, list(values.values())]))

    def _values(self, value: Mapping[Any, object], depth: int, spelling: str) -> Mapping[Any, object]:
        if self._trusted.issuperset(map(type, value.values())):
            return value
        _check_depth(depth)
        wrapped: dict[Any, object] = {}
        for key, held in value.items():
            try:
                wrapped[key] = self.wrap(held, depth + 1)
            except Refusal as refusal:
                refusal.step(spelling, key)
                raise
        return wrapped

    def _key(self, key: object, depth: int) -> object:
        try:
            return self.wrap(key, depth)
        except Refusal as refusal:
            refusal.step(" (the key {!r})", key)
            raise

    def _elements(self, values: set[object] | frozenset[object], depth: int) -> Sequence[object]:
        try:
            return self.items(list(values), depth)
        except Refusal as refusal:
            if refusal.steps:
                refusal.steps[-1] = (" (one of its elements)", None)  # a set has no places
            raise

    def _named(self, shape: Shape, value: object, depth: int) -> Ext:
        try:
            content = shape.apart(value)
        except AttributeError as error:
            raise Refusal(f"is a {shape.name} that lacks a field: {error}") from error
        if type(content) is dict:
            return Ext(NAMED, pack((shape.name, self._values(content, depth, ".{}"))))
        return Ext(NAMED, pack((shape.name, self.wrap(content, depth))))


def _check_depth(depth: int) -> None:
    if depth >= DEEPEST:
        raise Refusal(f"is nested more than {DEEPEST} levels deep, or holds itself: send a flatter value")


def _checked_int(value: int, _depth: int) -> object:
    return value if _LEAST <= value <= _MOST else Ext(INT, pack(int_apart(value)))


def _checked_str(value: str, _depth: int) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise Refusal(
            f"holds a lone surrogate at position {error.start}, which is not text: "
            "pass the bytes themselves, e.g. os.fsencode(name)"
        ) from error
    return value
