"""Keeps a worker's lease alive from a thread of its own, whatever the jobs are doing.

Beats every third of the lease, so that two may fail before it ends. If the store cannot be reached it tries on, faster;
and when the lease is about to end it says so *before* that moment (I12): from then on someone else may run the jobs.

A beat is also how a worker hears what people want of it. Whoever suspects news asks it to `hurry`: the beat is then made
soon, in its own thread, and not in the way of a job that waits to be claimed.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

from holdfast.errors import StoreError
from holdfast.model.worker import WorkerReport
from holdfast.store.protocol import Store

log = logging.getLogger("holdfast.run")

_SHARE: Final = 1 / 3
_BREATH_S: Final = 0.02
"""The least time between two beats, however many hurry it."""
_TRUSTED_SHARE: Final = 0.8
"""How much of the lease is used without a renewal. The rest is for the jobs to stop in."""


def _do_nothing(_seconds: float) -> None:
    """Where nobody asks how long the lease is good, nobody is told."""


class Beater:
    """Beats for one worker id.

    `on_cancelled` gets the tokens of jobs to stop, `on_renewed` for how many seconds the lease can be relied on from now,
    `on_dismissed` is called if the worker is to stop, `on_failed` when a beat renewed nothing, `on_lost` once. `report` is
    what the worker says of itself.
    """

    def __init__(
        self,
        store: Store,
        worker: str,
        lease_s: float,
        *,
        on_cancelled: Callable[[tuple[str, ...]], None],
        on_lost: Callable[[], None],
        on_renewed: Callable[[float], None] = _do_nothing,
        on_dismissed: Callable[[], None] = lambda: None,
        on_failed: Callable[[], None] = lambda: None,
        report: Callable[[], WorkerReport | None] = lambda: None,
    ) -> None:
        self._store = store
        self._worker = worker
        self._lease_s = lease_s
        self._on_cancelled = on_cancelled
        self._on_lost = on_lost
        self._on_renewed = on_renewed
        self._on_dismissed = on_dismissed
        self._on_failed = on_failed
        self._report = report
        self._stopped = threading.Event()
        self._hurried = threading.Event()
        self._renewed = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="holdfast-beats", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop beating. The lease then ends by itself, unless the worker leaves."""
        self._stopped.set()
        self._hurried.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(self._lease_s)

    def hurry(self) -> None:
        """Have the next beat made soon. Returns at once."""
        self._hurried.set()

    def run_once(self) -> bool:
        """Beat once. Return whether the lease lives on, as far as can be known."""
        asked = time.monotonic()  # the lease counts from before the answer, not from after it
        try:
            beat = self._store.beat(self._worker, report=self._report())
        except StoreError as error:
            log.warning("worker %s cannot renew its lease: %s", self._worker, error)
            self._on_failed()
            return self._is_trusted()
        self._renewed = asked
        if beat.is_alive:
            self._on_renewed(self._lease_s * _TRUSTED_SHARE - (time.monotonic() - asked))
        else:
            self._on_failed()
        if beat.cancelled:
            self._on_cancelled(beat.cancelled)
        if beat.must_leave:
            self._on_dismissed()
        return beat.is_alive

    def _run(self) -> None:
        pause = self._lease_s * _SHARE
        while self._rests(pause):
            if not self._safely():
                if not self._stopped.is_set():
                    self._on_lost()
                return
            late = time.monotonic() - self._renewed > self._lease_s * _SHARE
            pause = self._lease_s * (_SHARE / 4 if late else _SHARE)

    def _rests(self, pause_s: float) -> bool:
        """Sleep until the next beat is due, or hurried. Tell whether to go on."""
        if self._hurried.wait(pause_s):
            self._stopped.wait(max(0.0, self._renewed + _BREATH_S - time.monotonic()))
            self._hurried.clear()  # only now: this beat is for all who have hurried it so far
        return not self._stopped.is_set()

    def _safely(self) -> bool:
        try:
            return self.run_once()
        except Exception:  # the top of a thread: if it ended here the lease would end unseen
            log.exception("worker %s failed to beat", self._worker)
            return self._is_trusted()

    def _is_trusted(self) -> bool:
        return time.monotonic() - self._renewed < self._lease_s * _TRUSTED_SHARE
