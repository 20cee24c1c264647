"""The door to seen-sets."""

from collections.abc import Sequence

from holdfast.model.seen import SeenRecord, Sketch
from holdfast.store.memory.rack import Rack


class MemorySeen:
    """Seen-sets; see `protocol.Seen`."""

    def __init__(self, rack: Rack) -> None:
        self._rack = rack

    def add(
        self, name: str, digests: Sequence[bytes], ttl_us: int | None = None, now_us: int | None = None
    ) -> list[bool]:
        with self._rack.step():
            shelf = self._rack.shelf(name)
            with self._rack.hold(shelf, now_us) as now:
                return [shelf.seen.add(digest, ttl_us, now) for digest in digests]

    def has(self, name: str, digests: Sequence[bytes], now_us: int | None = None) -> list[bool]:
        with self._rack.step():
            shelf = self._rack.find(name)
            if shelf is None:
                return [False] * len(digests)
            with self._rack.hold(shelf, now_us) as now:
                return [shelf.seen.has(digest, now) for digest in digests]

    def discard(self, name: str, digests: Sequence[bytes], now_us: int | None = None) -> list[bool]:
        with self._rack.step():
            shelf = self._rack.find(name)
            if shelf is None:
                return [False] * len(digests)
            with self._rack.hold(shelf, now_us) as now:
                return [shelf.seen.discard(digest, now) for digest in digests]

    def clear(self, name: str) -> int:
        with self._rack.step():
            shelf = self._rack.find(name)
            if shelf is None:
                return 0
            with self._rack.hold(shelf, None):
                return shelf.seen.clear()

    def shape(self, name: str, sketch: Sketch | None = None) -> Sketch | None:
        with self._rack.step():
            if sketch is None and self._rack.find(name) is None:
                return None
            shelf = self._rack.shelf(name)
            with self._rack.hold(shelf, None):
                if sketch is not None and len(shelf.seen) == 0 and shelf.seen.sketch is None:
                    shelf.seen.sketch = sketch
                return shelf.seen.sketch

    def get(self, name: str, now_us: int | None = None) -> SeenRecord:
        with self._rack.step():
            shelf = self._rack.find(name)
            if shelf is None:
                return SeenRecord(name, 0)
            with self._rack.hold(shelf, now_us) as now:
                return SeenRecord(name, shelf.seen.count(now), shelf.seen.sketch)
