"""What a test expects to be enqueued: a task, some of its arguments, some of its options. Only what is given is compared.

Arguments are held against the task's signature first, so that it does not matter whether one was passed by position or
by name, or left to its default; and so that a misspelt one is an error, not an assertion that can never fail.
"""

from typing import Any

import msgspec

from holdfast.app.task import Task
from holdfast.errors import InvalidInput
from holdfast.run.spec import TaskSpec
from holdfast.testing.conditions import Condition, conditions_of
from holdfast.testing.waiting import Enqueued, arguments, spelled


class Expectation(msgspec.Struct, frozen=True):
    """A call that may be in the queue."""

    spec: TaskSpec
    told: str
    arguments: dict[str, Any]
    conditions: list[Condition]

    @classmethod
    def of(cls, task: Task[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> "Expectation":
        """Make one, refusing arguments that the task does not take and options that no waiting job shows."""
        if not isinstance(task, Task):
            raise InvalidInput(f"expected a task, as @app.task makes them, got: {task!r}")
        call = spelled(task.name, args, kwargs) if args or kwargs else task.name
        conditions = conditions_of(task._call)  # what `using` was given: nobody else needs to ask
        using = f" using {', '.join(one.told for one in conditions)}" if conditions else ""
        return cls(task.spec(), f"{call}{using}", arguments(task.function, args, kwargs), conditions)

    def is_met_by(self, job: Enqueued) -> bool:
        """Tell whether the job is of this task, with these arguments and options."""
        return (
            job.task == self.spec.name
            and all(name in job.arguments and value == job.arguments[name] for name, value in self.arguments.items())
            and all(condition.holds(job, self.spec) for condition in self.conditions)
        )
