"""Limits as people write them, such as `100/m`: read here, and written again."""

import re
from typing import Final

from holdfast.errors import InvalidInput
from holdfast.model.queue import Breaker, Rate
from holdfast.policy.moments import SECOND, duration_us

_UNITS: Final = {"s": SECOND, "m": 60 * SECOND, "h": 3600 * SECOND, "d": 86_400 * SECOND}
_RATE: Final = re.compile(r"(\d+)\s*/\s*(\d*)\s*([smhd])(?:ec(?:ond)?|in(?:ute)?|our|ay)?s?", re.IGNORECASE)
_BREAKER: Final = re.compile(r"(\d+)\s*:\s*(\d+(?:\.\d+)?)\s*([smhd]?)\s*(?::\s*(\d+))?", re.IGNORECASE)
_WEIGHT: Final = re.compile(r"(.*)=\s*(\d+)\s*", re.DOTALL)
_MOST_PER_SECOND: Final = SECOND
_MOST_WEIGHT: Final = 100
_LONGEST_US: Final = 366 * 86_400 * SECOND


def parse_rate(value: object, burst: object = None, what: str = "rate") -> Rate | None:
    """Read a rate such as "100/m" (s, m, h, d; "1/10s" is one in ten seconds; "0/s" is none at all). None is no limit."""
    if value is None:
        if burst is not None:
            raise InvalidInput(f"expected a {what} to go with a burst of {burst!r}, e.g. {what}='100/m'; got none")
        return None
    size = 1 if burst is None else burst
    if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= 1_000_000:
        raise InvalidInput(f"expected the burst of {what} to be an integer from 1 to 1000000, got: {burst!r}")
    if isinstance(value, Rate):
        return Rate(value.interval_us, value.burst if burst is None else size)
    found = _RATE.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        raise InvalidInput(
            f"expected {what} to be a number of starts over a time, such as '100/m', '5/s' or '1/10s', got: {value!r}"
        )
    return Rate(_interval_us(int(found[1]), int(found[2] or 1) * _UNITS[found[3].lower()], value, what), size)


def shown_rate(rate: Rate | None) -> str | None:
    """Write a rate as `parse_rate` reads it."""
    if rate is None:
        return None
    if rate.interval_us == 0:
        return "0/s"
    for unit, length_us in _UNITS.items():
        number = round(length_us / rate.interval_us)
        if number >= 1 and -(-length_us // number) == rate.interval_us:
            return f"{number}/{unit}"
    return _shown_over_seconds(rate.interval_us)


def parse_breaker(failures: object, pause: object, probes: object = 1, what: str = "breaker") -> Breaker:
    """Check the three numbers of a breaker."""
    return Breaker(
        _whole(failures, f"the failures of {what}"),
        duration_us(pause, f"the pause of {what}"),
        _whole(probes, f"the probes of {what}"),
    )


def read_breaker(text: str, what: str = "breaker") -> Breaker:
    """Read a breaker such as "10:5m:3": after 10 failures in a row pause for 5 minutes, then try 3 jobs (or 1)."""
    found = _BREAKER.fullmatch(text.strip())
    if found is None:
        raise InvalidInput(
            f"expected {what} to be failures, pause and probes, such as '10:5m:3' or '10:5m', got: {text!r}"
        )
    pause_s = float(found[2]) * _UNITS[found[3].lower() or "s"] / SECOND
    return parse_breaker(int(found[1]), pause_s, int(found[4] or 1), what)


def shown_breaker(breaker: Breaker | None) -> str | None:
    """Write a breaker as `read_breaker` reads it."""
    return None if breaker is None else f"{breaker.failures}:{shown_time(breaker.pause_us)}:{breaker.probes}"


def shown_time(time_us: int) -> str:
    """Write a duration as people type it, in the largest unit in which it is whole: `90s`, `5m`."""
    for unit in reversed(_UNITS):
        if time_us and time_us % _UNITS[unit] == 0:
            return f"{time_us // _UNITS[unit]}{unit}"
    return f"{time_us / SECOND:.6f}".rstrip("0").rstrip(".") + "s"


def read_weight(text: str) -> tuple[str, int]:
    """Read the share of a lane, such as "gold=4"."""
    found = _WEIGHT.fullmatch(text)
    if found is None:
        raise InvalidInput(f"expected a weight to be a lane and a number, such as 'gold=4', got: {text!r}")
    return found[1], check_weight(int(found[2]), found[1])


def check_weight(value: object, lane: str) -> int:
    """Give the share of a lane, if it is one: so many jobs for each one of a lane without a weight."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MOST_WEIGHT:
        raise InvalidInput(
            f"expected the weight of lane {lane!r} to be an integer from 1 to {_MOST_WEIGHT}, got: {value!r}"
        )
    return value


def _interval_us(number: int, period_us: int, value: object, what: str) -> int:
    """Give the time between two starts, rounded up: a rate is never exceeded."""
    if not 0 < period_us <= _LONGEST_US:
        raise InvalidInput(
            f"expected {what} to be over a time of more than 0 seconds and at most a year, got: {value!r}"
        )
    if number * SECOND > period_us * _MOST_PER_SECOND:
        raise InvalidInput(
            f"expected {what} to be at most a million a second, got: {value!r}; leave it out for no limit"
        )
    return 0 if number == 0 else -(-period_us // number)


def _whole(value: object, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 1_000_000:
        raise InvalidInput(f"expected {what} to be an integer from 1 to 1000000, got: {value!r}")
    return value


def _shown_over_seconds(interval_us: int) -> str:
    """Write a rate as so many in so many seconds; the one that is nearest, and not faster, if there is none."""
    for number in range(1, 1001):
        seconds = number * interval_us // SECOND
        if seconds and -(-seconds * SECOND // number) == interval_us:
            return f"{number}/{seconds}s"
    return f"1/{-(-interval_us // SECOND)}s"
