"""Bytes that earlier releases have written. A change that breaks one of these loses the jobs in somebody's store."""

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import PurePosixPath
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest

from tests.unit.wire.examples import Colour, Point, is_same, knowing_codec

WRITTEN = [
    ((1, "a"), "d6019201a161"),
    ({7}, "d5029107"),
    (frozenset({7}), "d5039107"),
    ({(1,): 2}, "d7049291d50191019102"),
    (Colour.RED, "c7250592bf74657374732e756e69742e776972652e6578616d706c65732e436f6c6f7572a3524544"),
    (Point(1, 2), "c7270592be74657374732e756e69742e776972652e6578616d706c65732e506f696e7482a17801a17902"),
    (
        datetime(2026, 1, 2, 3, 4, 5, 6, ZoneInfo("Europe/Berlin"), fold=1),
        "c7190699cd07ea01020304050601ad4575726f70652f4265726c696e",
    ),
    (time(1, 2, tzinfo=UTC), "c709079601020000009200c0"),
    (date(2026, 1, 2), "c70508ce000b4922"),
    (timedelta(1, 2, 3), "d60993010203"),
    (Decimal("1.50"), "c7050aa4312e3530"),
    (UUID(int=5), "c7120bc41000000000000000000000000000000005"),
    (PurePosixPath("a/b"), "c7140c92ad50757265506f73697850617468c403612f62"),
    (2**64, "c70b0dc409010000000000000000"),
    (bytearray(b"x"), "c7030ec40178"),
    (1 - 2j, "c7130f92cb3ff0000000000000cbc000000000000000"),
]


@pytest.mark.parametrize(("value", "written"), WRITTEN)
def test_what_was_written_once_is_read_and_written_the_same_for_ever(value: object, written: str) -> None:
    codec = knowing_codec()

    assert is_same(codec.decode(bytes.fromhex(written)), value)
    assert codec.encode(value, "it").hex() == written
