from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InvalidInput, TaskTimeout
from holdfast.policy.moments import SECOND
from holdfast.policy.retry import RetryPolicy, delay_table, wait_us, wants_retry

HOUR_US = 3600 * SECOND


def waits(policy: RetryPolicy, count: int, chance: float = 0.0) -> list[float]:
    return [wait_us(policy, failures, chance) / SECOND for failures in range(count)]


def test_waits_begin_at_ten_seconds_and_double_up_to_an_hour() -> None:
    assert waits(RetryPolicy(), 11) == [10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600]


def test_waits_grow_from_the_first_to_the_cap() -> None:
    assert waits(RetryPolicy(first_us=SECOND, cap_us=5 * SECOND), 5) == [1, 2, 4, 5, 5]


def test_a_cap_below_the_first_wait_is_the_wait() -> None:
    assert waits(RetryPolicy(first_us=10 * SECOND, cap_us=3 * SECOND), 2) == [3, 3]


def test_the_thousandth_failure_waits_as_long_as_the_cap() -> None:
    """2.0 ** 5000 is an OverflowError, not a wait."""
    assert wait_us(RetryPolicy(), 5000, 0.0) == HOUR_US


@given(st.integers(0, 10_000), st.floats(0, 1, exclude_max=True))
def test_jitter_only_shortens_and_by_a_quarter_at_most(failures: int, chance: float) -> None:
    full = wait_us(RetryPolicy(), failures, 0.0)
    assert 0.75 * full - 1 <= wait_us(RetryPolicy(), failures, chance) <= full <= HOUR_US


def test_jitter_spreads_the_waits() -> None:
    assert waits(RetryPolicy(), 1, 0.0) == [10]
    assert waits(RetryPolicy(), 1, 0.5) == [8.75]


def test_a_table_gives_each_retry_its_wait_and_the_last_for_all_that_follow() -> None:
    policy = RetryPolicy(table_us=(SECOND, 60 * SECOND, 5 * SECOND), cap_us=SECOND)
    assert waits(policy, 5, chance=0.9) == [1, 60, 5, 5, 5]


@pytest.mark.parametrize(("failures", "wanted"), [(0, True), (1, True), (2, False), (3, False)])
def test_there_are_as_many_retries_as_allowed(failures: int, wanted: bool) -> None:
    """I14: failures ≤ retries + 1."""
    assert wants_retry(RetryPolicy(retries=2), ValueError(), failures) is wanted


@pytest.mark.parametrize(
    ("error", "rules", "wanted"),
    [
        (ValueError(), {}, True),
        (TaskTimeout(), {}, True),
        (SystemExit(1), {}, False),
        (KeyboardInterrupt(), {}, False),
        (SystemExit(1), {"retry_on": (BaseException,)}, True),
        (ValueError(), {"retry_on": (OSError,)}, False),
        (ConnectionError(), {"retry_on": (OSError, ValueError)}, True),
        (ConnectionError(), {"give_up_on": (OSError,)}, False),
        (ConnectionError(), {"retry_on": (ConnectionError,), "give_up_on": (OSError,)}, False),
        (ValueError(), {"retry_on": ()}, False),
    ],
)
def test_giving_up_is_asked_before_trying_again(error: BaseException, rules: dict[str, Any], wanted: bool) -> None:
    assert wants_retry(RetryPolicy(retries=1, **rules), error, 0) is wanted


def test_a_table_is_checked_entry_by_entry() -> None:
    assert delay_table([1, 0.5]) == (SECOND, SECOND // 2)
    with pytest.raises(InvalidInput, match=r"expected retry_delay\[1\] to be 0 or more seconds.* got: -2"):
        delay_table([1, -2])


@pytest.mark.parametrize("value", [[], (), "5", {1: 2}, None])
def test_what_is_no_table_is_refused(value: object) -> None:
    with pytest.raises(InvalidInput, match="expected retry_delay to be seconds, a timedelta or a list of them, got: "):
        delay_table(value)
