import os
import tracemalloc
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.errors import DecodingFailed, NotEncodable, PayloadTooLarge
from holdfast.wire.payload import LIMIT_BYTES, pack, pack_value, unpack, unpack_value
from tests.unit.wire.examples import is_same, knowing_codec, values

CODEC = knowing_codec()


def where(key: int | str) -> str:
    return f"argument {key!r} of send()"


@given(st.lists(values, max_size=3).map(tuple), st.dictionaries(st.text(max_size=5), values, max_size=3))
@settings(deadline=None)
def test_the_arguments_of_a_call_come_back_as_they_were(args: tuple[object, ...], kwargs: dict[str, object]) -> None:
    assert is_same(unpack(pack(args, kwargs, CODEC, where), CODEC), (args, kwargs))


def test_a_call_without_arguments_is_one_constant_that_reads_like_any_other() -> None:
    empty = pack((), {}, CODEC, where)

    assert pack((), {}, CODEC, where) is empty
    assert CODEC.decode_call(empty[1:]) == unpack(empty, CODEC) == ((), {})


def test_two_calls_without_arguments_share_nothing_that_could_be_changed() -> None:
    unpack(pack((), {}, CODEC, where), CODEC)[1]["a"] = 1

    assert unpack(pack((), {}, CODEC, where), CODEC) == ((), {})


def test_a_refused_argument_is_named_by_place_and_by_keyword() -> None:
    with pytest.raises(NotEncodable, match=r"^argument 1 of send\(\)\[0\] is "):
        pack((1, [len]), {}, CODEC, where)
    with pytest.raises(NotEncodable, match=r"^argument 'to' of send\(\)\['a'\] is "):
        pack((1,), {"to": {"a": len}}, CODEC, where)


@pytest.mark.parametrize("size", [0, 4000, 5000, 100_000])
def test_a_value_comes_back_whether_it_was_worth_compressing_or_not(size: int) -> None:
    for value in ("a" * size, os.urandom(size)):
        assert unpack_value(pack_value(value, CODEC, "the result"), CODEC) == value


def test_only_bodies_over_four_kib_that_shrink_are_compressed() -> None:
    assert pack_value("a" * 4000, CODEC, "it")[0] == 1
    assert pack_value("a" * 5000, CODEC, "it")[0] == 2
    assert len(pack_value("a" * 5000, CODEC, "it")) < 100
    assert pack_value(os.urandom(5000), CODEC, "it")[0] == 1


def test_what_is_too_large_is_refused_before_compression_could_hide_it() -> None:
    with pytest.raises(PayloadTooLarge, match=r"1,048,582 bytes, and the limit is 1,048,576: store it elsewhere"):
        pack_value("a" * (LIMIT_BYTES + 1), CODEC, "the result")
    with pytest.raises(PayloadTooLarge, match=r"the longest is argument 'body' of send\(\)"):
        pack(("x",), {"body": "a" * 2_000_000, "n": 1}, CODEC, where)


def test_a_bomb_is_refused_before_it_has_grown() -> None:
    bomb = b"\x02" + zlib.compress(bytes(200 * LIMIT_BYTES), 9)
    tracemalloc.start()
    try:
        with pytest.raises(DecodingFailed, match="larger than the limit"):
            unpack_value(bomb, CODEC)
        assert tracemalloc.get_traced_memory()[1] < 8 * LIMIT_BYTES
    finally:
        tracemalloc.stop()


def test_a_compressed_body_that_is_cut_or_continued_is_refused() -> None:
    whole = pack_value("a" * 5000, CODEC, "it")

    for damaged in (whole[:-1], whole + b"x", whole[:1], b"\x02junk"):
        with pytest.raises(DecodingFailed, match="damaged"):
            unpack_value(damaged, CODEC)


@given(st.binary(max_size=64), st.sampled_from([b"", b"\x01", b"\x02", b"\x03"]))
@settings(deadline=None)
def test_random_bytes_are_read_or_refused_in_one_way_only(data: bytes, mark: bytes) -> None:
    try:
        unpack(mark + data, CODEC)
    except DecodingFailed:
        return  # the one way; any other error fails the test


def test_an_unknown_format_byte_is_refused_with_what_to_do() -> None:
    with pytest.raises(DecodingFailed, match=r"unknown format byte b'\\x03'.*upgrade"):
        unpack_value(b"\x03abc", CODEC)
