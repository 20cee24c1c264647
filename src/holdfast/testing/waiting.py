"""The jobs that wait in an app's store, with their arguments read back as a task would get them."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

import msgspec

from holdfast.app.app import Holdfast
from holdfast.app.handle import Job
from holdfast.app.task import Task
from holdfast.errors import ArgumentMismatch
from holdfast.model.job import JobRecord
from holdfast.model.query import Query
from holdfast.model.states import State
from holdfast.policy.moments import SECOND, as_datetime
from holdfast.wire.envelope import Envelope, open_envelope
from holdfast.wire.payload import unpack

WAITING: Final[tuple[State, ...]] = ("waiting", "scheduled", "ready", "spilled")
_PAGE: Final = 1000


class Enqueued(msgspec.Struct, frozen=True, kw_only=True):
    """A job in the store. `arguments` has them by name, defaults included; `args` and `kwargs` as they were given."""

    job: Job[Any]
    task: str
    queue: str
    state: State
    priority: int
    due: datetime
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    arguments: Mapping[str, Any]
    envelope: Envelope
    record: JobRecord

    def __str__(self) -> str:
        rank = f", priority {self.priority}" if self.priority else ""
        return f"{spelled(self.task, self.args, self.kwargs)} in {self.queue}{rank}, {self._when()}"

    def _when(self) -> str:
        if self.state not in WAITING:
            return f"{self.state}: {self.record.reason}" if self.record.reason else self.state
        wait_s = (self.record.due_us - self.record.created_us) / SECOND
        when = f"due {wait_s:g} s after it was enqueued" if wait_s > 0 else "due at once"
        return f"{when}, after {self.record.failures} failures" if self.record.failures else when


def enqueued(app: Holdfast, task: Task[..., Any] | str | None = None) -> list[Enqueued]:
    """List the jobs that wait to be run, of one task or of all, in the order in which they were enqueued.

    Those that are due later count, and so do those that wait for a retry. Running, parked and finished ones do not.
    """
    return found(app, WAITING, task)


def found(app: Holdfast, states: tuple[State, ...], task: Task[..., Any] | str | None = None) -> list[Enqueued]:
    """List the jobs in these states, oldest first."""
    name = task.name if isinstance(task, Task) else task
    return [
        _read(app, record) for record in reversed(list(_records(app, Query(states=states, task=name, limit=_PAGE))))
    ]


def arguments(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Give the arguments of a call by the names of the function's parameters, those that it gives and no others."""
    try:
        bound = inspect.signature(function).bind_partial(*args, **kwargs)
    except ValueError:  # some built-ins have no signature to read
        return {"args": args, **kwargs}
    except TypeError as error:
        raise ArgumentMismatch(f"{getattr(function, '__name__', function)}() cannot be called so: {error}") from error
    return _flat(bound)


def spelled(task: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    """Write a call as a person would."""
    return f"{task}({', '.join([*map(repr, args), *(f'{name}={value!r}' for name, value in kwargs.items())])})"


def _records(app: Holdfast, query: Query) -> Iterator[JobRecord]:
    page = app.store.inspector.find(query)
    while page:
        yield from page
        page = app.store.inspector.find(msgspec.structs.replace(query, after=page[-1].id))


def _read(app: Holdfast, record: JobRecord) -> Enqueued:
    envelope = open_envelope(record.envelope)
    args, kwargs = unpack(envelope.payload, app.codec())
    task = app.tasks.get(record.task)
    if task is not None:
        args, kwargs = task.parameters.arrive(args, kwargs)
    return Enqueued(
        job=app.job(record.id),
        task=record.task,
        queue=record.queue,
        state=record.state,
        priority=record.priority,
        due=as_datetime(record.due_us),
        args=args,
        kwargs=kwargs,
        arguments=dict(kwargs) if task is None else _complete(task.function, args, kwargs),
        envelope=envelope,
        record=record,
    )


def _complete(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    given = arguments(function, args, kwargs)
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return given
    return {one.name: one.default for one in parameters if one.default is not one.empty} | given


def _flat(bound: inspect.BoundArguments) -> dict[str, Any]:
    """Give what `**kwargs` of a function took beside its other arguments."""
    more = [one.name for one in bound.signature.parameters.values() if one.kind is one.VAR_KEYWORD]
    given = dict(bound.arguments)
    for name in more:
        given |= given.pop(name, {})
    return given
