"""The queues that an app declares: remembered when it is told, written when there is a store to write to."""

from collections.abc import Iterable

from holdfast.app.connection import Connection
from holdfast.errors import DeclarationError
from holdfast.model.queue import QueuePolicy


class Declarations:
    """Queue policies by name. A queue is declared once, or twice in the same way."""

    def __init__(self) -> None:
        self._policies: dict[str, QueuePolicy] = {}

    def add(self, name: str, policy: QueuePolicy) -> None:
        if self._policies.setdefault(name, policy) != policy:
            raise DeclarationError(f"the queue {name!r} is declared twice, in different ways; declare it once")

    def all(self) -> dict[str, QueuePolicy]:
        return dict(self._policies)

    def write(self, connection: Connection, names: Iterable[str] | None = None) -> None:
        """Write the declared queues (of these names only, if some are given) that this connection has not written."""
        if not self._policies:
            return
        for name in self.all() if names is None else set(names) & self._policies.keys():
            connection.declare(name, self._policies[name])
