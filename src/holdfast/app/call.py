"""A call that has not been made yet: a task and its arguments. `task.s(…)` makes one, `app.enqueue_many` takes many."""

from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from holdfast.app.handle import Job
    from holdfast.app.task import Task

R = TypeVar("R")


class Call(Generic[R]):
    """One call of a task. Arguments are checked when it is enqueued; until then they can still be changed."""

    __slots__ = ("args", "kwargs", "task")

    def __init__(self, task: "Task[..., Any]", args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.task = task
        self.args = args
        self.kwargs = kwargs

    def enqueue(self) -> "Job[R]":
        """Store the call as a job."""
        return self.task.app.push(self)

    async def aenqueue(self) -> "Job[R]":
        import asyncio

        return await asyncio.to_thread(self.enqueue)

    def __repr__(self) -> str:
        shown = [*map(repr, self.args), *(f"{name}={value!r}" for name, value in self.kwargs.items())]
        return f"{self.task.name}({', '.join(shown)})"
