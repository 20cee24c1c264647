"""Durations and moments as people type and read them."""

import re
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import click

from holdfast.policy.moments import SECOND, as_datetime

_FORM: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h|d)?")
_UNIT_S: Final = {None: 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}
_LONGEST_S: Final = 100 * 366 * 86_400
_SIZE_FORM: Final = re.compile(r"(\d+(?:\.\d+)?)(K|M|G)(?:I?B)?")
_UNIT_BYTES: Final = {"K": 2**10, "M": 2**20, "G": 2**30}
_KNOWN: Final = "90 (seconds), 30s, 5m, 1h or 2d"
_STEPS: Final = ((86_400, "d"), (3600, "h"), (60, "min"))


if TYPE_CHECKING:
    _ParamType = click.ParamType[Any, Any]
else:
    _ParamType = click.ParamType  # takes no arguments before click 8.4


class _Duration(_ParamType):
    """Seconds, as a float."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, int | float):
            return float(value)
        match = _FORM.fullmatch(str(value).strip())
        if match is None:
            self.fail(f"expected a duration like {_KNOWN}, got: {value!r}", param, ctx)
        seconds = float(match[1]) * _UNIT_S[match[2]]
        if seconds > _LONGEST_S:
            self.fail(f"expected a duration of less than a hundred years, got: {value!r}", param, ctx)
        return seconds


class _Moment(_ParamType):
    """An aware datetime."""

    name = "moment"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        if isinstance(value, datetime):
            return value
        try:
            moment = datetime.fromisoformat(str(value))
        except ValueError:
            self.fail(f"expected a moment like 2030-01-31T09:00+01:00 (ISO 8601), got: {value!r}", param, ctx)
        if moment.tzinfo is None:
            zoned = f"{moment.isoformat(timespec='minutes')}Z"
            self.fail(f"expected a moment with a zone, e.g. {zoned} (UTC), got: {value!r}", param, ctx)
        return moment


class _Size(_ParamType):
    """Bytes, as an integer."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        match = _SIZE_FORM.fullmatch(str(value).strip().upper())
        if match is None:
            self.fail(f"expected a size like 500M, 2G or 100000K, got: {value!r}", param, ctx)
        return int(float(match[1]) * _UNIT_BYTES[match[2]])


DURATION: Final = _Duration()
SIZE: Final = _Size()
MOMENT: Final = _Moment()


def iso(moment_us: int | None) -> str | None:
    """Give a stored moment as ISO 8601 in UTC."""
    if moment_us is None:
        return None
    try:
        return as_datetime(moment_us).isoformat(timespec="microseconds").replace("+00:00", "Z")
    except OverflowError:  # nobody enqueued this: the row was tampered with, and is shown all the same
        return f"{moment_us} µs"


def relative(moment_us: int | None, now_us: int) -> str:
    """Give a moment as seen from now: `12 s ago`, `in 3 min`."""
    if moment_us is None:
        return ""
    away_s = (moment_us - now_us) / SECOND
    if abs(away_s) < 1:
        return "now"
    return f"in {span(away_s)}" if away_s > 0 else f"{span(-away_s)} ago"


def span(seconds: float) -> str:
    """Give a duration in the two largest units that say something."""
    if seconds < 1:
        return f"{seconds * 1000:.3g} ms"
    if seconds < 60:
        return f"{seconds:.3g} s"
    unit_s, unit = next(step for step in _STEPS if seconds >= step[0])
    whole, rest = divmod(int(seconds), unit_s)
    smaller_s, smaller = {86_400: (3600, "h"), 3600: (60, "min"), 60: (1, "s")}[unit_s]
    return f"{whole} {unit} {rest // smaller_s} {smaller}" if rest >= smaller_s else f"{whole} {unit}"
