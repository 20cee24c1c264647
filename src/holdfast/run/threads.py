"""Threads that run sync tasks. Started as they are needed; daemons, so that none can hold up the program's end."""

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue

from holdfast.model.claim import Claim
from holdfast.model.verdict import Verdict, crashed
from holdfast.run import evidence
from holdfast.run.attempt import run_attempt
from holdfast.run.bench import Bench


class Threads:
    """Runs claims in up to `most` threads, and gives each verdict to `end`, in the thread it ran in."""

    def __init__(self, bench: Bench, most: int, end: Callable[[Verdict], None]) -> None:
        self._bench = bench
        self._most = most
        self._end = end
        self._claims: SimpleQueue[Claim | None] = SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._threads: list[threading.Thread] = []
        self._at_work: set[threading.Thread] = set()

    def start(self, claim: Claim) -> None:
        """Run a claim as soon as a thread is free. Raises RuntimeError if the system gives not even one."""
        if not self._idle.acquire(blocking=False) and len(self._threads) < self._most:
            self._grow()
        self._claims.put(claim)

    def stop(self) -> None:
        """Let go of the threads. Those at work are left to finish; claims that no thread has begun are dropped."""
        self._drop_unbegun()
        for _ in self._threads:
            self._claims.put(None)
        for thread in self._threads:
            if thread not in self._at_work:
                thread.join(1)  # a moment, in fact; and no hang if it has begun a claim just now

    def _grow(self) -> None:
        thread = threading.Thread(target=self._run, name=f"holdfast-run-{len(self._threads) + 1}", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # the system has no more threads: those that are there take turns
            if not self._threads:
                raise
            return
        self._threads.append(thread)

    def _drop_unbegun(self) -> None:
        while True:
            try:
                self._claims.get_nowait()
            except Empty:
                return

    def _run(self) -> None:
        thread = threading.current_thread()
        while (claim := self._claims.get()) is not None:
            self._at_work.add(thread)
            verdict = self._safely(claim)
            self._at_work.discard(thread)
            self._idle.release()
            self._end(verdict)

    def _safely(self, claim: Claim) -> Verdict:
        try:
            return run_attempt(claim, self._bench)
        except BaseException as error:  # noqa: BLE001  # the top of a thread: a slot must not leak
            return broken(claim, error)


def broken(claim: Claim, error: BaseException) -> Verdict:
    """Give the verdict when Holdfast itself failed. Charged as a crash: not the task's fault, but it must not go on
    for ever.
    """
    return crashed(claim, f"the runner failed: {evidence.summary(error)}", evidence.trace(error))
