import os
import sys
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from dataclasses import InitVar, dataclass, field, make_dataclass
from datetime import datetime, tzinfo
from enum import Enum
from pathlib import Path, PureWindowsPath
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.msgpack import Ext

from holdfast.errors import DecodingFailed, InvalidInput, NotEncodable
from holdfast.wire.codec import Codec
from tests.unit.wire.examples import Basket, Pair, Point, Right, is_same, knowing_codec, values

CODEC = knowing_codec()


def there_and_back(value: object) -> object:
    return CODEC.decode(CODEC.encode(value, "the value"))


def refused(value: object) -> str:
    with pytest.raises(NotEncodable) as caught:
        CODEC.encode(value, "argument 'order'")
    return str(caught.value)


@given(values)
@settings(max_examples=400, deadline=None)
def test_a_value_comes_back_equal_and_of_the_same_type_at_every_depth(value: object) -> None:
    assert is_same(there_and_back(value), value)


def test_a_plain_container_is_plain_message_pack() -> None:
    value = {"a": [1, 2.5, None, True, b"x"], 7: {"b": "c"}}

    assert CODEC.encode(value, "it") == msgspec.msgpack.encode(value)


@pytest.mark.parametrize("key", [1, True, 1.0, 0, False, None, b"1", "1", 2**70, (1, None), -0.0])
def test_a_key_keeps_its_type(key: object) -> None:
    (back,) = there_and_back({key: "x"})  # type: ignore[misc]

    assert is_same(back, key)


def test_the_second_two_o_clock_of_a_night_in_autumn_stays_the_second() -> None:
    moment = datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"), fold=1)

    back = there_and_back(moment)

    assert isinstance(back, datetime)
    assert (back.fold, back.tzinfo, back.utcoffset()) == (1, moment.tzinfo, moment.utcoffset())


def test_a_zone_that_has_no_name_elsewhere_is_refused() -> None:
    class Odd(tzinfo):
        pass

    assert "zoneinfo.ZoneInfo" in refused({"when": datetime(2026, 1, 1, tzinfo=Odd())})


def test_a_path_arrives_as_its_class_even_if_its_name_is_not_text() -> None:
    path = Path(os.fsdecode(b"/tmp/caf\xe9"))

    back = there_and_back(path)

    assert type(back) is type(path)
    assert os.fsencode(back) == b"/tmp/caf\xe9"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has a WindowsPath")
def test_a_windows_path_arrives_here_as_its_pure_twin() -> None:
    body = msgspec.msgpack.encode(["WindowsPath", rb"C:\jobs"])

    assert CODEC.decode(msgspec.msgpack.encode(Ext(12, body))) == PureWindowsPath(r"C:\jobs")


@pytest.mark.parametrize("text", ["//a/", "//./", "//a\\"])
def test_a_path_that_its_own_text_does_not_give_back_is_refused(text: str) -> None:
    path = PureWindowsPath(text)
    if PureWindowsPath(str(path)) == path:
        assert there_and_back(path) == path  # a later pathlib reads it
    else:
        assert "does not give back" in refused([path])


def test_containers_that_hold_only_plain_values_are_not_copied() -> None:
    plain = ["a", 1, None]

    assert CODEC._quick.wrap(plain) is plain


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (OrderedDict(a=1), "collections.OrderedDict, which would arrive as a plain dict: pass dict(…)"),
        (defaultdict(int), "would arrive as a plain dict"),
        (Text("x"), "would arrive as a plain str"),
        (len, "code does not travel"),
        ((n for n in ()), "pass list(…) of it"),
        (object(), "is a object, which cannot travel"),
        (memoryview(b"x"), "is a memoryview, which cannot travel"),
        (float, "code does not travel"),
    ],
)
def test_what_would_be_changed_silently_is_refused_with_its_place_and_a_remedy(value: object, said: str) -> None:
    message = refused({"lines": [1, (2, {3: value})]})

    assert message.startswith("argument 'order'['lines'][1][1][3] is ")
    assert said in message


