"""The options of tasks and calls: checked once, when they are given, with one clear sentence if they are wrong.

An option can be given in three places: `Holdfast(defaults=…)`, `@app.task(…)`, `task.using(…)`; the later beats the
earlier. What is checked is kept as a plain mapping of ready values, so that joining them is joining mappings, and
`terms` works out what follows from them only once per task.

Their types, as an editor shows them, are in `option_types`.

`delay` and `at` are one thing said in two ways, so they share a place: giving one replaces the other.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from holdfast.errors import InvalidInput, UnknownOption
from holdfast.policy.moments import SECOND, duration_us, moment_us
from holdfast.policy.names import (
    check_job_id,
    check_key,
    check_lane,
    check_queue,
    check_tag,
    check_task,
    check_version,
)
from holdfast.policy.retry import delay_table

FOR_EVER_US: Final = 100 * 366 * 86_400 * SECOND
Checked = Mapping[str, Any]
Named = str | Callable[..., str | None] | None
"""A name, or a function that gives it, called with the arguments of each call. None is none."""


def check_defaults(given: Mapping[str, object], where: str = "Holdfast(defaults=…)") -> Checked:
    """Check the options of `Holdfast(defaults=…)`, or of a `TaskSet`."""
    if not isinstance(given, Mapping):
        raise InvalidInput(f"expected {where} to be given options by name, e.g. {{'retries': 3}}, got: {given!r}")
    return _checked(given, _DEFAULTS, where)


def check_task_options(given: Mapping[str, object]) -> Checked:
    """Check the options of a task's declaration."""
    return _checked(given, _TASK, "a task")


def check_call_options(given: Mapping[str, object]) -> Checked:
    """Check the options of `using`."""
    for name in _OF_THE_TASK:
        if name in given:
            raise UnknownOption(f"{name!r} belongs to the task, not to one call of it; give it to @app.task(…)")
    return _checked(given, _CALL, "using()")


def _checked(given: Mapping[str, object], known: Iterable[str], where: str) -> Checked:
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name not in known:
            raise UnknownOption(f"{where} has no option {name!r}{nearest(name, known)}")
        values.update(_CHECKS[name](value))
    if "delay" in given and "at" in given:
        raise InvalidInput(f"expected delay or at, got both: delay={given['delay']!r}, at={given['at']!r}")
    return values


def nearest(name: str, known: Iterable[str]) -> str:
    """Give the end of a sentence about a name that is not known."""
    from difflib import get_close_matches  # only for those who misspelt something

    near = get_close_matches(name, list(known), 1, 0.5)
    return f"; did you mean {near[0]!r}?" if near else f"; it has: {', '.join(sorted(known))}"


# --- one check per option -----------------------------------------------------------------------------------


def whole_number(value: object, what: str, least: int = 0, most: int = 2**31 - 1) -> int:
    """Check an integer. True and 3.0 are not: whoever wrote them meant something else."""
    if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
        return value
    is_too_large = isinstance(value, int) and value > most
    bounds = f"from {least} to {most}" if is_too_large or least < 0 else f"of {least} or more"
    raise InvalidInput(f"expected {what} to be an integer {bounds}, got: {value!r}")


def _number(name: str, least: int = 0) -> "_Check":
    return lambda value: {name: whole_number(value, name, least)}


