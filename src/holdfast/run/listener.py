"""Hears of new work, from a thread of its own, when asked to.

The pump must wake for two things: work in the store, and runs that end here. One thread cannot wait for both without
polling, and a `wake` may be used up by somebody else who waits on the same store. So this thread waits on the store,
and the pump on one event that both set.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

from holdfast.errors import StoreClosed, StoreError
from holdfast.run import evidence
from holdfast.store.protocol import Store

log = logging.getLogger("holdfast.run")

_LONGEST_S: Final = 30.0
_HASTY_S: Final = 0.001
_LONGEST_NAP_S: Final = 0.05


class Listener:
    """Calls `on_work` once after each `listen()`, as soon as there may be something to claim."""

    def __init__(self, store: Store, queues: Sequence[str] | None, on_work: Callable[[], None]) -> None:
        self._store = store
        self._queues = queues
        self._on_work = on_work
        self._asked = threading.Event()
        self._is_stopping = False
        self._in_vain = 0
        self._thread = threading.Thread(target=self._run, name="holdfast-listener", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def listen(self) -> None:
        """Ask to be told. Asking twice is asking once."""
        self._asked.set()

    def stop(self) -> None:
        self._is_stopping = True
        self._asked.set()
        while self._thread.is_alive():
            self._rouse()
            self._thread.join(0.05)

    def _rouse(self) -> None:
        try:
            self._store.wake()
        except StoreClosed:
            return  # closing has ended the wait already

    def _run(self) -> None:
        while self._asked.wait() and not self._is_stopping:
            self._asked.clear()  # before the wait: a `stop` that comes during it must still be seen
            began = time.monotonic()
            self._wait()
            # A wait that ends at once, again and again, is a store that sees work nobody can claim: do not spin on it.
            self._in_vain = self._in_vain + 1 if time.monotonic() - began < _HASTY_S else 0
            if self._in_vain > 2:
                time.sleep(min(_HASTY_S * 2 ** min(self._in_vain, 10), _LONGEST_NAP_S))
            self._on_work()

    def worked(self) -> None:
        """Learn that what was heard of was there: the next wait may end at once."""
        self._in_vain = 0

    def _wait(self) -> None:
        try:
            self._store.wait(self._queues, _LONGEST_S)
        except StoreError as error:
            self._nap("waiting for work failed: %s", error)
        except Exception as error:  # noqa: BLE001  # the top of a thread: if it ended here nobody would hear of work
            self._nap("waiting for work failed: %s", evidence.trace(error))

    def _nap(self, words: str, *facts: object) -> None:
        if not self._is_stopping:
            log.warning(words, *facts)
            time.sleep(_LONGEST_NAP_S)
