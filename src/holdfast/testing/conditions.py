"""The options of `task.using(…)`, as conditions that a waiting job meets or not.

Retries, their waits and the timeout are compared as they will hold for the job: the call's, else the task's. All others
are the call's own, whichever place they came from: `using`, the task, the app's defaults.

How long records and results are kept cannot be compared: a job shows it only when it has ended.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from holdfast.errors import InvalidInput
from holdfast.policy.moments import SECOND, as_datetime
from holdfast.run.overrides import retry_policy, timeout_us
from holdfast.run.spec import TaskSpec
from holdfast.testing.waiting import Enqueued

Options = Mapping[str, Any]


class Condition(msgspec.Struct, frozen=True):
    """One option, as it is told and as it is checked."""

    told: str
    holds: Callable[[Enqueued, TaskSpec], bool]


def conditions_of(options: Options) -> list[Condition]:
    """Give the conditions that checked options stand for, or refuse one that no waiting job shows."""
    for name in options:
        if not any(name in names for names in _MAKERS):
            raise InvalidInput(f"{name} cannot be compared: a job shows it only when it has ended")
    return [make(options) for names, make in _MAKERS.items() if any(name in options for name in names)]


def _field(name: str) -> Callable[[Options], Condition]:
    """Compare a field of the job's record."""

    def make(options: Options) -> Condition:
        value = options[name]
        return Condition(f"{name}={value!r}", lambda job, _: bool(getattr(job.record, name) == value))

    return make


def _tags(options: Options) -> Condition:
    tags = options["tags"]
    return Condition(f"tags={list(tags)!r}", lambda job, _: set(tags) <= set(job.record.tags))


def _due(options: Options) -> Condition:
    delay_us, at_us = options["delay"], options["at"]
    return Condition(
        f"delay={_seconds(delay_us)}" if at_us is None else f"at={as_datetime(at_us)}",
        lambda job, _: (job.envelope.delay_us, job.envelope.at_us) == (delay_us, at_us),
    )


def _expiry(options: Options) -> Condition:
    in_us, at_us = options["expires_in"], options["expires_at"]
    if in_us is None:
        told = "None" if at_us is None else str(as_datetime(at_us))
        return Condition(f"expires={told}", lambda job, _: job.envelope.expires_us == at_us)
    return Condition(f"expires={_seconds(in_us)}", lambda job, _: _expires_after(job, in_us))


def _expires_after(job: Enqueued, span_us: int) -> bool:
    """Tell whether the job expires so long after it was enqueued; to the second, for a clock that runs meanwhile."""
    expires_us = job.envelope.expires_us
    return expires_us is not None and abs(expires_us - job.record.created_us - span_us) < SECOND


def _retries(options: Options) -> Condition:
    retries = options["retries"]
    return Condition(f"retries={retries}", lambda job, spec: retry_policy(spec.retry, job.envelope).retries == retries)


def _retry_cap(options: Options) -> Condition:
    cap_us = options["retry_cap"]
    return Condition(
        f"retry_cap={_seconds(cap_us)}", lambda job, spec: retry_policy(spec.retry, job.envelope).cap_us == cap_us
    )


def _retry_delay(options: Options) -> Condition:
    first_us, table_us = options["retry_first"], options["retry_table"]
    told = _seconds(first_us) if first_us is not None else f"[{', '.join(map(_seconds, table_us))}]"

    def holds(job: Enqueued, spec: TaskSpec) -> bool:
        policy = retry_policy(spec.retry, job.envelope)
        return policy.table_us == table_us and (bool(table_us) or policy.first_us == first_us)

    return Condition(f"retry_delay={told}", holds)


def _timeout(options: Options) -> Condition:
    limit_us = options["timeout"]
    told = "None" if limit_us is None else _seconds(limit_us)
    return Condition(f"timeout={told}", lambda job, spec: timeout_us(spec, job.envelope) == limit_us)


def _seconds(span_us: int) -> str:
    return f"{span_us / SECOND:g}"


_MAKERS: Final[dict[tuple[str, ...], Callable[[Options], Condition]]] = {
    ("id",): _field("id"),
    ("queue",): _field("queue"),
    ("priority",): _field("priority"),
    ("crash_budget",): _field("crash_budget"),
    ("tags",): _tags,
    ("delay", "at"): _due,
    ("expires_in", "expires_at"): _expiry,
    ("retries",): _retries,
    ("retry_first", "retry_table"): _retry_delay,
    ("retry_cap",): _retry_cap,
    ("timeout",): _timeout,
}
