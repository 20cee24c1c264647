"""Limits as people write them."""

import pytest

from holdfast.errors import InvalidInput
from holdfast.model.queue import Breaker, Rate
from holdfast.policy.rates import parse_breaker, parse_rate, shown_rate


@pytest.mark.parametrize(
    ("text", "interval_us"),
    [
        ("100/m", 600_000),
        ("5/s", 200_000),
        ("1/10s", 10_000_000),
        ("3/s", 333_334),
        ("2/minute", 30_000_000),
        ("1/hour", 3_600_000_000),
        ("50 / S", 20_000),
        ("0/s", 0),
        ("1000000/s", 1),
    ],
)
def test_a_rate_is_read_as_the_time_between_two_starts_rounded_up(text: str, interval_us: int) -> None:
    assert parse_rate(text) == Rate(interval_us, 1)


@pytest.mark.parametrize("text", ["100/m", "5/s", "3/s", "7/h", "0/s", "6/m", "100/d", "1/604800s", "1000000/s"])
def test_a_rate_is_written_as_it_is_read(text: str) -> None:
    assert shown_rate(parse_rate(text)) == text


def test_no_rate_is_no_limit() -> None:
    assert parse_rate(None) is None
    assert shown_rate(None) is None


@pytest.mark.parametrize("value", ["abc", "5", 5, "-1/s", "1/0s", "2000000/s", True, "1/w", ""])
def test_a_senseless_rate_is_refused_with_the_value(value: object) -> None:
    with pytest.raises(InvalidInput, match="expected lane_rate to be"):
        parse_rate(value, what="lane_rate")


@pytest.mark.parametrize("burst", [0, -1, True, 1.5, "3", 10**7])
def test_a_senseless_burst_is_refused(burst: object) -> None:
    with pytest.raises(InvalidInput, match="expected the burst of rate to be an integer from 1 to 1000000"):
        parse_rate("1/s", burst)


def test_a_burst_without_a_rate_is_refused() -> None:
    with pytest.raises(InvalidInput, match="to go with a burst of 3"):
        parse_rate(None, 3)


def test_a_breaker_is_three_checked_numbers() -> None:
    assert parse_breaker(10, 300, 3) == Breaker(10, 300_000_000, 3)
    for given in ((0, 300, 3), (10, -1, 3), (10, 300, 0), ("10", 300, 1)):
        with pytest.raises(InvalidInput, match="of breaker to be"):
            parse_breaker(*given)
