"""Types that travel by name: dataclasses, Structs, NamedTuples, Enums and pydantic models.

A shape says how the values of one registered type are taken apart and put together. On the wire stand the
type's name and its fields. The name is looked up among the registered types and nowhere else: no message
can make a reader import a module.

Fields arrive with the values they were sent with. `__post_init__` runs, so that what it derives is there,
but it cannot change a field behind the sender's back. A field that the sender did not know yet takes its
default; one that the reader no longer knows is refused, for its value would be lost.

Enum members travel by name and flags by value: a flag's combinations have no name of their own.
"""

from collections.abc import Callable, Iterable
from enum import Enum, Flag
from typing import Any, Final

import msgspec

from holdfast.wire.kinds import is_dataclass, is_namedtuple, is_pydantic, spell
from holdfast.wire.refusal import Refusal

_FIELDS_SET: Final = ""
"""The key under which a pydantic model's set of given fields travels: no field can have this name."""


class Shape(msgspec.Struct, frozen=True):
    """How the values of one type travel. `apart` gives a dict of fields, or an Enum member's name."""

    kind: type
    name: str
    apart: Callable[[Any], object]
    together: Callable[[Any], object]


def shape_of(kind: type, name: str) -> Shape | None:
    """Give the shape of a type, or None if it is of no family that can be described by name and fields."""
    if issubclass(kind, Enum):
        apart, together = _flag(kind) if issubclass(kind, Flag) else _enum(kind)
    elif issubclass(kind, msgspec.Struct):
        apart, together = _struct(kind)
    elif is_namedtuple(kind):
        apart, together = _namedtuple(kind)
    elif is_pydantic(kind):
        apart, together = _pydantic(kind)
    elif is_dataclass(kind):
        apart, together = _dataclass(kind)
    else:
        return None
    return Shape(kind, name, apart, together)


_Ways = tuple[Callable[[Any], object], Callable[[Any], object]]


def _enum(kind: type[Enum]) -> _Ways:
    return lambda member: member.name, lambda name: kind[name]


def _flag(kind: type[Flag]) -> _Ways:
    return lambda member: member.value, kind


def _namedtuple(kind: Any) -> _Ways:
    def together(fields: dict[str, object]) -> object:
        _check_known(kind, fields, kind._fields)
        return kind._make((kind._field_defaults | fields)[name] for name in kind._fields)

    return lambda value: value._asdict(), together


def _struct(kind: type[msgspec.Struct]) -> _Ways:
    has_hook = hasattr(kind, "__post_init__")

    def together(fields: dict[str, Any]) -> object:
        made = kind(**fields)
        if has_hook:
            for name, value in fields.items():
                msgspec.structs.force_setattr(made, name, value)
        return made

    return _getter(kind.__struct_fields__), together


def _dataclass(kind: type) -> _Ways:
    import dataclasses  # loaded already, since the type is one

    known = {field.name: field for field in dataclasses.fields(kind)}
    hook: Callable[[object], None] | None = getattr(kind, "__post_init__", None)

    def default(name: str) -> object:
        field = known[name]
        if field.default is not dataclasses.MISSING:
            return field.default
        if field.default_factory is not dataclasses.MISSING:
            return field.default_factory()
        raise TypeError(f"{spell(kind)} has a field {name!r} without a default, and it was sent without one")

    def together(fields: dict[str, object]) -> object:
        _check_known(kind, fields, known)
        made: object = object.__new__(kind)
        whole = {name: fields[name] if name in fields else default(name) for name in known}
        _fill(made, whole)
        if hook is not None:
            hook(made)
            _fill(made, fields)
        return made

    return _refusing(kind) if _takes_init_vars(hook) else _getter(known), together


def _takes_init_vars(hook: object) -> bool:
    code = getattr(hook, "__code__", None)
    return code is not None and code.co_argcount > 1


def _refusing(kind: type) -> Callable[[object], object]:
    def apart(_value: object) -> object:
        raise Refusal(f"is a {spell(kind)}, whose InitVars are gone once it is made: turn them into fields")

    return apart


def _pydantic(kind: Any) -> _Ways:
    def apart(model: Any) -> dict[str, object]:
        fields = {name: value for name, value in vars(model).items() if name in kind.model_fields}
        return {**fields, **(model.model_extra or {}), _FIELDS_SET: sorted(model.model_fields_set)}

    def together(fields: dict[str, Any]) -> object:
        given = set(fields.pop(_FIELDS_SET))
        if kind.model_config.get("extra") != "allow":
            _check_known(kind, fields, kind.model_fields)
        for name, field in kind.model_fields.items():
            if name not in fields and field.is_required():
                raise TypeError(f"{spell(kind)} needs a field {name!r}, and it was sent without one")
        return kind.model_construct(_fields_set=given, **fields)

    return apart, together


def _getter(names: Iterable[str]) -> Callable[[object], dict[str, object]]:
    fixed = tuple(names)
    return lambda value: {name: getattr(value, name) for name in fixed}


def _fill(made: object, fields: dict[str, object]) -> None:
    for name, value in fields.items():
        object.__setattr__(made, name, value)  # frozen ones too


def _check_known(kind: type, fields: dict[str, object], known: Iterable[str]) -> None:
    if unknown := fields.keys() - set(known):
        raise TypeError(f"{spell(kind)} has no field {min(unknown)!r} any more, and it was sent with one")
