"""One event loop in a thread of its own, for all async tasks. Started with the first of them.

A task may do to the loop what it likes: raise SystemExit from a background task, leave others behind. The loop goes on
after the one, and cancels the others when it ends.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from holdfast.model.claim import Claim
from holdfast.model.verdict import Verdict, released
from holdfast.policy.moments import SECOND
from holdfast.run.attempt import arun_attempt
from holdfast.run.bench import Bench
from holdfast.run.notices import Notices
from holdfast.run.threads import broken

if TYPE_CHECKING:
    import asyncio

log = logging.getLogger("holdfast.run")


class Loop:
    """Runs claims as coroutines, and gives each verdict to `end`, in the loop's thread."""

    def __init__(self, bench: Bench, notices: Notices, end: Callable[[Verdict], None]) -> None:
        self._bench = bench
        self._notices = notices
        self._end = end
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._is_stopping = False
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def start(self, claim: Claim) -> None:
        """Run a claim. Raises RuntimeError if the system gives no thread for the loop."""
        loop = self._loop or self._open()
        loop.call_soon_threadsafe(self._begin, loop, claim)

    def cancel(self, tokens: Sequence[str]) -> None:
        """Cancel the coroutines of these runs."""
        if self._loop is not None and tokens:
            self._loop.call_soon_threadsafe(self._cancel, tokens)

    def stop(self) -> None:
        """Cancel what is left, close the loop and let go of its thread."""
        if self._loop is not None and self._thread is not None:
            self._is_stopping = True
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(5)  # a coroutine that blocks the loop is left behind, in its daemon

    def _open(self) -> "asyncio.AbstractEventLoop":
        import asyncio  # a program without async tasks does not need it

        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=self._run, args=(loop,), name="holdfast-loop", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            loop.close()
            raise
        self._loop, self._thread = loop, thread
        return loop

    def _run(self, loop: "asyncio.AbstractEventLoop") -> None:
        try:
            while not self._is_stopping:
                self._serve(loop)
            loop.run_until_complete(_wind_down())
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.run_until_complete(loop.shutdown_default_executor())
        finally:
            loop.close()

    def _serve(self, loop: "asyncio.AbstractEventLoop") -> None:
        try:
            loop.run_forever()
        except BaseException:  # SystemExit and KeyboardInterrupt of a background task: the loop serves others too
            log.exception("a task left something behind on the event loop that tried to end it")

    def _begin(self, loop: "asyncio.AbstractEventLoop", claim: Claim) -> None:
        self._tasks[claim.token] = loop.create_task(self._carry_out(claim), name=f"holdfast {claim.id}")

    def _cancel(self, tokens: Sequence[str]) -> None:
        for token in tokens:
            if task := self._tasks.get(token):
                self._notices.is_told(token)  # by being cancelled
                task.cancel()

    async def _carry_out(self, claim: Claim) -> None:
        import asyncio

        began = time.monotonic()
        try:
            verdict = await arun_attempt(claim, self._bench)
        except asyncio.CancelledError:
            verdict = self._cut_short(claim, max(1, round((time.monotonic() - began) * SECOND)))
        except BaseException as error:  # noqa: BLE001  # a slot must not leak
            verdict = broken(claim, error)
        self._tasks.pop(claim.token, None)
        self._end(verdict)

    def _cut_short(self, claim: Claim, took_us: int) -> Verdict:
        if self._notices.is_cancelled(claim.token):
            reason = "cancelled while it ran"
            return Verdict(claim.id, claim.token, claim.queue, "cancelled", took_us=took_us, reason=reason)
        return released(claim, "the worker stopped", took_us)


async def _wind_down() -> None:
    """Cancel all that is left, runs and what runs have left behind; give them a second for their `finally` blocks."""
    import asyncio

    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    if left:
        await asyncio.wait(left, timeout=1)
