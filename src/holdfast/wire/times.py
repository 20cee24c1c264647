"""Dates and times, taken apart into numbers and put together again, with the zone they were given.

A naive time stays naive. A fixed offset keeps its offset and its name; a `ZoneInfo` keeps its key, so that
a time in Berlin is still one in Berlin after the next change of its rules. `fold` travels too: without it,
one hour a year would arrive as another.

Other zones (pytz, dateutil, hand-made ones) are refused: nobody could say what they are on the other side.
"""

import sys
from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta, timezone, tzinfo
from typing import Any, Final

from holdfast.wire.refusal import Refusal

_MICROSECOND: Final = timedelta(microseconds=1)


def datetime_apart(value: datetime) -> list[object]:
    numbers = [value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond]
    return [*numbers, value.fold, _zone_apart(value.tzinfo)]


def datetime_together(parts: Sequence[Any]) -> datetime:
    year, month, day, hour, minute, second, micro, fold, zone = parts
    return datetime(year, month, day, hour, minute, second, micro, _zone_together(zone), fold=fold)


def time_apart(value: time) -> list[object]:
    numbers = [value.hour, value.minute, value.second, value.microsecond]
    return [*numbers, value.fold, _zone_apart(value.tzinfo)]


def time_together(parts: Sequence[Any]) -> time:
    hour, minute, second, micro, fold, zone = parts
    return time(hour, minute, second, micro, _zone_together(zone), fold=fold)


def timedelta_apart(value: timedelta) -> list[int]:
    return [value.days, value.seconds, value.microseconds]


def timedelta_together(parts: Sequence[int]) -> timedelta:
    days, seconds, microseconds = parts
    return timedelta(days, seconds, microseconds)


def _zone_apart(zone: tzinfo | None) -> object:
    """Give None, the key of a ZoneInfo, or a fixed offset as [microseconds, name or None]."""
    if zone is None:
        return None
    if zone is UTC:
        return [0, None]
    if type(zone) is timezone:
        return _offset_apart(zone)
    key = _zone_key(zone)
    if key is None:
        raise Refusal(f"has the zone {zone!r}, which cannot be named elsewhere: use zoneinfo.ZoneInfo('Area/City')")
    return key


def _offset_apart(zone: timezone) -> list[object]:
    offset = zone.utcoffset(None) // _MICROSECOND
    name = zone.tzname(None)
    # The name that the offset has by itself is left out, and made anew on arrival.
    return [offset, None if name == timezone(zone.utcoffset(None)).tzname(None) else name]


def _zone_key(zone: tzinfo) -> str | None:
    # A value can only have a ZoneInfo if its module is loaded; most programs never load it.
    zoneinfo = sys.modules.get("zoneinfo")
    if zoneinfo is None or type(zone) is not zoneinfo.ZoneInfo:
        return None
    key: str | None = zone.key  # type: ignore[attr-defined]  # tested above; the import is what is avoided
    return key


def _zone_together(zone: Any) -> tzinfo | None:
    if zone is None:
        return None
    if isinstance(zone, str):
        from zoneinfo import ZoneInfo  # 5 ms that few programs need

        return ZoneInfo(zone)
    offset, name = zone
    delta = timedelta(microseconds=offset)
    return timezone(delta) if name is None else timezone(delta, name)
