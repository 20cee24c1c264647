"""Queues, seen and acted upon: `app.queues["mail"].pause()`. What is done here takes effect with the next claim."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from holdfast.model.queue import QueuePolicy, QueueRecord
from holdfast.policy.names import check_queue

if TYPE_CHECKING:
    from holdfast.app.app import Holdfast


class Queue:
    """One queue. It need not exist yet: it comes into being with its first job."""

    __slots__ = ("_app", "name")

    def __init__(self, app: "Holdfast", name: str) -> None:
        self._app = app
        self.name = check_queue(name)

    def record(self) -> QueueRecord:
        """Give all that can be seen of the queue now: policy, pause, counts by state."""
        found = self._app.store.queues.get(self.name)
        return found or QueueRecord(self.name, QueuePolicy(), is_paused=False, counts={})

    def size(self) -> int:
        """Count the jobs that have yet to start."""
        return self.record().size

    def counts(self) -> dict[str, int]:
        """Count the jobs by state."""
        return self.record().counts

    def is_paused(self) -> bool:
        return self.record().is_paused

    def pause(self) -> bool:
        """Hand out nothing until `resume`; what runs, runs on. Return whether that changed anything."""
        return self._app.store.queues.pause(self.name)

    def resume(self) -> bool:
        return self._app.store.queues.resume(self.name)

    def purge(self) -> int:
        """Delete all jobs that have yet to start. Return how many."""
        return self._app.store.queues.purge(self.name)

    def __repr__(self) -> str:
        return f"<Queue {self.name}>"


class QueueBoard:
    """The queues of an app's store, by name."""

    __slots__ = ("_app",)

    def __init__(self, app: "Holdfast") -> None:
        self._app = app

    def names(self) -> list[str]:
        """List all queues there are."""
        return self._app.store.queues.names()

    def __getitem__(self, name: str) -> Queue:
        return Queue(self._app, name)

    def __iter__(self) -> Iterator[Queue]:
        return iter([Queue(self._app, name) for name in self.names()])

    def __contains__(self, name: object) -> bool:
        return name in self.names()
