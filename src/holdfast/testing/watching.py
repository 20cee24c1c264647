"""The app's tasks, each watched for one run: what it was called with, what it returned or raised.

A verdict has all of that as text and bytes, which is what a store wants. A test wants the objects. So the run is
the real one, from the claim's bytes to its verdict, and only the function that it finds has a witness around it.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from holdfast.run.spec import Registry, TaskSpec


class Witness(msgspec.Struct):
    """What one run did. Empty if the task was never called."""

    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}
    result: Any = None
    error: BaseException | None = None


class WatchedRegistry(Registry):
    """The tasks of `registry`, whose calls `witness` sees. Made for one run, which only finds."""

    def __init__(self, registry: Registry, witness: Witness) -> None:
        super().__init__({})
        self._registry = registry
        self._witness = witness

    def find(self, name: str) -> TaskSpec | None:
        spec = self._registry.find(name)
        if spec is None:
            return None
        watched = _awatched if spec.kind == "async" else _watched
        return msgspec.structs.replace(spec, function=watched(spec.function, self._witness))


def _watched(function: Callable[..., Any], witness: Witness) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        witness.args, witness.kwargs = args, kwargs
        try:
            witness.result = function(*args, **kwargs)
        except BaseException as error:
            witness.error = error
            raise
        return witness.result

    return call


def _awatched(function: Callable[..., Any], witness: Witness) -> Callable[..., Any]:
    async def call(*args: Any, **kwargs: Any) -> Any:
        witness.args, witness.kwargs = args, kwargs
        try:
            witness.result = await function(*args, **kwargs)
        except BaseException as error:
            witness.error = error
            raise
        return witness.result

    return call
