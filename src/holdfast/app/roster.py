"""The tasks of one app: by name and alias, for those who enqueue and for those who run. And the codec that knows
the types in their signatures.

Signatures are read late, when a codec is first wanted after a task was declared: by then the names that annotations
use exist.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from holdfast.app.naming import main_module
from holdfast.app.task import Task
from holdfast.errors import DuplicateTask, UnknownTask
from holdfast.run.spec import Registry, TaskSpec
from holdfast.wire.codec import Codec


class Roster:
    """The tasks of one app."""

    def __init__(self) -> None:
        self._tasks: dict[str, Task[..., Any]] = {}
        self._by_any_name: dict[str, Task[..., Any]] = {}
        self._specs: dict[str, TaskSpec] = {}
        self._unread: list[Task[..., Any]] = []
        self._codec: Codec | None = None
        self.tasks: Mapping[str, Task[..., Any]] = MappingProxyType(self._tasks)
        self.registry = Registry(MappingProxyType(self._specs))

    def check(self, tasks: Iterable[Task[..., Any]], prefix: str | None = None) -> None:
        """Return if these tasks can all be taken in, else raise. Nothing is taken in."""
        taken = dict(self._by_any_name)
        for task in tasks:
            for name in dict.fromkeys(task.names_under(prefix)):
                if holder := taken.get(name):
                    raise DuplicateTask(
                        f"two tasks are called {name!r}: {_place(holder)} and {_place(task)}; "
                        "give one of them another name: @app.task(name=…)"
                    )
                taken[name] = task

    def add(self, task: Task[..., Any]) -> None:
        """Take a task in, under its name and its aliases."""
        spec = task.spec()
        names = (spec.name, *spec.aliases)
        self._tasks[task.name] = task
        self._by_any_name.update(dict.fromkeys(names, task))
        self._specs.update(dict.fromkeys(names, spec))
        self._unread.append(task)

    def find(self, name: object) -> Task[..., Any] | None:
        return self._by_any_name.get(name) if isinstance(name, str) else None

    def need(self, name: object) -> Task[..., Any]:
        """Give the task of this name or alias, or say what there is instead."""
        task = self.find(name)
        if task is None:
            from difflib import get_close_matches  # only for a name that is wrong

            near = get_close_matches(str(name), list(self._by_any_name), 1)
            hint = (
                f"did you mean {near[0]!r}?" if near else "import the module that declares it, or name it in imports="
            )
            raise UnknownTask(f"this app has no task {name!r}; {hint}")
        return task

    def register(self, *types: type) -> None:
        self.codec().register(*types)

    def codec(self) -> Codec:
        """Give the codec, which knows the types of all tasks declared so far."""
        codec = self._codec
        if codec is None:
            codec = self._codec = Codec(main_module())
        while self._unread:
            kinds = self._unread.pop().parameters.types()
            codec.register(*sorted(kinds, key=lambda kind: kind.__qualname__))
        return codec


def _place(task: Task[..., Any]) -> str:
    code = getattr(task.function, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else repr(task.function)
