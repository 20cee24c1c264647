"""Limits as people write them."""

import pytest

from holdfast.errors import InvalidInput
from holdfast.model.queue import Breaker, Rate
from holdfast.policy.rates import (
    parse_breaker,
    parse_rate,
    read_breaker,
    read_weight,
    shown_breaker,
    shown_rate,
)


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


@pytest.mark.parametrize(
    "text", ["100/m", "5/s", "3/s", "7/h", "0/s", "6/m", "100/d", "1/604800s", "1000000/s", "3/7s"]
)
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


@pytest.mark.parametrize("number", [1, 2, 3, 7, 60, 97, 999])
@pytest.mark.parametrize("over", ["s", "7s", "m", "11m", "h", "13h", "d", "9d"])
def test_a_rate_that_was_written_is_read_as_the_same(number: int, over: str) -> None:
    rate = parse_rate(f"{number}/{over}")
    assert parse_rate(shown_rate(rate)) == rate


@pytest.mark.parametrize(
    ("text", "breaker"),
    [
        ("10:5m:3", Breaker(10, 300_000_000, 3)),
        ("10:5m", Breaker(10, 300_000_000, 1)),
        (" 2 : 90 ", Breaker(2, 90_000_000, 1)),
        ("1:0.5s:1", Breaker(1, 500_000, 1)),
        ("3:1.5H", Breaker(3, 5_400_000_000, 1)),
        ("3:0s", Breaker(3, 0, 1)),
    ],
)
def test_a_breaker_is_read_and_written_as_people_do(text: str, breaker: Breaker) -> None:
    assert read_breaker(text) == breaker
    assert read_breaker(shown_breaker(breaker) or "") == breaker


def test_breakers_are_written_in_the_largest_unit_that_is_whole() -> None:
    assert shown_breaker(Breaker(10, 300_000_000, 3)) == "10:5m:3"
    assert shown_breaker(Breaker(2, 1_500_000)) == "2:1.5s:1"
    assert shown_breaker(Breaker(2, 2 * 86_400_000_000)) == "2:2d:1"
    assert shown_breaker(None) is None


@pytest.mark.parametrize("text", ["10", "10:", ":5m", "10:5w", "10:5m:", "10:5m:3:4", "a:5m", ""])
def test_a_senseless_breaker_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(
        InvalidInput, match=r"expected lane_breaker to be failures, pause and probes, such as '10:5m:3'"
    ):
        read_breaker(text, "lane_breaker")


@pytest.mark.parametrize("text", ["0:5m", "10:5m:0", "10:99999d"])
def test_numbers_of_a_breaker_are_checked(text: str) -> None:
    with pytest.raises(InvalidInput, match="of breaker to be"):
        read_breaker(text)


def test_a_weight_is_a_lane_and_a_number() -> None:
    assert read_weight("gold=4") == ("gold", 4)
    assert read_weight("a=b=4") == ("a=b", 4)
    assert read_weight("=4") == ("", 4), "jobs without a lane are a lane too"


@pytest.mark.parametrize("text", ["gold", "gold=", "gold=0", "gold=-1", "gold=x", "gold=101"])
def test_a_senseless_weight_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"expected (a|the) weight"):
        read_weight(text)
