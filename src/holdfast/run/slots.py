"""Where claims run: threads for sync tasks, one event loop for async ones, and the count of what is free.

Only the pump starts runs and collects their ends, so the counts need no lock. A slot is given back by collecting its
run's end, and every run has one: whatever happens inside, `_safely` makes a verdict of it (a slot cannot leak).
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from queue import SimpleQueue
from typing import TYPE_CHECKING

import msgspec

from holdfast.model.claim import Claim
from holdfast.model.verdict import Verdict, crashed, released
from holdfast.run import evidence
from holdfast.run.attempt import arun_attempt, run_attempt
from holdfast.run.bench import Bench
from holdfast.run.spec import Kind

if TYPE_CHECKING:
    import asyncio


class Slots:
    """Runs claims in the background. `on_end` is called, in any thread, when a run has ended."""

    def __init__(self, bench: Bench, threads: int, coroutines: int, on_end: Callable[[], None]) -> None:
        self._bench = msgspec.structs.replace(bench, is_cancelled=self.is_told)
        self._sizes: dict[Kind, int] = {"sync": threads, "async": coroutines}
        self._busy: dict[Kind, int] = {"sync": 0, "async": 0}
        self._on_end = on_end
        self._running: dict[str, Claim] = {}
        self._told: set[str] = set()
        self._ended: deque[tuple[Kind, Verdict]] = deque()
        self._threads = _Threads(self._bench, self._end)
        self._loop = _Loop(self._bench, self._end, self.is_told)

    @property
    def free(self) -> int:
        """How many claims could start at once, of whichever kind they turn out to be.

        A claim's kind is known only when it is here, and nothing is taken that would have to wait. So with both kinds
        of task the fuller side decides: give long sync tasks a queue and a worker of their own.
        """
        kinds = self._bench.registry.kinds() or {"sync"}
        return min(self._sizes[kind] - self._busy[kind] for kind in kinds)

    @property
    def running(self) -> list[Claim]:
        return list(self._running.values())

    @property
    def has_ended(self) -> bool:
        """Whether there are ends to collect."""
        return bool(self._ended)

    def start(self, claims: Iterable[Claim]) -> None:
        """Start these runs. There must be room for them."""
        for claim in claims:
            spec = self._bench.registry.find(claim.task)
            kind: Kind = spec.kind if spec else "sync"
            self._busy[kind] += 1
            self._running[claim.token] = claim
            if kind == "sync":
                self._threads.start(claim, self._sizes["sync"])
            else:
                self._loop.start(claim)

    def finished(self) -> list[Verdict]:
        """Collect the runs that have ended, and free their slots."""
        verdicts: list[Verdict] = []
        while self._ended:
            kind, verdict = self._ended.popleft()
            self._busy[kind] -= 1
            self._told.discard(verdict.token)
            verdicts.append(verdict)
        return verdicts

    def tell(self, tokens: Sequence[str]) -> None:
        """Tell runs to stop: a coroutine is cancelled, a thread can ask `is_cancelled()`."""
        mine = [token for token in tokens if token in self._running and token not in self._told]
        self._told.update(mine)
        self._loop.cancel(mine)

    def is_told(self, token: str) -> bool:
        return token in self._told

    def give_up(self) -> None:
        """Cancel the coroutines. They end as released; threads cannot be made to end."""
        self._loop.cancel(list(self._running))

    def stop(self) -> None:
        """Let go of threads and loop. What still runs in a thread runs on, for nobody."""
        self._threads.stop()
        self._loop.stop()

    def _end(self, kind: Kind, verdict: Verdict) -> None:
        self._running.pop(verdict.token, None)
        self._ended.append((kind, verdict))
        self._on_end()


_End = Callable[[Kind, Verdict], None]


class _Threads:
    """Threads that run sync tasks. Started as they are needed; daemons, so that none can hold up the program's end."""

    def __init__(self, bench: Bench, end: _End) -> None:
        self._bench = bench
        self._end = end
        self._claims: SimpleQueue[Claim | None] = SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._threads: list[threading.Thread] = []

    def start(self, claim: Claim, most: int) -> None:
        if not self._idle.acquire(blocking=False) and len(self._threads) < most:
            name = f"holdfast-run-{len(self._threads) + 1}"
            thread = threading.Thread(target=self._run, name=name, daemon=True)
            self._threads.append(thread)
            thread.start()
        self._claims.put(claim)

    def stop(self) -> None:
        for _ in self._threads:
            self._claims.put(None)

    def _run(self) -> None:
        while (claim := self._claims.get()) is not None:
            verdict = self._safely(claim)
            self._idle.release()
            self._end("sync", verdict)

    def _safely(self, claim: Claim) -> Verdict:
        try:
            return run_attempt(claim, self._bench)
        except BaseException as error:  # noqa: BLE001  # the top of a thread: a slot must not leak
            return _broken(claim, error)


class _Loop:
    """One event loop in one thread, for all async tasks. Started with the first of them."""

    def __init__(self, bench: Bench, end: _End, is_told: Callable[[str], bool]) -> None:
        self._bench = bench
        self._end = end
        self._is_told = is_told
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def start(self, claim: Claim) -> None:
        loop = self._running_loop()
        loop.call_soon_threadsafe(self._begin, loop, claim)

    def cancel(self, tokens: Sequence[str]) -> None:
        if self._loop is not None and tokens:
            self._loop.call_soon_threadsafe(self._cancel, tokens)

    def stop(self) -> None:
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(5)  # a coroutine that blocks the loop is left behind, in its daemon

    def _running_loop(self) -> "asyncio.AbstractEventLoop":
        import asyncio  # a program without async tasks does not need it

        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._run, name="holdfast-loop", daemon=True)
            self._thread.start()
        return self._loop

    def _run(self) -> None:
        assert self._loop is not None
        try:
            self._loop.run_forever()
            self._loop.run_until_complete(self._wind_down())
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
        finally:
            self._loop.close()

    async def _wind_down(self) -> None:
        """Give cancelled coroutines a second for their `finally` blocks."""
        import asyncio

        left = list(self._tasks.values())
        self._cancel(list(self._tasks))
        if left:
            await asyncio.wait(left, timeout=1)

    def _begin(self, loop: "asyncio.AbstractEventLoop", claim: Claim) -> None:
        self._tasks[claim.token] = loop.create_task(self._carry_out(claim), name=f"holdfast {claim.id}")

    def _cancel(self, tokens: Sequence[str]) -> None:
        for token in tokens:
            if task := self._tasks.get(token):
                task.cancel()

    async def _carry_out(self, claim: Claim) -> None:
        import asyncio

        try:
            verdict = await arun_attempt(claim, self._bench)
        except asyncio.CancelledError:
            verdict = _stopped(claim) if self._is_told(claim.token) else released(claim, "the worker stopped")
        except BaseException as error:  # noqa: BLE001  # a slot must not leak
            verdict = _broken(claim, error)
        self._tasks.pop(claim.token, None)
        self._end("async", verdict)


def _stopped(claim: Claim) -> Verdict:
    return Verdict(claim.id, claim.token, claim.queue, "cancelled", reason="cancelled while it ran")


def _broken(claim: Claim, error: BaseException) -> Verdict:
    """Holdfast itself failed. Charged as a crash: not the task's fault, and yet it must not go on for ever."""
    return crashed(claim, f"the runner failed: {evidence.summary(error)}", evidence.trace(error))
