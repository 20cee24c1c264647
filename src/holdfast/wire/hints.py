"""Annotations: resolved as far as they can be, and searched for the types that have to be registered.

A task may be annotated with names that exist only for a type checker. Such a parameter is simply not
checked; the others are. Annotations are resolved late, at the first call: by then the names below the
function exist too.
"""

import inspect
import sys
import typing
from collections.abc import Iterable, Iterator, Mapping
from types import SimpleNamespace

from holdfast.wire.kinds import is_describable


def hints_of(thing: object) -> dict[str, object]:
    """Give the annotations of a function or a class that can be resolved, by name."""
    try:
        return typing.get_type_hints(thing, include_extras=True)
    except Exception:  # noqa: BLE001  # annotations are users' code; those that fail are left out one by one
        return dict(_one_by_one(thing))


def describable_types(annotations: Iterable[object]) -> set[type]:
    """Give every type in the annotations, and in the fields of those, that travels by name."""
    found: set[type] = set()
    rest = list(annotations)
    while rest:
        annotation = rest.pop()
        rest.extend(typing.get_args(annotation))
        kind = typing.get_origin(annotation) or getattr(annotation, "__supertype__", annotation)
        if kind is not annotation:
            rest.append(kind)
        elif isinstance(kind, type) and kind not in found and is_describable(kind):
            found.add(kind)
            rest.extend(hints_of(kind).values())
    return found


def _one_by_one(thing: object) -> Iterator[tuple[str, object]]:
    for owner in reversed(getattr(thing, "__mro__", (thing,))):
        for name, annotation in _annotations(owner).items():
            holder = SimpleNamespace(__annotations__={name: annotation})
            try:
                yield from typing.get_type_hints(holder, globalns=_names_seen_by(owner), include_extras=True).items()
            except Exception:  # noqa: BLE001, S112  # this one stays unchecked, which is all that is lost
                continue


def _annotations(owner: object) -> Mapping[str, object]:
    try:
        return inspect.get_annotations(owner)  # type: ignore[arg-type]  # what has none is refused below
    except Exception:  # noqa: BLE001  # from Python 3.14 on, reading them runs users' code
        return {}


def _names_seen_by(owner: object) -> dict[str, object]:
    if hasattr(owner, "__globals__"):
        return typing.cast("dict[str, object]", owner.__globals__)
    return vars(sys.modules.get(getattr(owner, "__module__", ""), SimpleNamespace()))
