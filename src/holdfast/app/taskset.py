"""Tasks without an app: what a library declares, and an app includes."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, Unpack, overload

from holdfast.app.options import check_defaults, check_task_options
from holdfast.app.task import Task

if TYPE_CHECKING:
    from holdfast.app.option_types import DefaultOptions, TaskOptions

P = ParamSpec("P")
R = TypeVar("R")


class TaskSet:
    """A set of tasks for apps to include. Options given here are the defaults of its tasks."""

    def __init__(self, **defaults: "Unpack[DefaultOptions]") -> None:
        self._defaults = check_defaults(defaults, "TaskSet(…)")
        self._tasks: list[Task[..., Any]] = []

    @overload
    def task(self, function: Callable[P, R], /) -> Task[P, R]: ...
    @overload
    def task(
        self, function: None = None, /, **options: "Unpack[TaskOptions]"
    ) -> Callable[[Callable[P, R]], Task[P, R]]: ...
    def task(self, function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
        """Declare a task, with the same options as `app.task`."""
        given = {**self._defaults, **check_task_options(options)}

        def declare(function: Callable[..., Any]) -> Task[..., Any]:
            task = Task(function, given)
            self._tasks.append(task)
            return task

        return declare if function is None else declare(function)

    def __iter__(self) -> Iterator[Task[..., Any]]:
        return iter(tuple(self._tasks))

    def __len__(self) -> int:
        return len(self._tasks)

    def __repr__(self) -> str:
        return f"<TaskSet of {len(self._tasks)}>"
