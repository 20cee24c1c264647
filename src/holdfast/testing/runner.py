"""A worker for tests: takes one job at a time, runs it in the calling thread, settles it, and tells what happened.

Everything is real: the claim comes from the store, its seal is verified, its arguments decoded and fitted, the verdict
settled. Three things differ from a worker's ways, so that a test comes out the same each time. Waits before retries
have no jitter. The lease lasts longer than any test, whatever its clock does. Cancelling is seen at once.

If a run is interrupted (Ctrl-C) its job is handed back, uncharged, and the interrupt passes on.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Final

import msgspec

from holdfast.app.app import Holdfast
from holdfast.errors import LeaseLost
from holdfast.model.claim import Claim, Progress
from holdfast.model.verdict import Verdict, released
from holdfast.policy.moments import as_datetime
from holdfast.run.attempt import arun_attempt, run_attempt
from holdfast.run.bench import Bench
from holdfast.run.hooks import DrainHooks
from holdfast.run.identity import new_worker
from holdfast.run.rotation import Rotation
from holdfast.testing.ran import Ran
from holdfast.testing.watching import WatchedRegistry, Witness

_LEASE_S: Final = 100.0 * 366 * 86_400


class Runner:
    """Runs the jobs of one app, of these queues (None: of all), between entering and leaving."""

    def __init__(self, app: Holdfast, queues: Sequence[str] | None = None, *, shares_loop: bool) -> None:
        self._app = app
        self._store = app.store
        self._queues = queues
        self._rotation = Rotation(self._store, queues)
        self._loop = asyncio.Runner() if shares_loop else None

    def __enter__(self) -> "Runner":
        self._app.load_imports()
        self._app.declare_queues()
        self._bench = self._app.bench(
            report=self._note,
            is_cancelled=self._is_cancelled,
            now_us=self._store.now,
            chance=lambda: 0.0,
            stop_signals=(KeyboardInterrupt,),
        )
        self.hooks = DrainHooks(self._store, self._bench.hooks)
        worker = new_worker(self._bench.registry.names(), self._queues, _LEASE_S)
        self._store.enlist(worker)
        self._worker = worker.id
        return self

    def __exit__(self, *_: object) -> None:
        self._store.leave(self._worker)
        if self._loop is not None:
            self._loop.close()

    def run_next(self) -> Ran | None:
        """Run the best of what is due, or give None if nothing is, and no hook has anything to run."""
        for _ in range(2):  # an empty answer is believed only when the list of queues was fresh
            claims = self._store.claim(self._worker, self._rotation.turn(), 1)
            self._rotation.saw(claims, 1)
            if claims:
                return self._run(claims[0])
        return self.run_next() if self.hooks.run_once() else None

    def run_first(self, queue: str) -> Ran | None:
        """Run the best of what is due in this queue."""
        claims = self._store.claim(self._worker, [queue], 1)
        return self._run(claims[0]) if claims else None

    def _run(self, claim: Claim) -> Ran:
        witness = Witness()
        verdict = self._carry_out(claim, witness)
        for lost in self._store.settle([verdict]):
            raise LeaseLost(f"the verdict on job {lost.id} was refused: {lost.why}")
        return Ran(
            job=self._app.job(claim.id),
            task=claim.task,
            queue=claim.queue,
            attempt=claim.attempt,
            at=as_datetime(claim.claimed_us),
            outcome=verdict.outcome,
            reason=verdict.reason,
            args=witness.args,
            kwargs=witness.kwargs,
            result=witness.result,
            error=witness.error,
            verdict=verdict,
        )

    def _carry_out(self, claim: Claim, witness: Witness) -> Verdict:
        registry = WatchedRegistry(self._bench.registry, witness)
        bench = msgspec.structs.replace(self._bench, registry=registry)
        spec = registry.find(claim.task)
        try:
            if spec is None or spec.kind == "sync":
                return run_attempt(claim, bench)
            return self._carry_out_async(claim, bench)
        except KeyboardInterrupt:
            self._store.settle([released(claim, "interrupted", took_us=1)])
            raise

    def _carry_out_async(self, claim: Claim, bench: Bench) -> Verdict:
        if self._loop is not None:
            return self._loop.run(arun_attempt(claim, bench))
        if is_loop_running():
            return _elsewhere(lambda: run_attempt(claim, bench))
        return run_attempt(claim, bench)

    def _note(self, progress: Progress) -> None:
        self._store.note([progress])

    def _is_cancelled(self, token: str) -> bool:
        return token in self._store.beat(self._worker).cancelled


def is_loop_running() -> bool:
    """Tell whether the calling thread is inside an event loop."""
    return asyncio._get_running_loop() is not None


def _elsewhere(run: Callable[[], Verdict]) -> Verdict:
    """Run in a thread of its own, with this thread's context, and wait: one thread cannot be in two event loops."""
    with ThreadPoolExecutor(1, "holdfast-inline") as thread:
        return thread.submit(copy_context().run, run).result()
