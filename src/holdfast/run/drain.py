"""Everything that is due, run in this thread, until nothing is.

One job at a time, settled with the claim of the next: what a job enqueues, cancels or pauses counts for the very next
one, so a drain is as predictable as a loop. Async tasks share one event loop. What is due later is not waited for.
When a queue that has a hook has drained by it, the hook's job is enqueued, and run like any other.

The lease is kept by a thread of its own, as in any worker. An interrupt (Ctrl-C) hands the job back and passes on.
"""

from collections.abc import Sequence
from contextvars import copy_context
from typing import TYPE_CHECKING

import msgspec

from holdfast.errors import LeaseLost
from holdfast.model.claim import Claim, Progress
from holdfast.model.verdict import Lost, Verdict, released
from holdfast.run.attempt import arun_attempt, run_attempt
from holdfast.run.beater import Beater
from holdfast.run.bench import Bench
from holdfast.run.hooks import DrainHooks
from holdfast.run.identity import new_worker
from holdfast.run.notices import Notices
from holdfast.run.rotation import Rotation
from holdfast.store.protocol import Store

if TYPE_CHECKING:
    import asyncio

_LEASE_S = 10.0


def drain(store: Store, bench: Bench, queues: Sequence[str] | None = None, most: int | None = None) -> int:
    """Run what is due in these queues (None: in all), `most` jobs at most. Return how many runs there were."""
    with _Drain(store, bench, queues) as drained:
        return drained.run(most)


class _Drain:
    def __init__(self, store: Store, bench: Bench, queues: Sequence[str] | None) -> None:
        self._store = store
        self._notices = Notices()
        self._token = ""
        self._bench = msgspec.structs.replace(
            bench,
            report=self._note,
            is_cancelled=self._notices.is_told,
            now_us=store.now,
            stop_signals=(KeyboardInterrupt,),
        )
        self._hooks = DrainHooks(store, bench.hooks)
        self._rotation = Rotation(store, queues)
        self._worker = new_worker(bench.registry.names(), queues, _LEASE_S)
        self._runner: asyncio.Runner | None = None
        self._beater = Beater(
            store, self._worker.id, _LEASE_S, on_cancelled=self._notices.cancel, on_lost=self._lose_lease
        )

    def __enter__(self) -> "_Drain":
        self._store.enlist(self._worker)
        self._beater.start()
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._beater.stop()
            self._store.leave(self._worker.id)
        finally:
            if self._runner is not None:
                self._runner.close()

    def run(self, most: int | None) -> int:
        count = 0
        claims = self._claim(None) if most != 0 else []
        while claims or (claims := self._claim_hooked(is_over=count == most)):
            verdict = self._carry_out(claims[0])
            count += 1
            claims = self._claim(verdict) if count != most else self._settle(verdict)
        return count

    def _claim_hooked(self, *, is_over: bool) -> list[Claim]:
        """Enqueue the hooks of queues that have drained, and take the first job that there is to run then."""
        has_more = self._hooks.run_once()
        return self._claim(None) if has_more and not is_over else []

    def _claim(self, verdict: Verdict | None) -> list[Claim]:
        """Settle, and take the next one. An empty answer is believed only when the list of queues was fresh."""
        verdicts = [verdict] if verdict else []
        for _ in range(2):
            queues = self._rotation.turn()
            lost, claims = self._store.exchange(verdicts, self._worker.id, queues, 1)
            self._check(lost)
            self._rotation.saw(claims, 1)
            if claims:
                return claims
            verdicts = []
        # `exchange` says nothing of a lost lease; `claim` does.
        return self._store.claim(self._worker.id, self._rotation.turn(), 1)

    def _settle(self, verdict: Verdict) -> list[Claim]:
        self._check(self._store.settle([verdict]))
        return []

    def _check(self, lost: Sequence[Lost]) -> None:
        for one in lost:
            raise LeaseLost(f"the verdict on job {one.id} was refused: {one.why}. Another worker has it.")

    def _carry_out(self, claim: Claim) -> Verdict:
        self._token = claim.token
        try:
            return self._notices.file(self._attempt(claim))
        except KeyboardInterrupt:
            self._store.settle([released(claim, "interrupted", took_us=1)])
            raise

    def _attempt(self, claim: Claim) -> Verdict:
        spec = self._bench.registry.find(claim.task)
        if spec is None or spec.kind == "sync":
            return run_attempt(claim, self._bench)
        return self._loop().run(arun_attempt(claim, self._bench), context=copy_context())

    def _loop(self) -> "asyncio.Runner":
        import asyncio  # a program without async tasks does not need it

        if self._runner is None:
            self._runner = asyncio.Runner()
        return self._runner

    def _note(self, progress: Progress) -> None:
        self._store.note([progress])

    def _lose_lease(self) -> None:
        """Tell the run under way, from the beater's thread. The next claim raises LeaseLost."""
        self._notices.void([self._token])
