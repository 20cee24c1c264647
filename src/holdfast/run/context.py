"""What a task can ask about its own run: `current_job()`.

The running job is found by a context variable, so every run sees its own: threads, coroutines and whatever a task
starts with a copied context. What leaves it goes out through the two callables that the runner handed in: nothing
here knows a store.
"""

from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

from holdfast.errors import HoldfastError, InvalidInput
from holdfast.model.claim import Claim, Progress
from holdfast.policy.moments import SECOND, duration_us
from holdfast.run.evidence import storable
from holdfast.run.timeouts import Limit

if TYPE_CHECKING:
    import logging

Reporter = Callable[[Progress], None]
"""Takes the progress of a run to wherever it is kept. Must not block for long: the task waits for it."""

CancelCheck = Callable[[str], bool]
"""Tells whether the run with this token should stop: someone cancelled it, or its worker lost the lease."""

_LONGEST_NOTE: Final = 1000


class RunningJob:
    """The job that this code is a run of.

    `id` and `token` together name this very run: an effect that must happen once can be keyed by `id`, a write that
    must be refused from a run that was given up can be fenced by `token`. `attempt` is 1 on the first run.
    """

    __slots__ = ("_claim", "_is_cancelled", "_limit", "_log", "_on_limit", "_report", "task")

    def __init__(
        self,
        claim: Claim,
        task: str,
        *,
        time_limit: Limit,
        report: Reporter,
        is_cancelled: CancelCheck,
        on_limit: Callable[[str, float | None], None],
    ) -> None:
        self._claim = claim
        self._report = report
        self._is_cancelled = is_cancelled
        self._limit = time_limit
        self._on_limit = on_limit
        self._log: logging.LoggerAdapter[logging.Logger] | None = None
        self.task = task

    @property
    def id(self) -> str:
        return self._claim.id

    @property
    def token(self) -> str:
        return self._claim.token

    @property
    def queue(self) -> str:
        return self._claim.queue

    @property
    def attempt(self) -> int:
        return self._claim.attempt

    @property
    def log(self) -> "logging.LoggerAdapter[logging.Logger]":
        """A logger named after the task, whose records carry `job_id`, `task` and `attempt`."""
        if self._log is None:
            import logging  # 8 ms that a task without a log does not need

            extra = {"job_id": self.id, "task": self.task, "attempt": self.attempt}
            self._log = logging.LoggerAdapter(logging.getLogger(f"holdfast.task.{self.task}"), extra)
        return self._log

    def progress(self, fraction: float, note: str | None = None) -> None:
        """Tell how far this run has come: from 0 to 1, with a few words if you like. The latest one is kept."""
        is_number = isinstance(fraction, int | float) and not isinstance(fraction, bool)
        if not is_number or not 0 <= fraction <= 1:
            raise InvalidInput(f"expected progress to be a number from 0 to 1, got: {fraction!r}")
        if note is not None and not isinstance(note, str):
            raise InvalidInput(f"expected the note of a progress to be text, got: {note!r}")
        words = note if note is None else storable(note[:_LONGEST_NOTE])
        self._report(Progress(self.id, self.token, self.queue, float(fraction), words))

    def is_cancelled(self) -> bool:
        """Tell whether to stop: someone cancelled the job, or this run no longer counts. Ask now and then; it is cheap."""
        return self._is_cancelled(self.token)

    def seconds_left(self) -> float | None:
        """Tell how long this run may still take, or None if it has no timeout."""
        return self._limit.seconds_left()

    def extend(self, seconds: object) -> None:
        """Give this run so much more time (seconds or a timedelta) than it was allowed so far."""
        self._limit.extend(duration_us(seconds, "seconds") / SECOND)
        self._on_limit(self.token, self._limit.seconds_left())

    def __repr__(self) -> str:
        return f"<RunningJob {self.id} of {self.task}, attempt {self.attempt}>"


_running: ContextVar[RunningJob] = ContextVar("holdfast_running_job")


def current_job() -> RunningJob:
    """Give the job that the calling code is a run of."""
    job = _running.get(None)
    if job is None:
        raise HoldfastError(
            "current_job() was called outside of a task: no job runs here. "
            "Call it inside a task that a worker runs; a task called as a plain function has no job."
        )
    return job


def running_job() -> RunningJob | None:
    """Give the job that the calling code is a run of, None if it is of none."""
    return _running.get(None)


def enter(job: RunningJob) -> None:
    """Make `job` the running one, for the rest of this context. The runner gives every run a context of its own."""
    _running.set(job)
