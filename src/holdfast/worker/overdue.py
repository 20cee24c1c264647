"""The judgement on a run that ignored its timeout, so that its process had to be killed: a failure, and only its own."""

import random

from holdfast.errors import DecodingFailed
from holdfast.model.claim import Claim
from holdfast.model.verdict import TIMED_OUT, Verdict, recurring
from holdfast.policy.retry import RetryPolicy, wait_us
from holdfast.run.overrides import again_us, retry_policy
from holdfast.wire.envelope import open_envelope
from holdfast.worker.messages import TaskInfo

_ERROR = "TaskTimeout: the run did not end when its time was up, and its process was killed"


def judge_overdue(claim: Claim, task: TaskInfo | None, took_us: int) -> Verdict:
    """Judge by the rules of the task and of the call: tried again if retries are left."""
    policy, again = _rules(claim, task)
    if claim.failures >= policy.retries or (task is not None and task.gives_up_on_timeout):
        failed = Verdict(claim.id, claim.token, claim.queue, "failed", took_us=took_us, reason=TIMED_OUT, error=_ERROR)
        return recurring(failed, again)
    delay_us = wait_us(policy, claim.failures, random.random())  # noqa: S311  jitter needs no secrecy
    return Verdict(claim.id, claim.token, claim.queue, "retry", delay_us, took_us, reason=TIMED_OUT, error=_ERROR)


def _rules(claim: Claim, task: TaskInfo | None) -> tuple[RetryPolicy, int]:
    if task is None:
        return RetryPolicy(), 0
    policy = RetryPolicy(task.retries, task.first_us, task.cap_us, task.factor, task.jitter, task.table_us)
    try:
        envelope = open_envelope(claim.envelope)
        return retry_policy(policy, envelope), again_us(envelope)
    except DecodingFailed:  # it ran, so it could be read; should it not be so, the task's rules stand
        return policy, 0
