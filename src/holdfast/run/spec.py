"""A task as a runner sees it: a function with its rules. And the registry, the only place where tasks are found.

Nothing is ever imported because a message names it. A name that is not in the registry is a job to park.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

import msgspec

from holdfast.policy.moments import SECOND
from holdfast.policy.retry import RetryPolicy
from holdfast.wire.parameters import Parameters

Kind = Literal["sync", "async"]

TIMEOUT_US: Final = 30 * 60 * SECOND
"""How long a run may take unless its task says otherwise."""


class TaskSpec(msgspec.Struct, frozen=True):
    """One task: what to call, and by which rules. `timeout_us` None means no limit."""

    name: str
    function: Callable[..., Any]
    kind: Kind
    parameters: Parameters
    retry: RetryPolicy = RetryPolicy()
    timeout_us: int | None = TIMEOUT_US
    aliases: tuple[str, ...] = ()
    slot: Literal["main", "thread"] | None = None
    """Where a sync task asks to be run: one at a time in the main thread, or beside others. None: where it suits."""


class Registry:
    """The tasks that can be run here, by name and alias. A view: tasks declared later are seen, none can be added."""

    def __init__(self, specs: Mapping[str, TaskSpec]) -> None:
        self._specs = specs

    @classmethod
    def of(cls, *specs: TaskSpec) -> "Registry":
        """Make a registry of these tasks and no others."""
        return cls({name: spec for spec in specs for name in (spec.name, *spec.aliases)})

    def find(self, name: str) -> TaskSpec | None:
        """Give the task of this name or alias."""
        return self._specs.get(name)

    def names(self) -> tuple[str, ...]:
        """List every name and alias that can be run here."""
        return tuple(sorted(self._specs))

    def kinds(self) -> set[Kind]:
        """Tell which kinds of task there are: with one kind only, only its slots limit what is claimed."""
        return {spec.kind for spec in tuple(self._specs.values())}  # a copy: tasks may be declared meanwhile
