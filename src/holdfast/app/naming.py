"""What a task is called: `module.qualname`, as every process that imports it would say.

The module that was started is called `__main__` only in its own process. A job under that name would be unknown to
every worker, so the name it has as an import is found out, or the task refused with the remedy.
"""

import sys
from collections.abc import Callable
from typing import Any, Final

from holdfast.errors import DeclarationError
from holdfast.policy.names import check_task

_STARTED: Final = ("__main__", "__mp_main__")
"""What a started module calls itself: in its own process, and in those that multiprocessing spawns from it."""


def task_name(function: Callable[..., Any]) -> str:
    """Give the name of the task that `function` becomes."""
    module = getattr(function, "__module__", None)
    qualname = getattr(function, "__qualname__", None)
    if not module or not qualname:
        raise DeclarationError(f"{function!r} has no name of its own; give the task one: @app.task(name='shop.send')")
    if "<locals>" in qualname:
        raise DeclarationError(
            f"{module}.{qualname} is defined inside a function, where no worker finds it; "
            f"move it to the module, or name it: @app.task(name='{_root(module)}.{function.__name__}')"
        )
    if module in _STARTED:
        module = main_module(module) or _refuse_main(qualname)
    return check_task(f"{module}.{qualname}")


def main_module(called: str = "__main__") -> str | None:
    """Give the name under which others import the module that was started, or None if they cannot."""
    main = sys.modules.get(called)
    spec = getattr(main, "__spec__", None)
    if spec is not None:
        return str(spec.name)
    file = getattr(main, "__file__", None)
    return _import_path(file) if file else None


def _import_path(file: str) -> str | None:
    """Spell a file as an import: from the folder above its outermost package."""
    from pathlib import Path  # only for programs that declare tasks in the file they start

    path = Path(file).absolute()
    parts = [path.stem]
    folder = path.parent
    while (folder / "__init__.py").exists():
        parts.insert(0, folder.name)
        folder = folder.parent
    is_importable = path.suffix == ".py" and all(part.isidentifier() for part in parts)
    return ".".join(parts) if is_importable else None


def _refuse_main(qualname: str) -> str:
    raise DeclarationError(
        f"the task {qualname} is defined in a program that cannot be imported under a name (a prompt, a notebook, "
        f"`python -c`); move it to a module, or name it: @app.task(name='shop.{qualname}')"
    )


def _root(module: str) -> str:
    return (main_module(module) or "shop") if module in _STARTED else module
