"""One claim, from its bytes to its verdict: a pipeline of named steps over one value.

    open      the seal is verified, then the envelope read     broken: parked · unreadable: failed
    find      the task is looked up in the registry            unknown: parked
    rule      what the call changes about its task is read     unreadable: failed
    unpack    the arguments are decoded                        unreadable: failed
    fit       they become the annotated types                  do not fit: parked
    call      the function runs, in a context of its own, under its time limit
    conclude  the result is packed and sealed, or the exception judged

A step that ends the run early raises `_Ended` with the verdict. Whatever a task raises becomes a verdict, SystemExit
and KeyboardInterrupt too; only the runner's own stop signals pass through, and then nothing has been decided: the
claim is still held, and whoever gave the signal hands it back.

Nothing here writes to a store: if the process dies on any line, the claim's lease brings the job back.
"""

import time
from contextvars import copy_context
from typing import Any

import msgspec

from holdfast.errors import ArgumentMismatch, DecodingFailed, SealBroken
from holdfast.model.claim import Claim
from holdfast.model.verdict import (
    BAD_ARGUMENTS,
    BAD_PAYLOAD,
    BAD_RESULT,
    BAD_SEAL,
    UNKNOWN_TASK,
    Verdict,
    done,
    parked,
    recurring,
)
from holdfast.policy.moments import SECOND
from holdfast.policy.retry import RetryPolicy
from holdfast.run import evidence
from holdfast.run.bench import Bench
from holdfast.run.context import RunningJob, enter
from holdfast.run.judge import Rules, failed, judge
from holdfast.run.overrides import again_us, retry_policy, timeout_us
from holdfast.run.spec import TaskSpec
from holdfast.run.timeouts import Limit, alimit, limit
from holdfast.wire.envelope import Envelope
from holdfast.wire.payload import pack_value, unpack
from holdfast.wire.seal import check_job, close_result


class Attempt(msgspec.Struct):
    """The value that the steps pass on; each adds what it found out."""

    claim: Claim
    bench: Bench
    envelope: Envelope
    spec: TaskSpec
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    retry: RetryPolicy
    timeout_us: int | None
    again_us: int = 0


class _Ended(Exception):
    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict)
        self.verdict = verdict


def run_attempt(claim: Claim, bench: Bench) -> Verdict:
    """Carry out one claim in this thread. An async task gets an event loop for itself."""
    began = time.perf_counter()
    bench.on_start(claim)
    try:
        verdict = _run(prepare(claim, bench))
    except _Ended as ended:
        verdict = ended.verdict
    return _with_time(verdict, began)


async def arun_attempt(claim: Claim, bench: Bench) -> Verdict:
    """Carry out one claim on the running event loop. A sync task is moved to a thread, off the loop."""
    began = time.perf_counter()
    bench.on_start(claim)
    try:
        verdict = await _arun(prepare(claim, bench))
    except _Ended as ended:
        verdict = ended.verdict
    return _with_time(verdict, began)


def _with_time(verdict: Verdict, began: float) -> Verdict:
    return msgspec.structs.replace(verdict, took_us=round((time.perf_counter() - began) * SECOND))


def _run(attempt: Attempt) -> Verdict:
    if attempt.spec.kind == "async":
        import asyncio

        return asyncio.run(_arun(attempt))
    try:
        value = copy_context().run(_call, attempt)
    except attempt.bench.stop_signals:
        raise
    except BaseException as error:  # noqa: BLE001  # user code was called: see the module's head
        return _judged(attempt, error)
    return conclude(attempt, value)


async def _arun(attempt: Attempt) -> Verdict:
    import asyncio

    if attempt.spec.kind == "sync":
        return await asyncio.to_thread(_run, attempt)
    try:
        value = await _acall(attempt)
    except attempt.bench.stop_signals:
        raise
    except BaseException as error:  # user code was called: see the module's head
        if isinstance(error, asyncio.CancelledError) and _is_told_to_stop():
            raise
        return _judged(attempt, error)
    return conclude(attempt, value)


