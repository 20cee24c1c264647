from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InvalidInput
from holdfast.policy.moments import as_datetime, duration_us, moment_us


@pytest.mark.parametrize(
    ("value", "us"),
    [
        (0, 0),
        (1, 1_000_000),
        (0.5, 500_000),
        (1e-6, 1),
        (timedelta(minutes=2), 120_000_000),
        (timedelta(microseconds=7), 7),
        (10**9, 10**15),
    ],
)
def test_a_duration_is_whole_microseconds(value: object, us: int) -> None:
    assert duration_us(value, "delay") == us


@pytest.mark.parametrize("value", [-1, -0.001, float("nan"), float("inf"), -float("inf"), 10**400, timedelta.max])
def test_a_duration_that_is_no_stretch_of_time_is_refused(value: object) -> None:
    with pytest.raises(InvalidInput, match=r"expected delay to be 0 or more seconds.*hundred years, got: "):
        duration_us(value, "delay")


@pytest.mark.parametrize("value", [True, "5", None, [1], 1j, datetime.now(UTC)])
def test_a_duration_of_another_type_is_refused_and_shown(value: object) -> None:
    with pytest.raises(InvalidInput, match="expected grace to be a number of seconds or a timedelta, got: ") as caught:
        duration_us(value, "grace")
    assert repr(value) in str(caught.value)


def test_a_moment_is_microseconds_since_1970() -> None:
    assert moment_us(datetime(1970, 1, 1, 0, 0, 1, 5, tzinfo=UTC), "at") == 1_000_005
    assert moment_us(datetime(1970, 1, 1, 1, 0, tzinfo=timezone(timedelta(hours=1))), "at") == 0


@given(st.datetimes(timezones=st.just(UTC)))
def test_a_moment_comes_back_to_the_microsecond(moment: datetime) -> None:
    """In the year 9999 too, where a float would be off by some microseconds."""
    assert as_datetime(moment_us(moment, "at")) == moment


def test_a_moment_without_a_zone_is_refused_with_the_remedy() -> None:
    with pytest.raises(InvalidInput, match=r"got one without a zone: .*2026.*timezone\.utc"):
        moment_us(datetime(2026, 1, 1), "at")


@pytest.mark.parametrize("value", [5, "2026-01-01", None, datetime(2026, 1, 1).date()])
def test_a_moment_of_another_type_is_refused(value: object) -> None:
    with pytest.raises(InvalidInput, match="expected at to be an aware datetime, got: "):
        moment_us(value, "at")
