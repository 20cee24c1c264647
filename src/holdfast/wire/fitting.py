"""Whether a value fits one annotation, and as what it arrives.

What a type checker accepts fits and arrives unchanged: a value of the annotated class or of a subclass.
Beyond that msgspec decides, which also knows what a value can be made from: a UUID from its text, a
dataclass from a dict, a float from an int. Annotations that msgspec does not know are left to isinstance,
and those that isinstance does not know are not checked at all.
"""

import inspect
import pathlib
import typing
from types import NoneType, UnionType
from typing import Any, Final, TypeGuard

import msgspec

from holdfast.wire.kinds import is_pydantic, spell

ANYTHING: Final = None
"""Stands in place of a set of exact types where every value fits."""

# Text is not quietly read as base64 where bytes are expected.
_AS_THEY_ARE: Final = (bytes, bytearray, memoryview)


class Misfit(Exception):
    """Why a value does not fit. Raised inside the wire layer only."""


class Fit:
    """One annotation, prepared. A value whose type is in `exact` fits without another look."""

    def __init__(self, annotation: object) -> None:
        self.exact = _exact_types(annotation)
        self._annotation: Any = annotation
        members = [_bare(member) for member in _members(annotation)]
        self._classes = tuple(member for member in members if isinstance(member, type))
        self._abstract: tuple[type, ...] = tuple(
            origin for member in members if _is_abstract(origin := typing.get_origin(member))
        )
        self._is_known = _is_known_to_msgspec(annotation)

    def settle(self, value: object) -> object:
        """Give the value as it arrives, or raise Misfit."""
        if self.exact is ANYTHING or type(value) in self.exact or isinstance(value, self._classes):
            return value
        if self._is_known:
            converted = self._convert(value)
            # A tuple is a Sequence already, and a list would be something else.
            return value if isinstance(value, self._abstract) else converted
        return self._isinstance(value)

    def _convert(self, value: object) -> object:
        try:
            return msgspec.convert(value, self._annotation, builtin_types=_AS_THEY_ARE, dec_hook=_make)
        except msgspec.ValidationError as error:
            raise Misfit(self._why(value, str(error))) from error
        except Exception as error:  # users' __post_init__ and validators may raise anything
            raise Misfit(f"expected {_spell(self._annotation)}: {error}") from error

    def _isinstance(self, value: object) -> object:
        try:
            fits = isinstance(value, self._annotation)
        except TypeError:
            return value
        if not fits:
            raise Misfit(self._expected(value))
        return value

    def _why(self, value: object, error: str) -> str:
        if error.startswith("Expected") and ", got " in error and " - at " not in error:
            return self._expected(value)
        plain = error.replace("`", "")
        return plain[0].lower() + plain[1:]

    def _expected(self, value: object) -> str:
        return f"expected {_spell(self._annotation)}, got {spell(type(value))}"


def _exact_types(annotation: object) -> frozenset[type] | None:
    """Give the types whose instances fit whatever they hold, or ANYTHING."""
    exact: set[type] = set()
    for member in _members(annotation):
        bare = _bare(member)
        if bare in (Any, object, inspect.Parameter.empty) or isinstance(bare, typing.TypeVar):
            return ANYTHING
        origin = typing.get_origin(bare)
        if isinstance(bare, type) and origin is None:
            exact.add(bare)
        elif isinstance(origin, type) and set(typing.get_args(bare)) <= {Any, ...}:
            exact.add(origin)
    return frozenset(exact)


def _members(annotation: object) -> tuple[object, ...]:
    """Give the members of a union, or the annotation alone."""
    bare = _bare(annotation)
    if typing.get_origin(bare) in (typing.Union, UnionType):
        return tuple(found for member in typing.get_args(bare) for found in _members(member))
    return (bare,)


def _bare(annotation: object) -> object:
    """Take off what does not change which values fit: NewType, and Annotated without constraints."""
    if annotation is None:
        return NoneType
    if supertype := getattr(annotation, "__supertype__", None):
        return _bare(supertype)
    if typing.get_origin(annotation) is typing.Annotated:
        inner, *extras = typing.get_args(annotation)
        return annotation if any(isinstance(extra, msgspec.Meta) for extra in extras) else _bare(inner)
    return annotation


def _is_known_to_msgspec(annotation: object) -> bool:
    try:
        msgspec.msgpack.Decoder(annotation)  # only to see whether it is refused
    except Exception:  # noqa: BLE001  # it reads the annotations of users' types, which may raise anything
        return False
    return True


def _make(kind: Any, value: object) -> object:
    """Make a value of a type that msgspec does not know; what comes back as it was, msgspec refuses."""
    if isinstance(kind, type) and not isinstance(value, kind):
        if issubclass(kind, pathlib.PurePath) and isinstance(value, str):
            return kind(value)
        if is_pydantic(kind):
            return kind.model_validate(value)
    return value


def _is_abstract(origin: object) -> TypeGuard[type]:
    return inspect.isabstract(origin)


def _spell(annotation: object) -> str:
    return spell(annotation) if type(annotation) is type else str(annotation).replace("typing.", "")
