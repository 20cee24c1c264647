from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from holdfast.errors import Cancel, Retry, RunControl, Snooze, TaskTimeout
from holdfast.model.verdict import Verdict
from holdfast.policy.moments import SECOND
from holdfast.policy.retry import RetryPolicy
from holdfast.run.judge import Rules, judge
from holdfast.testing.contract.virtual_clock import START_US
from tests.unit.run.making import claim_of


def judged(error: BaseException, failures: int = 0, chance: float = 0.0, **policy: Any) -> Verdict:
    rules = Rules(RetryPolicy(**{"retries": 2} | policy), lambda: chance, lambda: START_US)
    claim = claim_of(failures=failures)
    verdict = judge(claim, error, rules)
    assert (verdict.id, verdict.token, verdict.queue) == (claim.id, claim.token, claim.queue)
    return verdict


def test_an_error_is_retried_after_the_policys_wait() -> None:
    verdict = judged(ValueError("bad"), failures=1)
    assert (verdict.outcome, verdict.delay_us) == ("retry", 20 * SECOND)
    assert (verdict.reason, verdict.error) == ("ValueError", "ValueError: bad")


def test_the_wait_has_jitter() -> None:
    assert judged(ValueError(), chance=0.5).delay_us == 8.75 * SECOND


def test_an_error_fails_the_job_when_its_retries_are_used_up() -> None:
    verdict = judged(ValueError("bad"), failures=2)
    assert (verdict.outcome, verdict.reason, verdict.error) == ("failed", "ValueError", "ValueError: bad")
    assert verdict.traceback is not None


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
def test_an_exit_fails_the_job_at_once(error: BaseException) -> None:
    assert judged(error).outcome == "failed"


def test_a_timeout_is_a_failure_like_any_other_with_a_reason_of_its_own() -> None:
    verdict = judged(TaskTimeout("too long"))
    assert (verdict.outcome, verdict.reason) == ("retry", "timeout")


def test_cancel_cancels_with_its_reason() -> None:
    verdict = judged(Cancel("out of stock"))
    assert (verdict.outcome, verdict.reason, verdict.error) == ("cancelled", "out of stock", None)


@pytest.mark.parametrize(
    ("control", "delay_us"),
    [
        (Snooze(60), 60 * SECOND),
        (Snooze(timedelta(minutes=1)), 60 * SECOND),
        (Snooze(until=datetime.fromtimestamp(START_US / 1e6 + 5, UTC)), 5 * SECOND),
        (Snooze(until=datetime(2001, 1, 1, tzinfo=UTC)), 0),
    ],
)
def test_snooze_costs_nothing_and_waits_so_long(control: Snooze, delay_us: int) -> None:
    verdict = judged(control, failures=2)
    assert (verdict.outcome, verdict.delay_us, verdict.reason) == ("snoozed", delay_us, "snoozed")


def test_retry_waits_as_long_as_it_says() -> None:
    verdict = judged(Retry("not yet", delay=7), give_up_on=(Exception,))
    assert (verdict.outcome, verdict.delay_us, verdict.reason) == ("retry", 7 * SECOND, "not yet")


def test_retry_without_a_delay_waits_as_the_policy_says() -> None:
    assert judged(Retry()).delay_us == 10 * SECOND


def test_retry_counts_against_the_retries() -> None:
    verdict = judged(Retry("not yet", delay=7), failures=2)
    assert (verdict.outcome, verdict.reason) == ("failed", "not yet")


class Wordless(Retry):
    def __init__(self) -> None:  # forgets to call the base class: there is no reason and no delay
        pass


class Unspeakable:
    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    ("control", "mistake"),
    [
        (Snooze(), "either a delay or until="),
        (Snooze(1, until=datetime(2030, 1, 1, tzinfo=UTC)), "either a delay or until="),
        (Snooze(-1), "the delay of Snooze to be 0 or more seconds"),
        (Snooze(until=datetime(2030, 1, 1)), "until of Snooze to be an aware datetime"),
        (Retry(delay=float("nan")), "the delay of Retry to be 0 or more seconds"),
        (RunControl(), "is not Retry, Snooze, RateLimited or Cancel"),
        (Wordless(), "AttributeError"),
        (Cancel(Unspeakable()), "no words"),  # type: ignore[arg-type]
    ],
)
def test_a_control_that_cannot_be_obeyed_is_judged_as_the_mistake_it_is(control: RunControl, mistake: str) -> None:
    verdict = judged(control)
    assert verdict.outcome == "retry"
    assert mistake in (verdict.error or "")
