"""Queues, seen and acted upon: `app.queues["mail"].pause()`. What is done here takes effect with the next claim.

What is set by `set` goes before what the program declares, until it is unset: an operator need not fear the next start of
the program.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Unpack

from holdfast.model.queue import LaneRecord, QueueOverlay, QueuePolicy, QueueRecord
from holdfast.policy.names import check_lane, check_queue

if TYPE_CHECKING:
    from holdfast.app.app import Holdfast
    from holdfast.app.flow_options import QueueOptions


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

    def lanes(self) -> list[LaneRecord]:
        """List, by name, the lanes that hold ready or running jobs or are held back; jobs without a lane are in ''."""
        return self._app.store.queues.lanes(self.name)

    def pause(self, *, lane: str | None = None) -> bool:
        """Hand out nothing of the queue, or of this lane, until `resume`; what runs, runs on.

        Return whether that changed anything.
        """
        return self._app.store.queues.pause(self.name, None if lane is None else check_lane(lane))

    def resume(self, *, lane: str | None = None) -> bool:
        """End the pause of the queue, or of this lane, and whatever a breaker or a `RateLimited` holds against it.

        Lanes that are held back themselves stay so when the queue is resumed. Return whether that changed anything.
        """
        return self._app.store.queues.resume(self.name, None if lane is None else check_lane(lane))

    def set(self, **options: "Unpack[QueueOptions]") -> bool:
        """Set options of the queue over what the program declares, until they are unset. None takes a limit away.

        Options that were set before and are not named stay. Return whether that changed anything.
        """
        from holdfast.app.flow_options import overlay_with  # only for those who change a queue

        return self._overlay(overlay_with(self.record(), options))

    def unset(self, *names: str) -> bool:
        """Let what the program declares hold again, for these options or for all. Return whether that changed anything."""
        from holdfast.app.flow_options import overlay_without

        return self._overlay(overlay_without(self.record().overlay, names))

    def wait_drained(self, timeout: Any = None, *, lane: str | None = None) -> bool:
        """Wait until no job of the queue, or of this lane of it, is ready, scheduled, running, waiting or spilled.

        Return whether that came before the timeout. Parked jobs wait for a person, and are not waited for.
        """
        return self._app.wait_drained(self.name, timeout, lane=lane)

    async def await_drained(self, timeout: Any = None, *, lane: str | None = None) -> bool:
        """As `wait_drained`, without blocking the event loop."""
        return await self._app.await_drained(self.name, timeout, lane=lane)

    def purge(self) -> int:
        """Delete all jobs that have yet to start. Return how many."""
        return self._app.store.queues.purge(self.name)

    def _overlay(self, overlay: QueueOverlay) -> bool:
        return self._app.store.queues.set_overlay(self.name, overlay)

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
