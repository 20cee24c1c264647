"""MODULE:APP, as commands and tests take it: `shop.tasks:app`, or a factory, `shop:create_app()`.

The working directory joins the import path, as it does for `python -m`.
"""

import importlib
import sys
from functools import reduce
from pathlib import Path

from holdfast.app.app import Holdfast
from holdfast.errors import DeclarationError, InvalidInput


def load_app(target: str) -> Holdfast:
    """Import the app that `target` names. What the import raises is raised as it is: it is the user's own code."""
    module_name, colon, path = target.partition(":")
    if not module_name or not colon or not path:
        raise InvalidInput(f"expected the app as MODULE:APP, e.g. shop.tasks:app, got: {target!r}")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    found = _find(importlib.import_module(module_name), path.removesuffix("()"), target)
    if not isinstance(found, Holdfast) and callable(found):
        found = found()
    if not isinstance(found, Holdfast):
        raise DeclarationError(f"{target} is not a Holdfast app, nor a function that gives one: {found!r}")
    return found


def _find(module: object, path: str, target: str) -> object:
    try:
        return reduce(getattr, path.split("."), module)
    except AttributeError as error:
        apps = [name for name, value in vars(module).items() if isinstance(value, Holdfast)]
        hint = f"it has the app {apps[0]!r}" if apps else "it has no app"
        raise DeclarationError(f"{target} cannot be found: {error}; {hint}") from error