def _lasting(name: str) -> "_Check":
    return lambda value: {name: -(-duration_us(value, name) // SECOND)}


def _errors(name: str) -> "_Check":
    def check(value: object) -> dict[str, object]:
        kinds = tuple(value) if isinstance(value, list | tuple) else (value,)
        if not all(isinstance(kind, type) and issubclass(kind, BaseException) for kind in kinds):
            raise InvalidInput(f"expected {name} to be an exception class or a list of them, got: {value!r}")
        return {name: kinds}

    return check


def _waits(value: object) -> dict[str, object]:
    if isinstance(value, list | tuple):
        return {"retry_first": None, "retry_table": delay_table(value)}
    return {"retry_first": duration_us(value, "retry_delay"), "retry_table": ()}


def _timeout(value: object) -> dict[str, object]:
    limit = None if value is None else duration_us(value, "timeout")
    if limit == 0:
        raise InvalidInput(f"expected timeout to be more than 0 seconds, or None for no limit, got: {value!r}")
    return {"timeout": limit}


def _delay(value: object) -> dict[str, object]:
    if isinstance(value, datetime):
        return _at(value, "delay")
    return {"delay": duration_us(value, "delay"), "at": None}


def _at(value: object, what: str = "at") -> dict[str, object]:
    return {"delay": 0, "at": moment_us(value, what)}


def _expires(value: object) -> dict[str, object]:
    if value is None:
        return {"expires_in": None, "expires_at": None}
    if isinstance(value, datetime):
        return {"expires_in": None, "expires_at": moment_us(value, "expires")}
    span = duration_us(value, "expires")
    if span == 0:
        raise InvalidInput(f"expected expires to be more than 0 seconds, or None for never, got: {value!r}")
    return {"expires_in": span, "expires_at": None}


def _tags(value: object) -> dict[str, object]:
    if not isinstance(value, list | tuple | set | frozenset):
        raise InvalidInput(f"expected tags to be a list of texts, got: {value!r}")
    return {"tags": tuple(dict.fromkeys(check_tag(tag) for tag in value))}


def _aliases(value: object) -> dict[str, object]:
    if not isinstance(value, list | tuple):
        raise InvalidInput(f"expected aliases to be a list of task names, got: {value!r}")
    return {"aliases": tuple(check_task(name) for name in value)}


def _slot(value: object) -> dict[str, object]:
    if value not in ("main", "thread"):
        raise InvalidInput(f"expected slot to be 'main' (one at a time) or 'thread' (beside others), got: {value!r}")
    return {"slot": value}


def _named(name: str, check: Callable[[object, str], str]) -> "_Check":
    def checked(value: object) -> dict[str, object]:
        return {name: value if value is None or callable(value) else check(value, name)}

    return checked


def _conflict(value: object) -> dict[str, object]:
    if value not in ("merge", "keep", "replace", "reject"):
        raise InvalidInput(f"expected on_conflict to be 'merge', 'keep', 'replace' or 'reject', got: {value!r}")
    return {"on_conflict": value}


def _fresh_for(value: object) -> dict[str, object]:
    if value == math.inf:
        return {"fresh_for": FOR_EVER_US}
    return {"fresh_for": None if value is None else duration_us(value, "fresh_for")}


def _once(value: object) -> dict[str, object]:
    if value is None or isinstance(value, bool):
        return {"once": bool(value), "once_for": None}
    if value == math.inf:
        return {"once": True, "once_for": None}
    span = duration_us(value, "once")
    if span == 0:
        raise InvalidInput(f"expected once to be True, False or more than 0 seconds, got: {value!r}")
    return {"once": True, "once_for": span}


def _again_after(value: object) -> dict[str, object]:
    span = None if value is None else duration_us(value, "again_after")
    if span == 0:
        raise InvalidInput(f"expected again_after to be more than 0 seconds, or None for once, got: {value!r}")
    return {"again_after": span}


def _flag(name: str) -> "_Check":
    def check(value: object) -> dict[str, object]:
        if not isinstance(value, bool):
            raise InvalidInput(f"expected {name} to be True or False, got: {value!r}")
        return {name: value}

    return check


_Check = Callable[[object], dict[str, object]]
_CHECKS: Final[dict[str, _Check]] = {
    "queue": lambda value: {"queue": check_queue(value)},
    "retries": _number("retries"),
    "retry_delay": _waits,
    "retry_cap": lambda value: {"retry_cap": duration_us(value, "retry_cap")},
    "timeout": _timeout,
    "crash_budget": _number("crash_budget"),
    "priority": _number("priority", -(2**31)),
    "delay": _delay,
    "at": _at,
    "expires": _expires,
    "tags": _tags,
    "result_ttl": _lasting("result_ttl"),
    "keep_done": _lasting("keep_done"),
    "keep_dead": _lasting("keep_dead"),
    "lane": _named("lane", check_lane),
    "key": _named("key", check_key),
    "on_conflict": _conflict,
    "fresh_for": _fresh_for,
    "version": lambda value: {"version": None if value is None else check_version(value)},
    "once": _once,
    "forget_failed": _flag("forget_failed"),
    "rerun": _flag("rerun"),
    "again_after": _again_after,
    "force": _flag("force"),
    "id": lambda value: {"id": check_job_id(value)},
    "name": lambda value: {"name": check_task(value)},
    "aliases": _aliases,
    "retry_on": _errors("retry_on"),
    "give_up_on": _errors("give_up_on"),
    "slot": _slot,
}
_OF_THE_TASK: Final = ("name", "aliases", "retry_on", "give_up_on", "slot")
NEED_KEY: Final = ("fresh_for", "version", "once", "forget_failed", "rerun", "again_after", "force")
"""What means nothing without a key."""
_DEFAULTS: Final = frozenset(_CHECKS) - {"id", "name", "aliases", "delay", "at", "key", *NEED_KEY}
_TASK: Final = frozenset(_CHECKS) - {"id", "force"}
_CALL: Final = frozenset(_CHECKS) - frozenset(_OF_THE_TASK)
