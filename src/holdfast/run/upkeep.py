"""The housework that any worker does for all: rescue the jobs of dead workers, end what expired, drop what is too old, and
enqueue what is to run when a queue has drained.

It runs from a due time, busy or idle, at most every half lease. Any number of workers may do it at once.
"""

import logging
import time

from holdfast.errors import StoreError
from holdfast.run.hooks import DrainHooks
from holdfast.store.protocol import Store

log = logging.getLogger("holdfast.run")


class Upkeep:
    """Does a round of housework whenever one is due."""

    def __init__(self, store: Store, every_s: float, hooks: DrainHooks) -> None:
        self._store = store
        self._hooks = hooks
        self._every_s = every_s
        self._due = time.monotonic()

    def due_in(self) -> float:
        """Tell in how many seconds the next round is due."""
        return max(0.0, self._due - time.monotonic())

    def run_once(self) -> bool:
        """Do one round if it is due. Return whether it changed anything."""
        if self.due_in() > 0:
            return False
        self._due = time.monotonic() + self._every_s
        try:
            rescued = self._store.rescue()
            tidied = self._store.tidy()
            hooked = self._hooks.run_once()  # last: what was rescued or has expired may have been the rest of a queue
        except StoreError as error:
            # Nothing is lost: the next round, here or in any other worker, does the same work.
            log.warning("upkeep was put off: %s", error)
            return False
        for worker in rescued:
            log.warning("worker %s is dead; %d of its jobs were taken from it", worker.worker, len(worker.jobs))
        if tidied.is_more:
            self._due = time.monotonic()
        return bool(rescued or tidied.expired or tidied.pruned or hooked)
