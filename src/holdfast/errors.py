"""Everything Holdfast raises, as one tree.

    HoldfastError
    ├── InvalidInput (also a ValueError)      refused before anything was stored
    │   ├── UnknownOption                     a misspelt option; the nearest known name is suggested
    │   ├── InvalidName                       a queue, task, tag or namespace with odd characters
    │   ├── ArgumentMismatch (also TypeError) the arguments do not fit the task's signature
    │   ├── NotEncodable                      a value that would not arrive as it was sent
    │   └── PayloadTooLarge
    ├── DeclarationError                      a task or app that is declared wrongly
    │   ├── DuplicateTask
    │   ├── UnknownTask
    │   ├── NotIncluded                       a TaskSet's task was enqueued before an app included the set
    │   └── ShapeMismatch                     a seen-set is there already, in another shape than was asked for
    ├── Refused                               the store said no to a push, and stored nothing
    │   ├── DuplicateJob
    │   └── QueueFull
    ├── NoResult                              why `job.result()` has no value to give
    │   ├── JobFailed · JobCancelled · JobExpired · JobNotFound · ResultGone · ResultTimeout
    ├── StoreError                            the store could not do what it was asked
    │   ├── StoreUnavailable                  cannot be opened or reached (now)
    │   ├── StoreUnsafe                       opening it would break a promise: network file system, tier not met
    │   ├── SchemaTooNew                      written by a newer Holdfast than this one
    │   └── StoreClosed
    ├── LeaseLost                             this worker's lease ended; its writes are refused
    ├── SealBroken                            a signature is missing, wrong, or by a revoked key
    ├── DecodingFailed                        stored bytes that cannot be read back
    └── TaskTimeout                           raised inside a task that overran its `timeout`

    RunControl                                not errors: a task raises these to say how its run ends
    ├── Retry · Snooze · RateLimited · Cancel

Every message says what happened, with the facts, and what to do about it.
Every error survives pickling: all arguments go to `super().__init__`.
"""

from datetime import datetime, timedelta


class HoldfastError(Exception):
    """The base of every error that Holdfast raises."""


class InvalidInput(HoldfastError, ValueError):
    """A value was refused before anything was stored."""


class UnknownOption(InvalidInput, TypeError):
    """An option that does not exist was given."""


class InvalidName(InvalidInput):
    """A name does not follow the grammar of names."""


class ArgumentMismatch(InvalidInput, TypeError):
    """The arguments do not fit the task's signature or annotations."""


class NotEncodable(InvalidInput, TypeError):
    """A value would not arrive as it was sent."""


class PayloadTooLarge(InvalidInput):
    """The encoded arguments or result exceed the size limit."""


class DeclarationError(HoldfastError):
    """A task or an app is declared in a way that cannot work."""


class DuplicateTask(DeclarationError):
    """Two tasks claim one name."""


class UnknownTask(DeclarationError):
    """No task of that name is known to this app."""


class NotIncluded(DeclarationError):
    """A TaskSet's task was used before an app included the set."""


class ShapeMismatch(DeclarationError):
    """A seen-set is there already, in another shape than was asked for."""


class Refused(HoldfastError):
    """The store refused a push and stored nothing."""


class DuplicateJob(Refused):
    """A job with this id or key is there already."""


class QueueFull(Refused):
    """The queue has reached its bound."""


class NoResult(HoldfastError):
    """`job.result()` has no value to give; the subclass says why."""


class JobFailed(NoResult):
    """The job ended as failed.

    `remote_traceback` is the text of the traceback in the worker, `reason` the store's word for the cause.
    """

    def __init__(self, message: str, reason: str | None = None, remote_traceback: str | None = None) -> None:
        super().__init__(message, reason, remote_traceback)
        self.message = message
        self.reason = reason
        self.remote_traceback = remote_traceback

    def __str__(self) -> str:
        if not self.remote_traceback:
            return self.message
        return f"{self.message}\n\n--- in the worker ---\n{self.remote_traceback}"


class JobCancelled(NoResult):
    """The job was cancelled."""


class JobExpired(NoResult):
    """The job was not started before it expired."""


class JobNotFound(NoResult):
    """No job of this id is in the store: never enqueued, or past its retention."""


class ResultGone(NoResult):
    """The job succeeded, and its result has outlived its time to live."""


class ResultTimeout(NoResult, TimeoutError):
    """The job had not ended when the timeout passed."""


class StoreError(HoldfastError):
    """The store could not do what it was asked. Nothing was half done."""


class StoreUnavailable(StoreError):
    """The store cannot be opened or reached now."""


class StoreUnsafe(StoreError):
    """The store could be opened, but not with the guarantees that were asked for."""


class SchemaTooNew(StoreError):
    """The store was written by a newer version of Holdfast."""


class StoreClosed(StoreError):
    """The store was closed while or before it was used."""


class LeaseLost(HoldfastError):
    """The worker's lease has ended: whatever it still writes is refused."""


class SealBroken(HoldfastError):
    """What is stored is not what a key holder signed."""


class DecodingFailed(HoldfastError):
    """Stored bytes cannot be read back."""


class TaskTimeout(HoldfastError, TimeoutError):
    """Raised inside a task that has overrun its `timeout`."""


class RunControl(Exception):
    """Raised by a task to say how its run ends. Not an error."""


class Retry(RunControl):
    """End this run as a failure and try again, after `delay` (or the task's own back-off).

    It counts against the task's `retries`; when they are used up the job fails with `reason`.
    """

    def __init__(self, reason: str = "the task asked for a retry", *, delay: float | timedelta | None = None) -> None:
        super().__init__(reason, delay)
        self.reason = reason
        self.delay = delay

    def __reduce__(self) -> tuple[object, ...]:
        return _remake, (type(self), self.reason, {"delay": self.delay})


class Snooze(RunControl):
    """End this run without judging it and run the job again later. Costs no retry."""

    def __init__(
        self,
        delay: float | timedelta | None = None,
        *,
        until: datetime | None = None,
        reason: str = "snoozed",
    ) -> None:
        super().__init__(delay, until, reason)
        self.delay = delay
        self.until = until
        self.reason = reason

    def __reduce__(self) -> tuple[object, ...]:
        return _remake, (type(self), self.delay, {"until": self.until, "reason": self.reason})


class RateLimited(RunControl):
    """End this run without judging it, and leave the job's lane (without a lane: its queue) alone for `retry_after`.

    For a task that was told to slow down: nothing of the lane starts until then, on any worker. Costs no retry.
    """

    def __init__(self, retry_after: float | timedelta, *, reason: str = "rate limited") -> None:
        super().__init__(retry_after, reason)
        self.retry_after = retry_after
        self.reason = reason

    def __reduce__(self) -> tuple[object, ...]:
        return _remake, (type(self), self.retry_after, {"reason": self.reason})


class Cancel(RunControl):
    """End the job as cancelled, for good."""

    def __init__(self, reason: str = "the task cancelled itself") -> None:
        super().__init__(reason)
        self.reason = reason


def _remake(kind: type[RunControl], first: object, named: dict[str, object]) -> RunControl:
    return kind(first, **named)
