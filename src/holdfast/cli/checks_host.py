"""What the doctor asks about this machine: Python, the app, and the secret."""

import platform
import sys

from holdfast import __version__
from holdfast.cli.output import plural
from holdfast.cli.source import app_target, load
from holdfast.cli.trust import trust
from holdfast.errors import HoldfastError
from holdfast.model.finding import Finding


def check_python() -> Finding:
    """Tell the versions; workers need Linux."""
    detail = f"holdfast {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    if sys.platform == "linux":
        return Finding("ok", "versions", detail)
    return Finding("warn", "versions", detail, "workers are supported on Linux only; here, enqueue and operate")


def check_app() -> Finding | None:
    """Tell whether the app can be loaded, if one is named."""
    target = app_target()
    if target is None:
        return None
    try:
        tasks = load(target).tasks
    except HoldfastError as error:
        return Finding("FAIL", "app", f"{target} cannot be loaded", str(error))
    if tasks:
        return Finding("ok", "app", f"{target} has {plural(len(tasks), 'task')}")
    return Finding(
        "warn", "app", f"{target} has no tasks", "import the modules that declare them, or name them in imports="
    )


def check_secret() -> Finding:
    """Tell whether jobs are signed, as far as this shell knows."""
    try:
        ring = trust().ring
    except HoldfastError as error:
        return Finding("FAIL", "secret", "cannot be used", str(error))
    if ring is not None:
        return Finding("ok", "secret", f"set: jobs are signed ({ring!r})")
    return Finding(
        "warn",
        "secret",
        "not set: jobs are not signed, and who can write to the store can run tasks",
        "set HOLDFAST_SECRET to the same text for every program, if others than you can write to the store",
    )
