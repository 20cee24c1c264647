"""Verdicts on their way to the supervisor: sent together, and never kept back for long.

The child sends what it has when it runs out of work. If it is busy with the next run instead, a thread sends what has
been waiting for a few milliseconds. That window bounds what a kill -9 of the child can repeat.
"""

import threading
import time
from typing import Final

from holdfast.model.verdict import Verdict
from holdfast.worker.channel import Channel
from holdfast.worker.messages import Ended

WINDOW_S: Final = 0.004


class Outbox:
    """Collects verdicts of one child."""

    def __init__(self, talk: Channel) -> None:
        self._talk = talk
        self._lock = threading.Lock()
        self._waiting: list[tuple[int, Verdict]] = []
        self._is_filled = threading.Event()
        threading.Thread(target=self._send_late_ones, name="holdfast-outbox", daemon=True).start()

    def put(self, place: int, verdict: Verdict) -> None:
        with self._lock:
            self._waiting.append((place, verdict))
            is_first = len(self._waiting) == 1
        if is_first:
            self._is_filled.set()

    def flush(self) -> None:
        """Send what there is."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
            if waiting:
                self._talk.send(Ended(waiting))

    def _send_late_ones(self) -> None:
        while True:
            self._is_filled.wait()
            self._is_filled.clear()
            time.sleep(WINDOW_S)
            self.flush()
