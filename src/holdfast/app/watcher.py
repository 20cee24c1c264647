"""Waiting for many jobs at once, without a thread for each: one thread per app watches for all coroutines.

A coroutine leaves a future with the id of its job; the thread watches the store for all ids together, and hands each
future the job's record when it has ended. The thread exists while somebody waits.

**A waiter that comes while the thread watches** wakes it, so that the new id is watched too. A wake can be used up by
somebody else who waits on the same store; so the waiter looks again, until the thread has taken its id up.
"""

import threading
from typing import TYPE_CHECKING, Final

from holdfast.errors import StoreClosed
from holdfast.model.job import JobRecord
from holdfast.store.protocol import Store

if TYPE_CHECKING:
    import asyncio

_LONGEST_S: Final = 30.0
_LOOK_AGAIN_S: Final = 0.02


class Watcher:
    """Serves every coroutine of this process that waits for a job."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._waiters: dict[str, list[asyncio.Future[JobRecord | None]]] = {}
        self._watched: frozenset[str] = frozenset()
        self._thread: threading.Thread | None = None
        self._is_stopped = False

    async def wait(self, job_id: str) -> JobRecord | None:
        """Wait until the job is final, and give its record; None if it is gone."""
        import asyncio

        future: asyncio.Future[JobRecord | None] = asyncio.get_running_loop().create_future()
        self._add(job_id, future)
        try:
            while job_id not in self._watched and not future.done():
                self._store.wake()
                await asyncio.wait([future], timeout=_LOOK_AGAIN_S)
            return await future
        finally:
            self._drop(job_id, future)

    def stop(self) -> None:
        """Let everybody who waits know that the store is closed."""
        with self._lock:
            self._is_stopped = True
            thread = self._thread
        self._fail(_closed())
        while thread is not None and thread.is_alive():
            self._rouse()
            thread.join(0.05)

    def _rouse(self) -> None:
        try:
            self._store.wake()
        except StoreClosed:
            return  # closing has ended the watch already

    def _add(self, job_id: str, future: "asyncio.Future[JobRecord | None]") -> None:
        with self._lock:
            if self._is_stopped:
                raise _closed()
            self._waiters.setdefault(job_id, []).append(future)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="holdfast-watcher", daemon=True)
                self._thread.start()

    def _drop(self, job_id: str, future: "asyncio.Future[JobRecord | None]") -> None:
        with self._lock:
            futures = self._waiters.get(job_id, [])
            if future in futures:
                futures.remove(future)
            if not futures:
                self._waiters.pop(job_id, None)

    def _run(self) -> None:
        while ids := self._next_ids():
            try:
                for job_id in self._store.inspector.watch(ids, _LONGEST_S):
                    self._hand_out(job_id, self._store.inspector.get(job_id))
            except Exception as error:  # noqa: BLE001  # the top of a thread: who waits for it would wait for ever
                self._fail(error)  # loud, to each of them; whoever still wants to know asks again

    def _next_ids(self) -> list[str]:
        with self._lock:
            ids = [] if self._is_stopped else list(self._waiters)
            self._watched = frozenset(ids)
            if not ids:
                self._thread = None
            return ids

    def _hand_out(self, job_id: str, record: JobRecord | None) -> None:
        with self._lock:
            futures = self._waiters.pop(job_id, [])
        for future in futures:
            _in_its_loop(future, lambda future: future.set_result(record))

    def _fail(self, error: BaseException) -> None:
        with self._lock:
            futures = [future for each in self._waiters.values() for future in each]
            self._waiters.clear()
        for future in futures:
            _in_its_loop(future, lambda future: future.set_exception(error))


def _closed() -> StoreClosed:
    return StoreClosed("the app was closed while somebody waited for a job; wait before closing")


def _in_its_loop(future: "asyncio.Future[JobRecord | None]", act: "_Act") -> None:
    def settle() -> None:
        if not future.done():
            act(future)

    try:
        future.get_loop().call_soon_threadsafe(settle)
    except RuntimeError:
        return  # the loop is closed: nobody waits any more


if TYPE_CHECKING:
    from collections.abc import Callable

    _Act = Callable[[asyncio.Future[JobRecord | None]], None]
