"""A job as its caller holds it: an id, and the questions that can be asked about it.

A handle keeps nothing: every question is put to the store. Every blocking one has a twin that begins with `a` and does
not block the event loop; however many coroutines wait for results, one thread watches for all of them.
"""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar, cast

from holdfast.app.blocking import refuse_inside_a_loop
from holdfast.app.outcome import is_over, value_of
from holdfast.errors import JobNotFound, ResultTimeout
from holdfast.model.job import Decision, JobRecord
from holdfast.model.run import Run
from holdfast.model.states import State
from holdfast.policy.moments import SECOND, duration_us

if TYPE_CHECKING:
    from holdfast.app.app import Holdfast

R = TypeVar("R")
V = TypeVar("V")

_LONGEST_WATCH_S: Final = 60.0


class HowFar(NamedTuple):
    """What a job has told of its progress."""

    fraction: float | None
    note: str | None


class Job(Generic[R]):
    """A job in the store. `decision` says what became of the push, `reason` why; both are None for `app.job(id)`."""

    __slots__ = ("_app", "decision", "id", "reason")

    def __init__(
        self, app: "Holdfast", job_id: str, decision: Decision | None = None, reason: str | None = None
    ) -> None:
        self._app = app
        self.id = job_id
        self.decision = decision
        self.reason = reason

    # --- questions ----------------------------------------------------------------------------------------

    def record(self) -> JobRecord:
        """Give all that the store knows of the job now. Raises JobNotFound."""
        record = self._get()
        if record is None:
            raise JobNotFound(f"no job {self.id} is in the store: never enqueued, or past its retention")
        return record

    def state(self) -> State:
        """Tell the state the job is in now."""
        return self.record().state

    def progress(self) -> HowFar:
        """Tell how far the job has come, as its task tells it."""
        record = self.record()
        return HowFar(record.progress, record.progress_note)

    def history(self) -> list[Run]:
        """List the finished runs that are kept of the job, oldest first."""
        return self._app.store.inspector.history(self.id)

    def result(self, timeout: Any = None) -> R:
        """Wait for the end and give the result. Without a timeout it waits for ever.

        Raises JobFailed (with the remote traceback), JobCancelled, JobExpired, JobNotFound, ResultGone, ResultTimeout.
        """
        return self._value(self._wait(timeout))

    def wait(self, timeout: Any = None) -> bool:
        """Wait for the end. Return whether it came before the timeout."""
        try:
            self._wait(timeout)
        except ResultTimeout:
            return False
        return True

    def cancel(self) -> bool:
        """Cancel the job: it never starts, or its run is told to stop. Return False if it had ended already."""
        return self._app.store.operator.cancel([self.id])[self.id] in ("cancelled", "asked")

    # --- the same, awaited --------------------------------------------------------------------------------

    async def arecord(self) -> JobRecord:
        return await _off_loop(self.record)

    async def astate(self) -> State:
        return await _off_loop(self.state)

    async def aprogress(self) -> HowFar:
        return await _off_loop(self.progress)

    async def ahistory(self) -> list[Run]:
        return await _off_loop(self.history)

    async def acancel(self) -> bool:
        return await _off_loop(self.cancel)

    async def aresult(self, timeout: Any = None) -> R:
        """As `result`, without blocking the event loop."""
        return self._value(await self._await(timeout))

    async def await_(self, timeout: Any = None) -> bool:
        """As `wait`, without blocking the event loop."""
        try:
            await self._await(timeout)
        except ResultTimeout:
            return False
        return True

    # --- inside -------------------------------------------------------------------------------------------

    def _get(self) -> JobRecord | None:
        return self._app.store.inspector.get(self.id)

    def _value(self, record: JobRecord | None) -> R:
        connection = self._app.connection()
        now_us = connection.store.now()
        return cast("R", value_of(self.id, record, now_us, self._app.codec(), connection.ring))

    def _wait(self, timeout: object) -> JobRecord | None:
        seconds = None if timeout is None else duration_us(timeout, "timeout") / SECOND
        deadline = None if seconds is None else time.monotonic() + seconds
        inspector = self._app.store.inspector
        while not is_over(record := self._get()):
            left = _LONGEST_WATCH_S if deadline is None else deadline - time.monotonic()
            if left <= 0:
                raise self._late(timeout, record)
            refuse_inside_a_loop("waiting for a job", "await job.aresult() or job.await_()")
            inspector.watch([self.id], min(left, _LONGEST_WATCH_S))
        return record

    async def _await(self, timeout: object) -> JobRecord | None:
        import asyncio

        seconds = None if timeout is None else duration_us(timeout, "timeout") / SECOND
        try:
            async with asyncio.timeout(seconds) as timer:
                return await self._app.connection().watcher.wait(self.id)
        except TimeoutError:
            if not timer.expired():
                raise
        record = await _off_loop(self._get)  # it may have ended at the last moment, or long before a timeout of 0
        if is_over(record):
            return record
        raise self._late(timeout, record)

    def _late(self, timeout: object, record: JobRecord | None) -> ResultTimeout:
        state = "unknown" if record is None else record.state
        why = f" ({record.reason})" if record is not None and record.state == "parked" else ""
        return ResultTimeout(
            f"job {self.id} had not ended after {_shown(timeout)}: it is {state}{why}, and goes on. "
            "Ask again, or see that a worker runs"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Job) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"<Job {self.id}{f' {self.decision}' if self.decision else ''}>"


def _shown(timeout: object) -> str:
    return f"{duration_us(timeout, 'timeout') / SECOND:g} s"


async def _off_loop(ask: Callable[[], V]) -> V:
    """Ask in a thread: short questions, so the default pool is the right place."""
    import asyncio

    return await asyncio.to_thread(ask)
