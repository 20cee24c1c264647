"""What the queues of a store hold, read when someone asks, over a connection of its own.

So counting a large backlog holds up no claim and no beat. It is bounded: so many queues, so much time. A store that hangs
costs a page its queues, not its answer.
"""

import threading
import time
from collections.abc import Callable
from typing import Final

import msgspec

from holdfast.errors import StoreError
from holdfast.model.queue import QueueRecord
from holdfast.store.protocol import Store

MOST_QUEUES: Final = 500
_PATIENCE_S: Final = 2.0
_FRESH_S: Final = 1.0
_FRESH_SHARE: Final = 10
"""A reading stays fresh for so many times what it took, so that reading never fills more than a tenth of the time."""


class Reading(msgspec.Struct, frozen=True):
    """The queues at one moment of the store's clock, or that they could not be read."""

    is_good: bool = False
    queues: tuple[QueueRecord, ...] = ()
    now_us: int = 0
    fresh_until: float = 0.0


class Depths:
    """Reads the queues of a store, at most once a second, and never for longer than the asker has patience."""

    def __init__(self, open_store: Callable[[], Store]) -> None:
        self._open = open_store
        self._store: Store | None = None
        self._lock = threading.Lock()
        self._reading = Reading()
        self._reader: threading.Thread | None = None

    def look(self) -> Reading:
        """Give a reading that is fresh, or one without queues if the store does not answer in time."""
        with self._lock:
            if time.monotonic() < self._reading.fresh_until:
                return self._reading
            if self._reader is None or not self._reader.is_alive():
                self._reading = Reading()
                self._reader = threading.Thread(target=self._read, name="holdfast-depths", daemon=True)
                self._reader.start()
            reader = self._reader
        reader.join(_PATIENCE_S)
        return Reading() if reader.is_alive() else self._reading

    def close(self) -> None:
        """Close the store. One that hangs is left to the end of the process."""
        with self._lock:
            if self._reader is not None:
                self._reader.join(_PATIENCE_S)
                if not self._reader.is_alive() and self._store is not None:
                    self._store.close()

    def _read(self) -> None:
        began = time.monotonic()
        try:
            store = self._store = self._store or self._open()
            found = [store.queues.get(name) for name in store.queues.names()[:MOST_QUEUES]]
            good = Reading(is_good=True, queues=tuple(filter(None, found)), now_us=store.now())
        except StoreError:  # the page says so; the store thread logs it
            good = Reading()
        ended = time.monotonic()
        self._reading = msgspec.structs.replace(good, fresh_until=ended + max(_FRESH_S, _FRESH_SHARE * (ended - began)))
