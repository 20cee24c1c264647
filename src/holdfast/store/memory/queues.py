"""The door to queues: policy, pause, purge, lanes."""

from collections.abc import Iterable
from typing import Final

from holdfast.model.queue import Drained, LaneRecord, QueueOverlay, QueuePolicy, QueueRecord
from holdfast.model.states import State
from holdfast.policy.flow import look_for_drain, tell_of_drain
from holdfast.policy.overlay import overlaid
from holdfast.store.memory.rack import Rack
from holdfast.store.memory.shelf import Shelf

_PURGED: Final[frozenset[State]] = frozenset({"waiting", "scheduled", "ready", "parked", "spilled"})


class MemoryQueues:
    """Queues and their policies; see `protocol.Queues`."""

    def __init__(self, rack: Rack) -> None:
        self._rack = rack

    def names(self) -> list[str]:
        with self._rack.step():
            return sorted(shelf.name for shelf in self._rack.shelves())

    def set_policy(self, name: str, policy: QueuePolicy) -> bool:
        with self._rack.step():
            is_new = self._rack.find(name) is None
            shelf = self._rack.shelf(name)
            with self._rack.hold(shelf, None):
                has_changed, shelf.declared = shelf.declared != policy, policy
                _put_in_force(shelf)
                return is_new or has_changed

    def set_overlay(self, name: str, overlay: QueueOverlay) -> bool:
        with self._rack.step():
            shelf = self._rack.shelf(name)
            with self._rack.hold(shelf, None):
                has_changed, shelf.overlay = shelf.overlay != overlay, overlay
                _put_in_force(shelf)
                return has_changed

    def get(self, name: str, now_us: int | None = None) -> QueueRecord | None:
        with self._rack.step():
            shelf = self._rack.find(name)
            if shelf is None:
                return None
            with self._rack.hold(shelf, now_us) as now:
                return _recorded(shelf, now)

    def pause(self, name: str, lane: str | None = None) -> bool:
        with self._rack.step():
            shelf = self._rack.shelf(name)  # a queue may be paused before its first job
            return self._set_paused(shelf, True) if lane is None else self._pause_lane(shelf, lane)

    def resume(self, name: str, lane: str | None = None) -> bool:
        with self._rack.step():
            shelf = self._rack.find(name)
            if shelf is None:
                return False
            with self._rack.hold(shelf, None) as now:
                if lane is not None:
                    return lane in shelf.round.lanes and shelf.round.release(lane, now)
                was_held = shelf.round.release_all(now)
                return self._set_paused(shelf, False) or was_held

    def lanes(self, name: str, now_us: int | None = None) -> list[LaneRecord]:
        with self._rack.step():
            shelf = self._rack.find(name)
            if shelf is None:
                return []
            with self._rack.hold(shelf, now_us) as now:
                return shelf.round.records(now)

    def find_drained(self, names: Iterable[str]) -> list[Drained]:
        found: list[Drained] = []
        with self._rack.step():
            for shelf in self._rack.shelves(dict.fromkeys(names)):
                with self._rack.hold(shelf, None):
                    number = _look_for_drain(shelf)
                found += [] if number is None else [Drained(shelf.name, number)]
        return found

    def tell_drained(self, name: str, number: int) -> None:
        with self._rack.step():
            shelf = self._rack.find(name)
            if shelf is not None:
                with self._rack.hold(shelf, None):
                    tell_of_drain(shelf.round.flow, number)

    def purge(self, name: str, now_us: int | None = None) -> int:
        with self._rack.step():
            shelf = self._rack.find(name)
            if shelf is None:
                return 0
            with self._rack.hold(shelf, now_us):
                doomed = [entry for entry in shelf.entries.values() if entry.state in _PURGED]
                for entry in doomed:
                    self._rack.drop(shelf, entry)
                return len(doomed)

    def _set_paused(self, shelf: Shelf, is_paused: bool) -> bool:
        with self._rack.hold(shelf, None):
            has_changed = shelf.is_paused != is_paused
            shelf.is_paused = is_paused
            return has_changed

    def _pause_lane(self, shelf: Shelf, name: str) -> bool:
        with self._rack.hold(shelf, None):
            return shelf.round.pause(name)


def _put_in_force(shelf: Shelf) -> None:
    policy = overlaid(shelf.declared, shelf.overlay)
    if shelf.policy != policy:
        shelf.reorder(policy)


def _look_for_drain(shelf: Shelf) -> int | None:
    if not shelf.policy.tells_drained:
        return None
    has_open = shelf.size + shelf.counts["spilled"] > 0
    return look_for_drain(shelf.round.flow, has_running=shelf.counts["running"] > 0, has_open=has_open)


def _recorded(shelf: Shelf, now_us: int) -> QueueRecord:
    """Give the queue as a reader may see it now. O(ready + scheduled): jobs that are due count as ready."""
    dues = [rank[0] for rank, _ in shelf.scheduled]
    late = [due for due in dues if due <= now_us]
    counts = dict(shelf.counts)
    counts["scheduled"] = counts.get("scheduled", 0) - len(late)
    counts["ready"] = counts.get("ready", 0) + len(late)
    standing, until_us = shelf.round.standing(now_us)
    return QueueRecord(
        name=shelf.name,
        policy=shelf.policy,
        is_paused=shelf.is_paused,
        counts={state: number for state, number in counts.items() if number},
        oldest_ready_us=min([*shelf.ready_dues(), *late], default=None),
        next_due_us=min((due for due in dues if due > now_us), default=None),
        standing=standing,
        until_us=until_us,
        overlay=shelf.overlay,
        refused=shelf.refused,
        drains=shelf.round.flow.drains,
    )
