"""The judgement on a run that ignored its timeout, so that its process had to be killed: a failure, and only its own."""

import random

from holdfast.errors import DecodingFailed
from holdfast.model.claim import Claim
from holdfast.model.verdict import TIMED_OUT, Verdict
from holdfast.policy.retry import RetryPolicy, wait_us
from holdfast.run.overrides import retry_policy
from holdfast.wire.envelope import open_envelope
from holdfast.worker.messages import TaskInfo

_ERROR = "TaskTimeout: the run did not end when its time was up, and its process was killed"


def judge_overdue(claim: Claim, task: TaskInfo | None, took_us: int) -> Verdict:
    """Judge by the rules of the task and of the call: tried again if retries are left."""
    policy = _policy(claim, task)
    if claim.failures >= policy.retries or (task is not None and task.gives_up_on_timeout):
        return Verdict(claim.id, claim.token, claim.queue, "failed", took_us=took_us, reason=TIMED_OUT, error=_ERROR)
    delay_us = wait_us(policy, claim.failures, random.random())  # noqa: S311  jitter needs no secrecy
    return Verdict(claim.id, claim.token, claim.queue, "retry", delay_us, took_us, reason=TIMED_OUT, error=_ERROR)


def _policy(claim: Claim, task: TaskInfo | None) -> RetryPolicy:
    if task is None:
        return RetryPolicy()
    policy = RetryPolicy(task.retries, task.first_us, task.cap_us, task.factor, task.jitter, task.table_us)
    try:
        return retry_policy(policy, open_envelope(claim.envelope))
    except DecodingFailed:  # it ran, so it could be read; should it not be so, the task's rules stand
        return policy
