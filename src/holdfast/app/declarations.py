"""What an app declares of queues: remembered when it is told, written when there is a store to write to."""

from collections.abc import Iterable

from holdfast.app.connection import Connection
from holdfast.errors import DeclarationError
from holdfast.model.job import NewJob
from holdfast.model.queue import QueuePolicy
from holdfast.model.seen import Sketch


class Declarations:
    """Queue policies by name. A queue is declared once, or twice in the same way. Of shapes the last one counts."""

    def __init__(self) -> None:
        self._policies: dict[str, QueuePolicy] = {}
        self._shapes: dict[str, Sketch] = {}

    def add(self, name: str, policy: QueuePolicy) -> None:
        if self._policies.setdefault(name, policy) != policy:
            raise DeclarationError(f"the queue {name!r} is declared twice, in different ways; declare it once")

    def shape(self, name: str, shape: Sketch) -> None:
        """Remember the shape of a queue's seen-set."""
        self._shapes[name] = shape

    def all(self) -> dict[str, QueuePolicy]:
        return dict(self._policies)

    def write(self, connection: Connection, names: Iterable[str] | None = None) -> None:
        """Write the declared queues (of these names only, if some are given) that this connection has not written."""
        if not self._policies:
            return
        for name in self.all() if names is None else set(names) & self._policies.keys():
            connection.declare(name, self._policies[name])

    def settle(self, connection: Connection, jobs: Iterable[NewJob]) -> None:
        """Give the seen-sets that these jobs are to be marked in the shapes that were declared. See `Connection.settle`."""
        if not self._shapes:
            return
        for name in {job.queue for job in jobs if job.seen is not None} & self._shapes.keys():
            connection.settle(name, self._shapes[name])
