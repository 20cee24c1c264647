"""What a program wants enqueued when one of its queues has drained: `app.queue("crawl", on_drained=finish.s())`.

Each drain of a queue has a number, and the job that it brings about has an id made of namespace, queue and number. Whoever
writes it down, and however often, it is one job.
"""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from holdfast.app.call import Call
from holdfast.app.clerk import Clerk
from holdfast.app.ids import derived_id
from holdfast.errors import DeclarationError, InvalidInput
from holdfast.model.job import NewJob
from holdfast.wire.payload import pack

if TYPE_CHECKING:
    from holdfast.app.app import Holdfast
    from holdfast.run.hooks import Writer


class Hooks:
    """The hooks of one app, by queue."""

    def __init__(self) -> None:
        self._calls: dict[str, Call[Any]] = {}

    def check(self, app: "Holdfast", queue: str, call: Call[Any]) -> None:
        """Raise with the reason if this cannot be the hook of this queue."""
        _check_call(app, call)
        self._check_circle(queue, call)
        if not _is_same(self._calls.get(queue, call), call):
            raise DeclarationError(f"the queue {queue!r} is declared twice, with different on_drained; declare it once")

    def add(self, queue: str, call: Call[Any]) -> None:
        self._calls.setdefault(queue, call)

    def check_arguments(self, app: "Holdfast") -> None:
        """Raise if the arguments of a hook cannot be stored: not at the declaration, when types may be unknown yet."""
        for call in self._calls.values():
            pack(call.args, call.kwargs, app.codec(), call.task.parameters.place)

    def writers(self, app: "Holdfast") -> "Mapping[str, Writer]":
        """Give, by queue, what writes down the job for a drain."""
        return {queue: partial(self._write, app, queue) for queue in self._calls}

    def _write(self, app: "Holdfast", queue: str, number: int) -> NewJob:
        call = self._calls[queue]
        task = call.task.using(id=derived_id(app.namespace, queue, str(number)))
        connection = app.connection()
        return Clerk(app, connection.store, connection.ring).write(Call(task, call.args, call.kwargs))

    def _check_circle(self, queue: str, call: Call[Any]) -> None:
        """Refuse hooks that would drain queues for ever, each by the job of the one before."""
        way = [queue, call.task.queue]
        while way[-1] != queue and way[-1] in self._calls:
            way.append(self._calls[way[-1]].task.queue)
        if way[-1] != queue:
            return
        if len(way) == 2:
            raise DeclarationError(
                f"on_drained of queue {queue!r} would enqueue {call.task.name} in that queue, which would drain again by "
                "it, and so for ever; give the call another queue: task.using(queue=…).s(…)"
            )
        raise DeclarationError(
            f"on_drained of queue {queue!r} would go round for ever: {' → '.join(map(repr, way))}; "
            "let one of these calls go to a queue without a hook"
        )


def _check_call(app: "Holdfast", call: object) -> None:
    if type(call) is not Call:
        raise InvalidInput(f"expected on_drained to be a call, made by task.s(…), got: {call!r}")
    if call.task.app is not app:
        raise DeclarationError(
            f"on_drained was given a call of {call.task.name}, which belongs to another app; declare it there"
        )
    if call.task.terms.id is not None:
        raise InvalidInput(
            f"expected on_drained to be a call without an id, got: id={call.task.terms.id!r}; each drain makes a job of "
            "its own"
        )
    call.task.parameters.check(call.args, call.kwargs)


def _is_same(one: Call[Any], other: Call[Any]) -> bool:
    return (one.task.name, one.task.terms, one.args, one.kwargs) == (
        other.task.name, other.task.terms, other.args, other.kwargs,
    )  # fmt: skip
