"""The names and counts of a signature: which parameter an argument belongs to, and why a call does not fit.

Python's own sentences about a wrong call speak of the function's frame; these speak to the person who
enqueues.
"""

import inspect
from collections.abc import Mapping, Sequence

_Kind = inspect._ParameterKind


class Binding:
    """The parameters of one callable, by place and by name."""

    def __init__(self, label: str, parameters: Sequence[inspect.Parameter]) -> None:
        self.label = label
        self.positional = tuple(
            one for one in parameters if one.kind in (_Kind.POSITIONAL_ONLY, _Kind.POSITIONAL_OR_KEYWORD)
        )
        self.named = {
            one.name: one for one in parameters if one.kind in (_Kind.POSITIONAL_OR_KEYWORD, _Kind.KEYWORD_ONLY)
        }
        self.more_args = next((one for one in parameters if one.kind is _Kind.VAR_POSITIONAL), None)
        self.more_kwargs = next((one for one in parameters if one.kind is _Kind.VAR_KEYWORD), None)

    @classmethod
    def of(cls, function: object, label: str) -> "Binding":
        """Read a callable's signature. One that has none to read (some built-ins) takes anything."""
        try:
            signature = inspect.signature(function)  # type: ignore[arg-type]  # refused below if not callable
        except ValueError:
            anything = [
                inspect.Parameter("args", _Kind.VAR_POSITIONAL),
                inspect.Parameter("kwargs", _Kind.VAR_KEYWORD),
            ]
            return cls(label, anything)
        return cls(label, list(signature.parameters.values()))

    def at(self, place: int) -> inspect.Parameter | None:
        """Give the parameter that takes the argument at this place."""
        return self.positional[place] if place < len(self.positional) else self.more_args

    def called(self, name: str) -> inspect.Parameter | None:
        """Give the parameter that takes the argument of this name."""
        return self.named.get(name, self.more_kwargs)

    def required_after(self, count: int) -> frozenset[str]:
        """Give the names that are still needed after `count` arguments by position."""
        rest = [*self.positional[count:], *(one for one in self.named.values() if one not in self.positional)]
        return frozenset(one.name for one in rest if one.default is one.empty)

    def why_not(self, args: Sequence[object], kwargs: Mapping[str, object]) -> str | None:
        """Say why a call does not fit the signature, or give None if it does."""
        if len(args) > len(self.positional) and self.more_args is None:
            return f"takes {_counted(len(self.positional))} by position, got {len(args)}"
        for name in kwargs:
            if trouble := self._why_not_named(name, len(args)):
                return trouble
        taken = {one.name for one in self.positional[: len(args)]}
        missing = sorted(self.required_after(len(args)) - (kwargs.keys() & self.named.keys()) - taken)
        if missing:
            return f"needs {', '.join(map(repr, missing))}, which the call does not give"
        return None

    def _why_not_named(self, name: str, count: int) -> str | None:
        if name in self.named:
            taken = any(one.name == name for one in self.positional[:count])
            return f"got {name!r} twice: by position and by name" if taken else None
        if self.more_kwargs is not None:
            return None
        if any(one.name == name for one in self.positional):
            return f"takes {name!r} by position only: pass it without its name"
        return f"has no parameter {name!r}{self._nearest(name)}"

    def _nearest(self, name: str) -> str:
        import difflib  # 6 ms that only a mistake needs

        near = difflib.get_close_matches(name, self.named, n=1)
        return f": did you mean {near[0]!r}?" if near else f": it takes {', '.join(map(repr, self.named)) or 'none'}"


def _counted(count: int) -> str:
    return f"{count or 'no'} argument{'' if count == 1 else 's'}"
