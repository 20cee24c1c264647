"""What an exception means for the job. Decides; somebody else settles it.

| raised                         | verdict                                                   |
|--------------------------------|-----------------------------------------------------------|
| `Cancel`                       | cancelled                                                 |
| `Snooze`                       | snoozed for so long; costs nothing                        |
| `RateLimited`                  | snoozed for so long, and the lane with it; costs nothing  |
| `Retry`                        | retry after its delay or the task's, while retries last   |
| `TaskTimeout`                  | as any failure, with the reason `timeout`                 |
| anything else, SystemExit too  | retry, if the policy wants it; else failed                |

A control that cannot be obeyed (a senseless delay, a subclass without a reason) is a mistake in the task, and is judged
as the failure it is.
"""

from collections.abc import Callable

import msgspec

from holdfast.errors import Cancel, InvalidInput, RateLimited, Retry, RunControl, Snooze, TaskTimeout
from holdfast.model.claim import Claim
from holdfast.model.verdict import TIMED_OUT, Outcome, Verdict
from holdfast.policy.moments import duration_us, moment_us
from holdfast.policy.retry import RetryPolicy, wait_us, wants_retry
from holdfast.run import evidence


class Rules(msgspec.Struct, frozen=True):
    """By what an exception is judged: the policy of this job, a source of chance, and the store's clock."""

    retry: RetryPolicy
    chance: Callable[[], float]
    now_us: Callable[[], int]


def judge(claim: Claim, error: BaseException, rules: Rules) -> Verdict:
    """Give the verdict on a run that raised."""
    try:
        if isinstance(error, RunControl):
            return _obey(claim, error, rules)
    except Exception as mistake:  # noqa: BLE001  # controls are users' objects
        mistake.__cause__ = error
        error = mistake
    return _weigh(claim, error, rules)


def failed(claim: Claim, reason: str, error: BaseException) -> Verdict:
    """Give the verdict on a run that no retry can help."""
    return _against(claim, error, "failed", reason)


def rate_limited(claim: Claim, retry_after: object, reason: object) -> Verdict:
    """Give the verdict on a run that was told by others to slow down: its whole lane does."""
    wait = duration_us(retry_after, "retry_after of RateLimited")
    return Verdict(claim.id, claim.token, claim.queue, "snoozed", wait, reason=_words(reason), slows_us=wait)


def _obey(claim: Claim, control: RunControl, rules: Rules) -> Verdict:
    if isinstance(control, Cancel):
        return Verdict(claim.id, claim.token, claim.queue, "cancelled", reason=_words(control.reason))
    if isinstance(control, Snooze):
        delay_us = _snoozed_us(control, rules)
        return Verdict(claim.id, claim.token, claim.queue, "snoozed", delay_us, reason=_words(control.reason))
    if isinstance(control, RateLimited):
        return rate_limited(claim, control.retry_after, control.reason)
    if isinstance(control, Retry):
        return _again(claim, control, rules)
    raise InvalidInput(f"{evidence.spelled(control)} is not Retry, Snooze, RateLimited or Cancel: raise one of these")


def _again(claim: Claim, control: Retry, rules: Rules) -> Verdict:
    reason = _words(control.reason)
    wait = None if control.delay is None else duration_us(control.delay, "the delay of Retry")
    if claim.failures >= rules.retry.retries:
        return _against(claim, control, "failed", reason)
    if wait is None:
        wait = wait_us(rules.retry, claim.failures, rules.chance())
    return _against(claim, control, "retry", reason, wait)


def _snoozed_us(control: Snooze, rules: Rules) -> int:
    if (control.delay is None) == (control.until is None):
        raise InvalidInput("expected Snooze to be given either a delay or until=, e.g. Snooze(60)")
    if control.delay is not None:
        return duration_us(control.delay, "the delay of Snooze")
    return max(0, moment_us(control.until, "until of Snooze") - rules.now_us())


def _weigh(claim: Claim, error: BaseException, rules: Rules) -> Verdict:
    reason = TIMED_OUT if isinstance(error, TaskTimeout) else evidence.spelled(error)
    if not wants_retry(rules.retry, error, claim.failures):
        return _against(claim, error, "failed", reason)
    return _against(claim, error, "retry", reason, wait_us(rules.retry, claim.failures, rules.chance()))


def _against(claim: Claim, error: BaseException, outcome: Outcome, reason: str, delay_us: int = 0) -> Verdict:
    return Verdict(
        claim.id,
        claim.token,
        claim.queue,
        outcome,
        delay_us,
        reason=evidence.storable(reason),
        error=evidence.summary(error),
        traceback=evidence.trace(error),
    )


def _words(reason: object) -> str:
    return evidence.storable(str(reason))[: evidence.LONGEST_ERROR]
