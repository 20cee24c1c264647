"""Options that every command takes, before or after its name: `holdfast --json jobs` is `holdfast jobs --json`.

They are kept in click's `meta`, which a group and its commands share; what stands nearer to the command wins.
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

_Decorated = TypeVar("_Decorated", bound=Callable[..., Any])

_PREFIX: Final = "holdfast."


def shared(function: _Decorated) -> _Decorated:
    """Add the options that every command takes."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def given(name: str) -> str | None:
    """Give what a shared option was set to, if it was."""
    value: str | None = click.get_current_context().meta.get(_PREFIX + name)
    return value


def is_json() -> bool:
    """Tell whether the answer is to be one JSON document."""
    return bool(click.get_current_context().meta.get(_PREFIX + "json"))


def is_debug(ctx: click.Context) -> bool:
    """Tell whether errors keep their traceback."""
    return bool(ctx.meta.get(_PREFIX + "debug"))


def _keep(ctx: click.Context, parameter: click.Parameter, value: str | bool | None) -> None:
    if value:
        ctx.meta[f"{_PREFIX}{parameter.name}"] = value


def _option(*names: str, **settings: Any) -> Callable[[_Decorated], _Decorated]:
    return click.option(*names, callback=_keep, expose_value=False, **settings)


_OPTIONS: Final = (
    _option("--url", metavar="URL", help="The store, e.g. sqlite:///jobs.db. Default: $HOLDFAST_URL."),
    _option("--app", metavar="MODULE:APP", help="The app, e.g. shop.tasks:app. Default: $HOLDFAST_APP."),
    _option("--namespace", metavar="NAME", help="The namespace in the store. Default: $HOLDFAST_NAMESPACE."),
    _option("--json", is_flag=True, help="Print one JSON document."),
    _option("--debug", is_flag=True, help="Show the traceback of an error."),
)
