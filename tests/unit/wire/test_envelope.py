import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import DecodingFailed, NotEncodable
from holdfast.wire.envelope import FORMAT, Envelope, open_envelope, seal_in

_texts = st.none() | st.text(max_size=8)
_numbers = st.none() | st.integers(0, 2**62)

envelopes = st.builds(
    Envelope,
    st.just(FORMAT),
    id=st.text(max_size=8),
    task=st.text(max_size=8),
    queue=st.text(max_size=8),
    priority=st.integers(-(2**31), 2**31),
    delay_us=st.integers(0, 2**62),
    at_us=_numbers,
    expires_us=_numbers,
    payload=st.binary(max_size=16),
    lane=_texts,
    key=_texts,
    version=_texts,
    retries=_numbers,
    timeout_us=_numbers,
    headers=st.dictionaries(st.text(max_size=4), st.text(max_size=4), max_size=2),
)

PLAIN = Envelope(FORMAT, "job-1", "shop.send", "mail", 0, 0, None, None, b"\x01\xc0")


@given(envelopes)
def test_an_envelope_comes_back_as_it_was(envelope: Envelope) -> None:
    assert open_envelope(seal_in(envelope)) == envelope


@given(st.binary(max_size=64))
def test_random_bytes_are_refused_in_one_way_only(data: bytes) -> None:
    with pytest.raises(DecodingFailed):
        open_envelope(data)


def test_an_envelope_of_a_later_format_is_refused_as_such_even_with_more_fields() -> None:
    fields = msgspec.msgpack.decode(seal_in(PLAIN))

    for later in ([2, *fields[1:]], [2, *fields[1:], "more"], [2]):
        with pytest.raises(DecodingFailed, match="has the format 2, and this Holdfast reads format 1"):
            open_envelope(msgspec.msgpack.encode(later))


def test_an_envelope_with_a_field_too_many_is_refused() -> None:
    fields = msgspec.msgpack.decode(seal_in(PLAIN))

    with pytest.raises(DecodingFailed, match="cannot be read"):
        open_envelope(msgspec.msgpack.encode([*fields, "more"]))


def test_a_field_that_cannot_be_written_is_refused_with_the_job() -> None:
    for odd in (msgspec.structs.replace(PLAIN, key="\ud800"), msgspec.structs.replace(PLAIN, priority=2**70)):
        with pytest.raises(NotEncodable, match="envelope of job 'job-1'"):
            seal_in(odd)