def test_an_element_a_key_and_a_field_are_named_as_what_they_are() -> None:
    assert refused({frozenset({len})}).startswith("argument 'order' (one of its elements) (one of its elements) is ")
    assert refused([{len: 1}]).startswith("argument 'order'[0] (the key <built-in function len>) is ")
    assert refused(Point(1, Pair(len))).startswith("argument 'order'.y.left is ")


def test_text_with_a_lone_surrogate_is_refused_with_its_place() -> None:
    assert refused(["ok", {"name": "a\ud800"}]).startswith(
        "argument 'order'[1]['name'] holds a lone surrogate at position 1"
    )
    assert "lone surrogate" in refused({"\ud800": 1})


def test_what_holds_itself_is_refused() -> None:
    loop: list[object] = []
    loop.append(loop)

    assert refused(loop).startswith(
        "argument 'order'[0][0][0][0][0][0][0][0]… is nested more than 64 levels deep, or holds"
    )


@pytest.mark.parametrize("hold", [lambda v: [v], lambda v: (v,), lambda v: {"a": v}, Point])
def test_what_may_be_encoded_at_the_greatest_depth_can_be_decoded(hold: Callable[[object], object]) -> None:
    for value, levels in (((datetime(2026, 1, 1),), 63), ((1,), 64)):
        deep: object = value
        for _ in range(levels):
            deep = hold(deep)

        assert is_same(there_and_back(deep), deep)
        assert "64 levels" in refused(hold(deep))


def test_a_type_that_is_not_registered_is_refused_with_the_remedy() -> None:
    message = ""
    try:
        Codec().encode([Point(1)], "argument 'at'")
    except NotEncodable as error:
        message = str(error)

    assert message == (
        "argument 'at'[0] is a tests.unit.wire.examples.Point, which is not registered: "
        "annotate the task's parameter with it, or register it with app.register(Point)"
    )


def test_a_type_name_is_never_looked_up_outside_the_codec() -> None:
    with pytest.raises(DecodingFailed, match=r"'tests\.unit\.wire\.examples\.Point', which is not registered here"):
        Codec().decode(CODEC.encode(Point(1), "it"))


def test_only_types_that_can_be_described_may_be_registered() -> None:
    @dataclass
    class Both(dict):  # type: ignore[type-arg]
        a: int = 1

    for kind in (int, Both, list[int], "Point"):
        with pytest.raises(InvalidInput, match="expected a dataclass"):
            Codec().register(kind)  # type: ignore[arg-type]


def test_of_two_types_with_one_name_the_last_stands() -> None:
    codec = Codec()
    old = make_dataclass("Thing", ["a"])
    new = make_dataclass("Thing", ["a"])

    codec.register(old, new)

    assert codec.knows(new)
    assert not codec.knows(old)


def test_a_type_of_the_started_script_has_the_name_that_others_import_it_by() -> None:
    here, there = Codec(main="shop.tasks"), Codec()
    mine = Enum("Mine", ["A"], module="__main__", qualname="Mine")  # type: ignore[misc]
    theirs = Enum("Mine", ["A"], module="shop.tasks", qualname="Mine")  # type: ignore[misc]
    here.register(mine)
    there.register(theirs)

    assert there.decode(here.encode(mine["A"], "it")) is theirs["A"]


def test_a_field_is_not_changed_by_post_init_and_what_that_derives_is_there() -> None:
    @dataclass
    class Priced:
        net: int

        def __post_init__(self) -> None:
            self.net += 1
            self.label = f"{self.net} €"

    codec = Codec()
    codec.register(Priced)

    back = codec.decode(codec.encode(Priced(1), "it"))

    assert (back.net, back.label) == (2, "3 €")


def test_a_struct_field_is_not_changed_by_post_init() -> None:
    class Counted(msgspec.Struct):
        n: int

        def __post_init__(self) -> None:
            self.n += 1

    codec = Codec()
    codec.register(Counted)

    assert codec.decode(codec.encode(Counted(1), "it")).n == 2


