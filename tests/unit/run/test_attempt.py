"""One claim, from its bytes to its verdict: each step, and each way in which it can end early."""

import asyncio
import contextvars
import dataclasses
import threading
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from holdfast.errors import Cancel, Retry
from holdfast.model.claim import Claim
from holdfast.model.verdict import Verdict
from holdfast.policy.moments import SECOND
from holdfast.policy.retry import RetryPolicy
from holdfast.run.attempt import arun_attempt, run_attempt
from holdfast.run.bench import Bench
from holdfast.run.context import current_job
from holdfast.wire.codec import Codec
from holdfast.wire.keyring import KeyRing
from holdfast.wire.payload import unpack_value
from holdfast.wire.seal import open_result
from tests.unit.run.making import bench_of, claim_of, envelope_of, spec_of

SECRET = "a-secret-of-some-length"
RING = KeyRing([SECRET])

Runner = Callable[[Claim, Bench], Verdict]


def on_a_loop(claim: Claim, bench: Bench) -> Verdict:
    return asyncio.run(arun_attempt(claim, bench))


@pytest.fixture(params=[run_attempt, on_a_loop], ids=["run", "arun"])
def run(request: pytest.FixtureRequest) -> Runner:
    """Both doors lead to the same verdict, for sync and async tasks alike."""
    runner: Runner = request.param
    return runner


def add(a: int, b: int = 0) -> int:
    return a + b


async def aadd(a: int, b: int = 0) -> int:
    await asyncio.sleep(0)
    return a + b


def value(verdict: Verdict) -> Any:
    assert verdict.outcome == "done", verdict
    return None if verdict.result is None else unpack_value(open_result(None, verdict.id, verdict.result), Codec())


@pytest.mark.parametrize("function", [add, aadd])
def test_a_task_gets_its_arguments_and_its_value_is_the_result(run: Runner, function: Callable[..., Any]) -> None:
    verdict = run(claim_of(3, kwargs={"b": 4}), bench_of(function))
    assert value(verdict) == 7
    assert verdict.took_us > 0


def test_none_is_a_result(run: Runner) -> None:
    """Trap 33"""
    verdict = run(claim_of(), bench_of(lambda: None))
    assert (verdict.outcome, verdict.result) == ("done", None)


@pytest.mark.parametrize("error", [ValueError("bad"), SystemExit(2), KeyboardInterrupt(), asyncio.CancelledError()])
@pytest.mark.parametrize("is_async", [False, True])
def test_whatever_a_task_raises_becomes_a_verdict(run: Runner, error: BaseException, is_async: bool) -> None:
    def fail() -> None:
        raise error

    async def afail() -> None:
        raise error

    verdict = run(claim_of(), bench_of(afail if is_async else fail))
    assert (verdict.outcome, verdict.reason) == (
        "failed",
        type(error).__qualname__.replace("C", "asyncio.exceptions.C"),
    )
    assert "fail()" not in (verdict.traceback or "")
    assert "raise error" in (verdict.traceback or "")


def test_a_control_is_obeyed(run: Runner) -> None:
    def stop() -> None:
        raise Cancel("enough")

    assert run(claim_of(), bench_of(stop)).outcome == "cancelled"


def test_the_runners_own_stop_signal_passes_through() -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_attempt(claim_of(), bench_of(interrupted, stop_signals=(KeyboardInterrupt,)))


def test_retries_are_those_of_the_call_if_it_has_its_own() -> None:
    def fail() -> None:
        raise Retry

    spec = spec_of(fail, retry=RetryPolicy(retries=5, first_us=SECOND))
    claim = claim_of(failures=1, retries=1)
    assert run_attempt(claim, bench_of(spec)).outcome == "failed"
    assert run_attempt(claim_of(failures=1), bench_of(spec)).outcome == "retry"


# --- ends before the call -----------------------------------------------------------------------------------


def never() -> None:
    raise AssertionError("this must not run")


def reasons(verdict: Verdict) -> tuple[str, str | None]:
    return verdict.outcome, verdict.reason


def test_an_unknown_task_is_parked_with_the_remedy(run: Runner) -> None:
    """I35"""
    verdict = run(claim_of(task="shop.gone"), bench_of(never))
    assert reasons(verdict) == ("parked", "unknown task")
    assert "'shop.gone'" in (verdict.error or "")
    assert "imports=" in (verdict.error or "")


def test_an_alias_finds_its_task() -> None:
    assert value(run_attempt(claim_of(1, task="old.name"), bench_of(spec_of(add, aliases=("old.name",))))) == 1


@pytest.mark.parametrize(
    "damage",
    [
        {"seal": None},
        {"seal": b"nonsense"},
        {"id": "another-id"},
        {"queue": "another-queue"},
        {"envelope": envelope_of("x", 666)},
        {"envelope": b""},
    ],
)
def test_what_nobody_signed_as_it_stands_is_parked(run: Runner, damage: dict[str, Any]) -> None:
    """I33; trap 40: an envelope and its seal copied into another job are as good as forged."""
    claim = msgspec.structs.replace(claim_of(ring=RING), **damage)
    verdict = run(claim, bench_of(never, ring=RING))
    assert reasons(verdict) == ("parked", "bad signature")
    assert claim.id in (verdict.error or "")