def prepare(claim: Claim, bench: Bench) -> Attempt:
    """Do everything that comes before the call."""
    envelope = _open(claim, bench)
    spec = _find(claim, envelope, bench)
    retry, again = _rule(claim, spec, envelope)
    args, kwargs = _fit(claim, spec, *_unpack(claim, envelope, bench))
    return Attempt(claim, bench, envelope, spec, args, kwargs, retry, timeout_us(spec, envelope), again)


def _open(claim: Claim, bench: Bench) -> Envelope:
    try:
        return check_job(bench.ring, claim.id, claim.queue, claim.envelope, claim.seal)
    except SealBroken as error:
        raise _Ended(parked(claim, BAD_SEAL, f"job {claim.id}: {evidence.said(error)}")) from error
    except DecodingFailed as error:
        raise _Ended(failed(claim, BAD_PAYLOAD, error)) from error


def _find(claim: Claim, envelope: Envelope, bench: Bench) -> TaskSpec:
    spec = bench.registry.find(envelope.task)
    if spec is None:
        raise _Ended(
            parked(
                claim,
                UNKNOWN_TASK,
                f"no task {envelope.task!r} is known here; import the module that declares it (imports=[…]), or give "
                "a renamed task its old name as an alias. The job runs as soon as a worker knows it.",
            )
        )
    return spec


def _rule(claim: Claim, spec: TaskSpec, envelope: Envelope) -> tuple[RetryPolicy, int]:
    try:
        return retry_policy(spec.retry, envelope), again_us(envelope)
    except DecodingFailed as error:
        raise _Ended(failed(claim, BAD_PAYLOAD, error)) from error


def _unpack(claim: Claim, envelope: Envelope, bench: Bench) -> tuple[tuple[Any, ...], dict[str, Any]]:
    try:
        return unpack(envelope.payload, bench.codec)
    except DecodingFailed as error:
        raise _Ended(failed(claim, BAD_PAYLOAD, error)) from error


def _fit(
    claim: Claim, spec: TaskSpec, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    try:
        return spec.parameters.arrive(args, kwargs)
    except ArgumentMismatch as error:
        raise _Ended(parked(claim, BAD_ARGUMENTS, evidence.said(error))) from error
    except Exception as error:  # converting runs users' code: a __post_init__, a validator
        raise _Ended(parked(claim, BAD_ARGUMENTS, evidence.summary(error))) from error


def _call(attempt: Attempt) -> object:
    with limit(_seconds(attempt.timeout_us)) as time_limit:
        _enter(attempt, time_limit)
        return attempt.spec.function(*attempt.args, **attempt.kwargs)


async def _acall(attempt: Attempt) -> object:
    async with alimit(_seconds(attempt.timeout_us)) as time_limit:
        _enter(attempt, time_limit)
        return await attempt.spec.function(*attempt.args, **attempt.kwargs)


def _enter(attempt: Attempt, time_limit: Limit) -> None:
    bench = attempt.bench
    token = attempt.claim.token
    bench.on_limit(token, time_limit.seconds_left())
    enter(
        RunningJob(
            attempt.claim,
            attempt.spec.name,
            time_limit=time_limit,
            report=bench.report,
            is_cancelled=bench.is_cancelled,
            on_limit=bench.on_limit,
        )
    )


def conclude(attempt: Attempt, value: object) -> Verdict:
    """Turn what the task returned into the verdict. None is a result, and is stored as no bytes at all."""
    claim, bench = attempt.claim, attempt.bench
    if value is None:
        return recurring(done(claim), attempt.again_us)
    try:
        data = pack_value(value, bench.codec, f"the result of {attempt.spec.name}")
    except Exception as error:  # noqa: BLE001  # NotEncodable, PayloadTooLarge, or whatever a user's object raises
        return recurring(failed(claim, BAD_RESULT, error), attempt.again_us)
    return recurring(done(claim, close_result(bench.ring, claim.id, data)), attempt.again_us)


def _judged(attempt: Attempt, error: BaseException) -> Verdict:
    bench = attempt.bench
    return recurring(judge(attempt.claim, error, Rules(attempt.retry, bench.chance, bench.now_us)), attempt.again_us)


def _is_told_to_stop() -> bool:
    """Tell the runner's cancelling of this run from a CancelledError that the task raised by itself."""
    import asyncio

    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _seconds(duration_us: int | None) -> float | None:
    return None if duration_us is None else duration_us / SECOND