def test_a_dataclass_with_init_vars_is_refused() -> None:
    @dataclass
    class Opened:
        name: str
        mode: InitVar[str]

        def __post_init__(self, mode: str) -> None:
            self.name += mode

    codec = Codec()
    codec.register(Opened)
    with pytest.raises(NotEncodable, match="turn them into fields"):
        codec.encode(Opened("a", "r"), "it")


def test_a_field_added_since_takes_its_default_and_a_field_dropped_since_is_refused() -> None:
    old, new = Codec(), Codec()
    narrow = make_dataclass("Thing", ["a"])
    wide = make_dataclass("Thing", ["a", ("b", list, field(default_factory=list))])
    old.register(narrow)
    new.register(wide)

    assert new.decode(old.encode(narrow(1), "it")) == wide(1, [])
    with pytest.raises(DecodingFailed, match="has no field 'b' any more"):
        old.decode(new.encode(wide(1, [2]), "it"))


def test_a_dataclass_without_a_value_for_a_field_is_refused() -> None:
    basket = Basket([])
    del basket.lines

    assert "lacks a field" in refused(basket)


def test_a_combination_of_flags_survives() -> None:
    assert there_and_back(Right.READ | Right.WRITE) is Right.READ | Right.WRITE


@given(st.binary(max_size=64))
@settings(max_examples=500, deadline=None)
def test_random_bytes_are_read_or_refused_in_one_way_only(data: bytes) -> None:
    try:
        CODEC.decode(data)
    except DecodingFailed:
        return  # the one way; any other error fails the test


@given(st.integers(-128, 127), st.one_of(st.binary(max_size=16), values.map(lambda v: CODEC.encode(v, "it"))))
@settings(max_examples=500, deadline=None)
def test_any_tag_around_any_body_is_read_or_refused_in_one_way_only(code: int, body: bytes) -> None:
    try:
        CODEC.decode(msgspec.msgpack.encode(Ext(code, body)))
    except DecodingFailed:
        return  # the one way; any other error fails the test


@given(values, st.data())
@settings(max_examples=300, deadline=None)
def test_a_damaged_encoding_is_read_or_refused_in_one_way_only(value: object, data: st.DataObject) -> None:
    bytes_ = bytearray(CODEC.encode(value, "it"))
    bytes_[data.draw(st.integers(0, len(bytes_) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    try:
        CODEC.decode(bytes(bytes_))
    except DecodingFailed:
        return  # the one way; any other error fails the test


def test_an_unknown_tag_is_refused_with_what_to_do() -> None:
    with pytest.raises(DecodingFailed, match=r"unknown tag 99.*upgrade"):
        CODEC.decode(msgspec.msgpack.encode(Ext(99, b"\xc0")))


def test_bottomless_nesting_is_refused() -> None:
    tagged = b"\xc0"
    for _ in range(80):
        tagged = msgspec.msgpack.encode(Ext(1, tagged))

    with pytest.raises(DecodingFailed, match="more than 64 levels"):
        CODEC.decode(tagged)
    with pytest.raises(DecodingFailed, match="cannot be read"):
        CODEC.decode(b"\x91" * 100_000)


def test_a_length_that_the_bytes_do_not_have_is_refused_without_making_room_for_it() -> None:
    for data in (
        b"\xdd\xff\xff\xff\xff",
        b"\xdf\xff\xff\xff\xff",
        msgspec.msgpack.encode(Ext(14, b"\xcf" + b"\x7f" * 8)),
    ):
        with pytest.raises(DecodingFailed):
            CODEC.decode(data)


@pytest.mark.parametrize("code", [1, 2, 3, 4, 10, 11, 13, 14, 15])
def test_a_number_in_place_of_a_body_is_refused_and_makes_nothing_of_that_size(code: int) -> None:
    with pytest.raises(DecodingFailed):
        CODEC.decode(msgspec.msgpack.encode(Ext(code, b"\x0a")))


def test_a_call_that_is_not_one_is_refused() -> None:
    for value in ([], [[], {}, 1], [[], {1: 2}], {"a": 1}):
        with pytest.raises(DecodingFailed, match="expected the arguments of a call"):
            CODEC.decode_call(CODEC.encode(value, "it"))