def test_a_key_that_was_revoked_or_taken_away_counts_no_more() -> None:
    claim = claim_of(ring=RING)
    for ring in (
        KeyRing(["another-secret-of-length", SECRET], revoked=[SECRET]),
        KeyRing(["another-secret-of-length"]),
    ):
        assert reasons(run_attempt(claim, bench_of(never, ring=ring))) == ("parked", "bad signature")


def test_an_older_key_in_the_ring_counts() -> None:
    ring = KeyRing(["another-secret-of-length", SECRET])
    assert run_attempt(claim_of(1, ring=RING), bench_of(add, ring=ring)).outcome == "done"


@pytest.mark.parametrize("envelope", [b"", b"\xc1", b"\x93\x01\x02\x03", b"payload"])
def test_an_envelope_that_cannot_be_read_ends_the_job_at_its_first_claim(run: Runner, envelope: bytes) -> None:
    """Trap 7: among the dead letters, with the reason; never a loop."""
    claim = msgspec.structs.replace(claim_of(), envelope=envelope)
    assert reasons(run(claim, bench_of(never))) == ("failed", "payload cannot be read")


def test_an_envelope_of_another_job_ends_the_job_even_unsigned() -> None:
    claim = msgspec.structs.replace(claim_of(), envelope=claim_of().envelope)
    verdict = run_attempt(claim, bench_of(never))
    assert reasons(verdict) == ("failed", "payload cannot be read")
    assert "re-bound" in (verdict.error or "")


@pytest.mark.parametrize("payload", [b"\x01", b"\x01\xc1", b"\x09abc", b"\x02abc", b"\x01\xc0"])
def test_a_payload_that_cannot_be_read_ends_the_job_at_its_first_claim(run: Runner, payload: bytes) -> None:
    """Trap 7"""
    verdict = run(claim_of(payload=payload), bench_of(spec_of(never, retry=RetryPolicy(retries=9))))
    assert reasons(verdict) == ("failed", "payload cannot be read")


def test_headers_that_cannot_be_read_end_the_job_before_it_runs(run: Runner) -> None:
    """Trap 7: found out after the run, they would cost it its verdict."""
    verdict = run(claim_of(headers={"retry-waits-us": "soon"}), bench_of(never))
    assert reasons(verdict) == ("failed", "payload cannot be read")


@pytest.mark.parametrize("args", [(), (1, 2, 3), ("one",), (None,)])
def test_arguments_that_no_longer_fit_are_parked(run: Runner, args: tuple[Any, ...]) -> None:
    verdict = run(claim_of(*args), bench_of(add))
    assert reasons(verdict) == ("parked", "arguments do not fit")
    assert "add()" in (verdict.error or "")


def test_arguments_whose_type_objects_to_them_are_parked() -> None:
    @dataclasses.dataclass
    class Order:
        number: int

        def __post_init__(self) -> None:
            raise OSError("no such order")

    def pay(order: Order) -> None:
        raise AssertionError("this must not run")

    pay.__annotations__["order"] = Order
    verdict = run_attempt(claim_of({"number": 7}), bench_of(pay))
    assert reasons(verdict) == ("parked", "arguments do not fit")
    assert "no such order" in (verdict.error or "")


# --- results ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("result", [object(), threading.Lock(), {1, object()}, "x" * 2**21, lambda: 0, iter([1])])
def test_a_result_that_cannot_be_stored_fails_the_job_with_the_reason(run: Runner, result: object) -> None:
    """Trap 37: it never vanishes."""
    verdict = run(claim_of(), bench_of(spec_of(lambda: result, retry=RetryPolicy(retries=5))))
    assert reasons(verdict) == ("failed", "result cannot be stored")
    assert f"the result of {claim_of().task}" in (verdict.error or "")


def test_a_result_is_sealed() -> None:
    verdict = run_attempt(claim_of(1, ring=RING), bench_of(add, ring=RING))
    assert unpack_value(open_result(RING, verdict.id, verdict.result or b""), Codec()) == 1


# --- context ------------------------------------------------------------------------------------------------

MARK: contextvars.ContextVar[str] = contextvars.ContextVar("mark", default="clean")


def test_every_run_has_a_context_of_its_own(run: Runner) -> None:
    seen = []

    def leave_a_mark() -> None:
        seen.append(MARK.get())
        MARK.set("dirty")

    async def aleave_a_mark() -> None:
        leave_a_mark()

    for function in (leave_a_mark, aleave_a_mark, leave_a_mark):
        run(claim_of(), bench_of(function))
    assert seen == ["clean"] * 3
    assert MARK.get() == "clean"


@pytest.mark.parametrize("is_async", [False, True])
def test_the_task_sees_its_own_run(run: Runner, is_async: bool) -> None:
    seen = []

    def look() -> None:
        job = current_job()
        seen.append((job.id, job.token, job.queue, job.task, job.attempt))

    async def alook() -> None:
        look()

    claim = claim_of(failures=1, crashes=1)
    run(claim, bench_of(alook if is_async else look))
    assert seen == [(claim.id, claim.token, "default", "shop.send", 3)]


def test_a_task_told_to_stop_on_the_loop_is_not_judged() -> None:
    """The runner cancelled it: nothing has been decided, and whoever cancelled hands the claim back."""

    async def cancel_it() -> None:
        began = asyncio.Event()

        async def wait() -> None:
            began.set()
            await asyncio.Event().wait()

        run = asyncio.create_task(arun_attempt(claim_of(), bench_of(wait)))
        await began.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    asyncio.run(cancel_it())
