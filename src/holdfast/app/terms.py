"""What follows from options: the terms on which a task's calls are stored, worked out once and used for each of them."""

from typing import Any, Final

import msgspec

from holdfast.app.options import NEED_KEY, Checked, Named
from holdfast.errors import InvalidInput
from holdfast.model.job import Conflict
from holdfast.policy.moments import SECOND, as_datetime
from holdfast.policy.retry import CAP_US, FIRST_US, RetryPolicy
from holdfast.run.overrides import NO_LIMIT_US, again_headers, retry_headers

_DAY_S: Final = 86_400


class Terms(msgspec.Struct, frozen=True):
    """How a call is stored. `retries`, `timeout_us` and `headers` are what this call changes about its task."""

    queue: str
    priority: int
    delay_us: int
    at_us: int | None
    expires_in_us: int | None
    expires_at_us: int | None
    crash_budget: int
    keep_done_s: int
    keep_dead_s: int
    result_ttl_s: int
    tags: tuple[str, ...]
    retries: int | None
    timeout_us: int | None
    headers: dict[str, str]
    id: str | None
    lane: Named = None
    key: Named = None
    on_conflict: Conflict = "merge"
    fresh_for_us: int | None = None
    version: str | None = None
    is_forced: bool = False
    runs_after: bool = False
    is_once: bool = False
    once_for_us: int | None = None
    forgets_failure: bool = False


def terms_of(task: Checked, call: Checked) -> Terms:
    """Work out the terms of a task's calls, from what the app and the task say and what the call changes."""
    get = {**task, **call}.get
    _check_expiry(get("delay", 0), get("expires_in"))
    _check_moments(get("at"), get("expires_at"))
    if get("key") is None:
        _check_keyless(task, call)
    _check_forgetting(task, call)
    return Terms(
        queue=get("queue", "default"),
        priority=get("priority", 0),
        delay_us=get("delay", 0),
        at_us=get("at"),
        expires_in_us=get("expires_in"),
        expires_at_us=get("expires_at"),
        crash_budget=get("crash_budget", 3),
        keep_done_s=get("keep_done", max(_DAY_S, get("result_ttl", _DAY_S))),  # a result is read from its record
        keep_dead_s=get("keep_dead", 30 * _DAY_S),
        result_ttl_s=get("result_ttl", _DAY_S),
        tags=get("tags", ()),
        retries=call.get("retries"),
        timeout_us=_timeout(call),
        headers={
            **retry_headers(call.get("retry_first"), call.get("retry_table"), call.get("retry_cap")),
            **again_headers(get("again_after")),
        },
        id=call.get("id"),
        lane=get("lane"),
        key=get("key"),
        on_conflict=get("on_conflict", "merge"),
        fresh_for_us=get("fresh_for"),
        version=get("version"),
        is_forced=get("force", False),
        runs_after=get("rerun", False),
        is_once=get("once", False),
        once_for_us=get("once_for"),
        forgets_failure=get("forget_failed", False),
    )


def policy_of(task: Checked) -> RetryPolicy:
    """Work out a task's retry policy."""
    first: Any = task.get("retry_first")
    return RetryPolicy(
        retries=task.get("retries", 0),
        first_us=FIRST_US if first is None else first,
        cap_us=task.get("retry_cap", CAP_US),
        table_us=task.get("retry_table", ()),
        retry_on=task.get("retry_on", (Exception,)),
        give_up_on=task.get("give_up_on", ()),
    )


def _timeout(call: Checked) -> int | None:
    if "timeout" not in call:
        return None
    given: int | None = call["timeout"]
    return NO_LIMIT_US if given is None else given


def _check_expiry(delay_us: int, expires_in_us: int | None) -> None:
    if expires_in_us is not None and delay_us >= expires_in_us:
        raise InvalidInput(
            f"expected expires to be later than delay, got: expires={expires_in_us / SECOND:g}, "
            f"delay={delay_us / SECOND:g}; such a job would never start"
        )


def _check_moments(at_us: int | None, expires_at_us: int | None) -> None:
    if at_us is not None and expires_at_us is not None and at_us >= expires_at_us:
        raise InvalidInput(
            f"expected expires to be later than at, got: expires={as_datetime(expires_at_us)}, "
            f"at={as_datetime(at_us)}; such a job would never start"
        )


def _check_keyless(task: Checked, call: Checked) -> None:
    """Refuse what would be of no effect. A task may leave the key to its calls, and an app's defaults are for all."""
    given = {**task, **call}
    for name in (*NEED_KEY, *(("on_conflict",) if "on_conflict" in call else ())):
        if given.get(name):
            raise InvalidInput(
                f"expected a key to go with {name}: it says what makes two calls the same, e.g. key='page:17' or "
                "key=lambda url: url; got none"
            )


def _check_forgetting(task: Checked, call: Checked) -> None:
    """Refuse to forget what nobody marks. A call that does without its task's `once` does without this too."""
    get = {**task, **call}.get
    if get("forget_failed") and not get("once") and ("once" not in call or "forget_failed" in call):
        raise InvalidInput(
            "expected once to go with forget_failed: only a call with once=True (or a time) marks its key as seen; got none"
        )
