"""Where claims run: threads for sync tasks, one event loop for async ones, and the count of what is free.

Only the pump starts runs and collects their ends, so the counts need no lock. A slot is given back by collecting its
run's end, and every run has one: whatever happens inside, it becomes a verdict (a slot cannot leak).
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial

import msgspec

from holdfast.model.claim import Claim
from holdfast.model.verdict import Verdict, released
from holdfast.policy.moments import SECOND
from holdfast.run.bench import Bench
from holdfast.run.loop import Loop
from holdfast.run.notices import Notices
from holdfast.run.spec import Kind
from holdfast.run.threads import Threads


class Slots:
    """Runs claims in the background. `on_end` is called, in any thread, when a run has ended."""

    def __init__(self, bench: Bench, threads: int, coroutines: int, on_end: Callable[[], None]) -> None:
        self._notices = Notices()
        self._bench = msgspec.structs.replace(bench, is_cancelled=self._notices.is_told)
        self._sizes: dict[Kind, int] = {"sync": threads, "async": coroutines}
        self._busy: dict[Kind, int] = {"sync": 0, "async": 0}
        self._on_end = on_end
        self._running: dict[str, tuple[Claim, float]] = {}
        self._ended: deque[tuple[Kind, Verdict]] = deque()
        self._threads = Threads(self._bench, threads, partial(self._end, "sync"))
        self._loop = Loop(self._bench, self._notices, partial(self._end, "async"))

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
        return [claim for claim, _ in self._running.values()]

    def hand_back(self, claim: Claim) -> Verdict:
        """Give the verdict by which a run that does not end is handed back."""
        _, began = self._running.get(claim.token, (claim, time.monotonic()))
        return released(claim, "the worker stopped", took_us=_since_us(began))

    @property
    def has_ended(self) -> bool:
        """Whether there are ends to collect."""
        return bool(self._ended)

    def start(self, claims: Iterable[Claim]) -> None:
        """Start these runs. There must be room for them. Those that cannot be started end as released."""
        trouble: RuntimeError | None = None
        for claim in claims:
            spec = self._bench.registry.find(claim.task)
            kind: Kind = spec.kind if spec else "sync"
            self._busy[kind] += 1
            self._running[claim.token] = (claim, time.monotonic())
            try:
                self._start(kind, claim)
            except RuntimeError as error:  # the system gives no thread
                self._end(kind, released(claim, "the worker could not start it"))
                trouble = error
        if trouble is not None:
            raise trouble

    def finished(self) -> list[Verdict]:
        """Collect the runs that have ended, and free their slots."""
        verdicts: list[Verdict] = []
        while self._ended:
            kind, verdict = self._ended.popleft()
            self._busy[kind] -= 1
            verdicts.append(self._notices.file(verdict))
        return verdicts

    def cancel(self, tokens: Sequence[str]) -> None:
        """Tell runs that their jobs were cancelled: a coroutine is cancelled, a thread can ask `is_cancelled()`."""
        mine = [token for token in tokens if token in self._running and not self._notices.is_cancelled(token)]
        self._notices.cancel(mine)
        self._loop.cancel(mine)

    def disown(self) -> None:
        """Tell all runs that they no longer count."""
        mine = list(self._running)
        self._notices.void(mine)
        self._loop.cancel(mine)

    def give_up(self) -> None:
        """Cancel the coroutines. They end as released; threads cannot be made to end."""
        self._loop.cancel(list(self._running))

    def stop(self) -> None:
        """Let go of threads and loop. What still runs in a thread runs on, for nobody."""
        self._threads.stop()
        self._loop.stop()

    def _start(self, kind: Kind, claim: Claim) -> None:
        if kind == "sync":
            self._threads.start(claim)
        else:
            self._loop.start(claim)

    def _end(self, kind: Kind, verdict: Verdict) -> None:
        # In this order: whoever looks in between finds the run in both places, never in none.
        self._ended.append((kind, verdict))
        self._running.pop(verdict.token, None)
        self._on_end()


def _since_us(began: float) -> int:
    return max(1, round((time.monotonic() - began) * SECOND))
