"""Limits as people type them: `100/m`, `10:5m:3`, `gold=4`."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import click

from holdfast.errors import InvalidInput
from holdfast.policy.rates import parse_rate, read_breaker, read_weight

if TYPE_CHECKING:
    _ParamType = click.ParamType[Any, Any]
else:
    _ParamType = click.ParamType  # takes no arguments before click 8.4


class _Read(_ParamType):
    """What a function of `policy.rates` makes of a text."""

    def __init__(self, name: str, read: Callable[[str, str], object]) -> None:
        self.name = name
        self._read = read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> object:
        if not isinstance(value, str):
            return value
        try:
            return self._read(value, self.name if param is None else param.opts[0])
        except InvalidInput as error:
            self.fail(str(error), param, ctx)


RATE: Final = _Read("rate", lambda text, what: parse_rate(text, what=what))
BREAKER: Final = _Read("breaker", read_breaker)
WEIGHT: Final = _Read("weight", lambda text, _: read_weight(text))
