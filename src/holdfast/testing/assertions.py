"""Assertions about what was enqueued, whose failures say what was enqueued instead."""

from collections.abc import Sequence
from typing import Any, Final

from holdfast.app.task import Task
from holdfast.model.states import STATES
from holdfast.testing.expectation import Expectation
from holdfast.testing.waiting import WAITING, Enqueued, enqueued, found

_MOST_SHOWN: Final = 20


def assert_enqueued(task: Task[..., Any], /, *args: Any, **kwargs: Any) -> Enqueued:
    """Assert that a call of this task waits in its app, and give it: the oldest, if there are several.

    Arguments that are left out are not compared. Options are given by `using`, and those left out are not compared:
    `assert_enqueued(send.using(queue="mail", delay=60), "ada@example.com")`.
    """
    __tracebackhide__ = True
    expected = Expectation.of(task, args, kwargs)
    waiting = enqueued(task.app)
    for job in waiting:
        if expected.is_met_by(job):
            return job
    others = found(task.app, tuple(state for state in STATES if state not in WAITING))
    message = f"expected {expected.told} to be enqueued; {_listed('waiting', waiting)}"
    raise AssertionError(f"{message}\n{_listed('not waiting any more', others)}" if others else message)


def assert_not_enqueued(task: Task[..., Any], /, *args: Any, **kwargs: Any) -> None:
    """Assert that no call of this task waits in its app; with arguments or options, no such call."""
    __tracebackhide__ = True
    expected = Expectation.of(task, args, kwargs)
    met = [job for job in enqueued(task.app) if expected.is_met_by(job)]
    if met:
        raise AssertionError(f"expected {expected.told} not to be enqueued; {_listed('waiting', met)}")


def _listed(what: str, jobs: Sequence[Enqueued]) -> str:
    if not jobs:
        return f"{what}: nothing"
    lines = [f"  {job}" for job in jobs[:_MOST_SHOWN]]
    if len(jobs) > _MOST_SHOWN:
        lines.append(f"  … and {len(jobs) - _MOST_SHOWN:,} more")
    return "\n".join([f"{what}:", *lines])
