"""Enqueue, and it has run: every job is carried out in the caller's thread before `enqueue` returns.

There is no second way to run a job here. The app gets a store that passes everything on to a memory store, and after
each push claims what was pushed, runs it and settles it: arguments are packed, signed, stored, verified, unpacked and
fitted as they are between two machines. So what would not survive that journey fails in the test.

    enqueue_many    runs the first before the second is stored
    a task enqueues its job runs inside the task's own run, as a call would
    async tasks     get an event loop of their own; in a thread of its own, if the caller is inside a loop
    delayed jobs    stay in the queue, unless asked for; `drain` runs them
    retry, snooze   likewise
    paused queues   keep their jobs
    drained queues  have their hooks run, as soon as nothing of them is left

What stands before the new job in its queue, from before the block or by a delay that is over, is run first: a queue
keeps its order.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Final, cast

import msgspec

from holdfast.app.app import Holdfast
from holdfast.errors import HoldfastError
from holdfast.model.job import NewJob, Pushed
from holdfast.store.protocol import Store
from holdfast.testing.ran import Ran
from holdfast.testing.runner import Runner

_MOST_RUNS: Final = 10_000


@contextmanager
def inline(app: Holdfast, *, raise_errors: bool = True, run_delayed: bool = False) -> Iterator[list[Ran]]:
    """Run every job at once when it is enqueued, and give the list to which its runs are added as they end.

    What the task raises is raised by `enqueue`, retries or not, after the job was settled; Retry, Snooze and Cancel
    are not errors. With `raise_errors=False` it is kept in the job, as a worker would. `run_delayed=True` runs jobs
    at once that were to wait.

    An app that is on a memory store (the fixture `holdfast_app`, `isolated`) stays on it. Any other is put on a fresh
    one for the block: no test runs jobs of the store that the app is configured for.
    """
    ran: list[Ran] = []
    with ExitStack() as stack:
        if not app.url.startswith("memory:"):
            stack.enter_context(app.override(url="memory://", clock=app.clock))
        store = app.store
        runner = stack.enter_context(Runner(app, shares_loop=False))
        stack.enter_context(app.override(url=app.url, clock=app.clock))
        app.attach(cast("Store", InlineStore(store, _Performer(store, runner, ran, raise_errors), run_delayed)))
        yield ran


class InlineStore:
    """A store that hands every due job it is given to `perform`. All but `push` is the store's own."""

    def __init__(self, store: Store, perform: Callable[[NewJob], None], run_delayed: bool) -> None:
        self._store = store
        self._perform = perform
        self._run_delayed = run_delayed

    def push(self, jobs: Sequence[NewJob], now_us: int | None = None) -> list[Pushed]:
        """Store and perform the jobs one by one: what each enqueues comes before the next."""
        answers: list[Pushed] = []
        for job in jobs:
            if self._run_delayed:  # what was signed still says when the caller wanted it
                job = msgspec.structs.replace(job, delay_us=0, at_us=None)
            answers += self._store.push([job], now_us)
            if answers[-1].decision == "created":
                self._perform(job)
        return answers

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


class _Performer:
    """Runs one job that was just pushed, until it is over or has to wait."""

    def __init__(self, store: Store, runner: Runner, ran: list[Ran], raise_errors: bool) -> None:
        self._store = store
        self._runner = runner
        self._ran = ran
        self._raise_errors = raise_errors

    def __call__(self, job: NewJob) -> None:
        self._perform(job)
        for hook in self._runner.hooks.run_once():
            self(hook)

    def _perform(self, job: NewJob) -> None:
        for _ in range(_MOST_RUNS):
            one = self._runner.run_first(job.queue) if self._is_ready(job) else None
            if one is None:
                return
            self._ran.append(one)
            # The errors of others, which were in the queue before, are not the caller's.
            if self._raise_errors and one.job.id == job.id and (one.has_raised or one.has_ended_badly):
                raise one.exception()
        raise HoldfastError(
            f"job {job.id} ({job.task}) has not come to an end in {_MOST_RUNS:,} runs made inline: "
            "it, or one before it in its queue, is retried or snoozed without a wait"
        )

    def _is_ready(self, job: NewJob) -> bool:
        record = self._store.inspector.get(job.id)
        return record is not None and record.state == "ready"
