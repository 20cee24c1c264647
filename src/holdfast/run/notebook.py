"""Progress on its way to the store: the latest of each run, written in batches, ten times a second at most.

A task may report in its innermost loop; that must cost it a dictionary write, not a commit.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

from holdfast.errors import StoreError
from holdfast.model.claim import Progress
from holdfast.store.protocol import Store

log = logging.getLogger("holdfast.run")

_EVERY_S: Final = 0.1


class Notebook:
    """Collects progress from any thread. `on_note` is told when there is something to write."""

    def __init__(self, store: Store, on_note: Callable[[], None]) -> None:
        self._store = store
        self._on_note = on_note
        self._lock = threading.Lock()
        self._notes: dict[str, Progress] = {}
        self._due = 0.0

    def put(self, progress: Progress) -> None:
        with self._lock:
            is_first = not self._notes
            self._notes[progress.token] = progress
        if is_first:
            self._on_note()

    def due_in(self) -> float | None:
        """Tell in how many seconds to write, None if there is nothing."""
        return max(0.0, self._due - time.monotonic()) if self._notes else None

    def run_once(self, *, is_due: bool = False) -> None:
        """Write what is there, if it is time, or `is_due` says so."""
        if not self._notes or (self.due_in() and not is_due):
            return
        self._due = time.monotonic() + _EVERY_S
        with self._lock:
            notes, self._notes = list(self._notes.values()), {}
        try:
            self._store.note(notes)
        except StoreError as error:
            # Progress is a courtesy: the next one replaces it, and no job hangs on it.
            log.warning("the progress of %d runs was not recorded: %s", len(notes), error)
