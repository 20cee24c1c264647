"""The marks that a worker's threads leave as they go round, for those who watch it.

Leaving a mark never waits for whoever reads it: each moment is written by one thread and read by any.
"""

import threading
import time
from typing import Final

_LEAST_PATIENCE_S: Final = 30.0
_LATELY_S: Final = 5.0


class Vitals:
    """The marks of one worker. Moments are monotonic."""

    def __init__(self, lease_s: float) -> None:
        self.patience_s = max(lease_s, _LEAST_PATIENCE_S)
        self.lately_s = max(lease_s, _LATELY_S)
        self.main_turned = time.monotonic()
        self.keeper_turned: float | None = None
        """None until there is a store thread."""
        self.reached = 0.0
        """When the store last did what the store thread asked."""
        self.is_store_failing = False
        self.is_stopping = False
        self.lease_until = 0.0
        self.worker = ""
        """The id under which the worker is enlisted."""
        self._lock = threading.Lock()
        self.renewals = self.failed_renewals = self.store_errors = 0

    def reach(self) -> None:
        """Mark that the store has just done what it was asked. Called by the store thread."""
        self.reached = self.keeper_turned = time.monotonic()
        self.is_store_failing = False

    def renew(self, seconds: float) -> None:
        """Mark that the lease can be relied on for so long from now."""
        with self._lock:
            self.renewals += 1
        self.lease_until = time.monotonic() + seconds

    def fail_to_renew(self) -> None:
        with self._lock:
            self.failed_renewals += 1

    def fail(self) -> None:
        """Mark that the store could not do what it was asked."""
        with self._lock:
            self.store_errors += 1
