"""One run, as a test wants to see it: what was called, when, and how it ended."""

from datetime import datetime
from typing import Any

import msgspec

from holdfast.app.handle import Job
from holdfast.errors import JobFailed, RunControl
from holdfast.model.verdict import Outcome, Verdict
from holdfast.run.evidence import summary


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """A run that has ended. Its times are those of the store's clock.

    `result` is what the task returned and `error` what it raised, as objects, with nothing between. Both are None, and
    `args` empty, if the task was never called: a job that was parked. `outcome` says what the error meant to the job:
    `done`, `retry`, `failed`, `snoozed`, `cancelled`, `parked`.
    """

    job: Job[Any]
    task: str
    queue: str
    attempt: int
    at: datetime
    outcome: Outcome
    reason: str | None = None
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}
    result: Any = None
    error: BaseException | None = None
    verdict: Verdict

    @property
    def has_ended_badly(self) -> bool:
        """Tell whether the job came to an end, or to rest, without having been done. Cancelling is not bad."""
        return self.outcome in ("failed", "parked")

    @property
    def has_raised(self) -> bool:
        """Tell whether the task raised an error, be it retried or not. Retry, Snooze and Cancel are none."""
        return self.error is not None and not isinstance(self.error, RunControl)

    def exception(self) -> BaseException:
        """Give what to raise for this run: the task's own error, or a JobFailed where the verdict has another cause."""
        where = f"raised in run {self.attempt} of job {self.job.id} ({self.task})"
        told = self.verdict.error or self.reason or self.outcome
        if self.error is not None and not isinstance(self.error, RunControl) and summary(self.error) == told:
            self.error.add_note(where)
            return self.error
        trouble = JobFailed(f"job {self.job.id} ({self.task}) {_WORDS[self.outcome]}: {told}", self.reason)
        trouble.__cause__ = self.error
        return trouble


_WORDS = {"parked": "was parked", "failed": "failed", "retry": "failed, to be retried"}
