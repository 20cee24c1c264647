"""The arguments of a task held against its signature: when they are sent, and again when they arrive.

Sending checks, so that a mistake is seen where it was made and not in a worker at night. Arriving converts,
so that a task gets what its annotations promise, and checks again: the function may have changed since.

Both begin with one pass over the exact types, which settles nearly every call in half a microsecond. What it
cannot settle is looked at argument by argument.
"""

from collections.abc import Callable, Mapping
from inspect import Parameter
from typing import Any, Optional

import msgspec

from holdfast.errors import ArgumentMismatch
from holdfast.wire.binding import Binding
from holdfast.wire.fitting import ANYTHING, Fit, Misfit
from holdfast.wire.hints import describable_types, hints_of
from holdfast.wire.refusal import shown

_Exact = frozenset[type] | None


class _Stage(msgspec.Struct, frozen=True):
    """What a call may and must still give by name, after so many arguments by position."""

    open: dict[str, _Exact]
    needed: frozenset[str]


class Parameters:
    """The parameters of one task. Made when it is declared; annotations are read at the first call."""

    def __init__(self, function: Callable[..., object], binding: Binding) -> None:
        self._function = function
        self._binding = binding
        self._fits: dict[str, Fit] = {}
        self._exact: tuple[_Exact, ...] = ()
        self._stages: tuple[_Stage, ...] = ()

    @classmethod
    def of(cls, function: Callable[..., object], label: str | None = None) -> "Parameters":
        """Read a function's signature; `label` names it in errors (default: `send()`)."""
        name = label or f"{getattr(function, '__name__', type(function).__name__)}()"
        return cls(function, Binding.of(function, name))

    def check(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> None:
        """Return if the call fits the signature and the annotations, else raise ArgumentMismatch."""
        if not self._fits_at_once(args, kwargs):
            self._settle(args, kwargs)

    def arrive(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Give the arguments as the annotated types, or raise ArgumentMismatch if they no longer fit."""
        if self._fits_at_once(args, kwargs):
            return args, kwargs
        return self._settle(args, kwargs)

    def types(self) -> set[type]:
        """Give the types in the annotations, also of what is returned, that a codec has to know."""
        return describable_types(hints_of(self._function).values())

    def place(self, key: int | str) -> str:
        """Name an argument, given by position or by name, for an error: "argument 'to' of send()"."""
        return f"argument {self._spelled(key)} of {self._binding.label}"

    def _spelled(self, key: int | str) -> str:
        if isinstance(key, str):
            return repr(key)
        positional = self._binding.positional
        return repr(positional[key].name) if key < len(positional) else str(key + 1)

    def _fits_at_once(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> bool:
        """Tell whether every argument is of a type that its parameter takes. False means: look closer."""
        stages = self._stages or self._prepare()
        if len(args) >= len(stages):
            return False
        for value, exact in zip(args, self._exact, strict=False):
            if exact is not ANYTHING and type(value) not in exact:
                return False
        stage = stages[len(args)]
        for name, value in kwargs.items():
            exact = stage.open.get(name, _NONE)
            if exact is not ANYTHING and type(value) not in exact:
                return False
        return stage.needed.issubset(kwargs)

    def _settle(
        self, args: tuple[object, ...], kwargs: Mapping[str, object]
    ) -> tuple[tuple[object, ...], dict[str, object]]:
        if trouble := self._binding.why_not(args, kwargs):
            raise ArgumentMismatch(f"{self._binding.label} {trouble}")
        arrived = tuple(self._settled(place, self._binding.at(place), value) for place, value in enumerate(args))
        named = {name: self._settled(name, self._binding.called(name), value) for name, value in kwargs.items()}
        return arrived, named

    def _settled(self, key: int | str, parameter: Parameter | None, value: object) -> object:
        assert parameter is not None  # `why_not` has found a place for every argument
        try:
            return self._fits[parameter.name].settle(value)
        except Misfit as misfit:
            name = self._spelled(key).strip("'")
            why = str(misfit).replace("at $", f"at {name}")
            raise ArgumentMismatch(f"{self._binding.label} got {name}={shown(value)}: {why}") from misfit

    def _prepare(self) -> tuple[_Stage, ...]:
        """Read the annotations and lay out the quick pass. Two threads may do it at once."""
        binding = self._binding
        every = [*binding.positional, *binding.named.values(), binding.more_args, binding.more_kwargs]
        hints = hints_of(self._function)
        self._fits = {one.name: _fit(one, hints) for one in every if one is not None}
        self._exact = tuple(self._fits[one.name].exact for one in binding.positional)
        self._stages = tuple(self._stage(count) for count in range(len(binding.positional) + 1))
        return self._stages

    def _stage(self, count: int) -> _Stage:
        taken = {one.name for one in self._binding.positional[:count]}
        names = self._binding.named.keys() - taken
        return _Stage({name: self._fits[name].exact for name in names}, self._binding.required_after(count))


def _fit(parameter: Parameter, hints: Mapping[str, object]) -> Fit:
    annotation: Any = hints.get(parameter.name, Any)
    # `x: int = None` is common, and means that None fits.
    return Fit(Optional[annotation] if parameter.default is None else annotation)  # noqa: UP045  # not `| None`: an annotation may be text


_NONE: frozenset[type] = frozenset()
