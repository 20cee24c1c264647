"""Durations and moments as callers give them, turned into whole microseconds, or refused with one sentence."""

from datetime import UTC, datetime, timedelta
from typing import Final

from holdfast.errors import InvalidInput

SECOND: Final = 1_000_000
_LONGEST_S: Final = 100 * 366 * 86_400


def duration_us(value: object, what: str) -> int:
    """Give a duration in microseconds. A bare number is seconds; a timedelta is welcome."""
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise InvalidInput(f"expected {what} to be a number of seconds or a timedelta, got: {value!r}")
    if not 0 <= seconds <= _LONGEST_S:  # nor is NaN, nor an integer too long to be a float
        raise InvalidInput(f"expected {what} to be 0 or more seconds, and less than a hundred years, got: {value!r}")
    return round(seconds * SECOND)


def moment_us(value: object, what: str) -> int:
    """Give a moment in microseconds since 1970. A datetime without a zone is refused: nobody can know what it means."""
    if not isinstance(value, datetime):
        raise InvalidInput(f"expected {what} to be an aware datetime, got: {value!r}")
    if value.tzinfo is None or value.utcoffset() is None:
        raise InvalidInput(
            f"expected {what} to be an aware datetime, got one without a zone: {value!r}; "
            "add one, e.g. datetime.now(timezone.utc)"
        )
    return (value - _EPOCH) // timedelta(microseconds=1)  # whole numbers: a float has no room for the year 9999


def as_datetime(moment: int) -> datetime:
    """Turn a stored moment into an aware datetime in UTC."""
    return _EPOCH + timedelta(microseconds=moment)


def shown_moment(moment: int) -> str:
    """Write a stored moment for people: `2030-01-31 09:00:00.000 UTC`."""
    try:
        return f"{as_datetime(moment).isoformat(' ', 'milliseconds').removesuffix('+00:00')} UTC"
    except OverflowError:  # nobody enqueued this: the row was tampered with, and is shown all the same
        return f"{moment} µs"


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
