"""Questions about types: which family one belongs to, and how it is spelled for a person."""

import sys
from enum import Enum
from typing import Any, TypeGuard

import msgspec


def is_describable(kind: type) -> bool:
    """Tell whether a type is of a family that travels by name and fields, once it is registered."""
    return issubclass(kind, Enum | msgspec.Struct) or is_dataclass(kind) or is_namedtuple(kind) or is_pydantic(kind)


def is_dataclass(kind: type) -> bool:
    """Tell whether a type is a dataclass and nothing else: one that is also a dict holds more."""
    # Asked of the class itself: `dataclasses` need not be loaded where nobody uses it.
    return hasattr(kind, "__dataclass_fields__") and getattr(kind, "__new__", None) is object.__new__


def is_namedtuple(kind: type) -> TypeGuard[Any]:
    return issubclass(kind, tuple) and isinstance(getattr(kind, "_fields", None), tuple)


def is_pydantic(kind: type) -> TypeGuard[Any]:
    """Tell whether a type is a model of pydantic 2. It is never imported for that."""
    main = sys.modules.get("pydantic.main")
    return main is not None and issubclass(kind, main.BaseModel) and hasattr(kind, "model_construct")


def spell(kind: type) -> str:
    """Spell a type as its readers know it: `str`, `shop.mail.Page`."""
    if kind.__module__ == "builtins":
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"
