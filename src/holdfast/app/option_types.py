"""The options of apps, tasks and calls as type checkers and editors see them. Nothing loads this while a program runs."""

from datetime import datetime, timedelta
from typing import Literal, TypedDict

from holdfast.app.options import Named
from holdfast.model.job import Conflict

Seconds = float | timedelta
Errors = type[BaseException] | tuple[type[BaseException], ...] | list[type[BaseException]]


class SharedOptions(TypedDict, total=False):
    """Options of a whole app, a task and a single call."""

    queue: str
    retries: int
    retry_delay: Seconds | list[Seconds] | tuple[Seconds, ...]
    retry_cap: Seconds
    timeout: Seconds | None
    crash_budget: int
    priority: int
    expires: Seconds | datetime | None
    tags: list[str] | tuple[str, ...]
    result_ttl: Seconds
    keep_done: Seconds
    keep_dead: Seconds
    lane: Named
    on_conflict: Conflict


class IdentityOptions(TypedDict, total=False):
    """Options that make something of the same call made twice. They all need a `key`."""

    key: Named
    fresh_for: Seconds | None
    version: str | int | None
    once: bool | Seconds | None
    forget_failed: bool
    rerun: bool
    again_after: Seconds | None


class DefaultOptions(SharedOptions, total=False):
    """Options of `Holdfast(defaults=…)` and of `TaskSet(…)`."""

    retry_on: Errors
    give_up_on: Errors
    slot: Literal["main", "thread"]


class CallOptions(SharedOptions, IdentityOptions, total=False):
    """Options of `task.using(…)`. A job that is pushed again under its `id` is not stored twice."""

    delay: Seconds | datetime
    at: datetime
    id: str
    force: bool


class TaskOptions(DefaultOptions, IdentityOptions, total=False):
    """Options of `@app.task(…)`."""

    delay: Seconds | datetime
    at: datetime
    name: str
    aliases: list[str] | tuple[str, ...]
