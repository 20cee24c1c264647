import hmac

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import DecodingFailed, InvalidInput, SealBroken
from holdfast.wire.envelope import FORMAT, Envelope, seal_in
from holdfast.wire.keyring import SEAL_LENGTH, joined
from holdfast.wire.seal import (
    KeyRing,
    check_job,
    close_result,
    open_result,
    seal_job,
    seal_result,
    verify_job,
    verify_result,
)

NEW = "new-secret-of-some-length"
OLD = "old-secret-of-some-length"
RING = KeyRing([NEW])
ENVELOPE = Envelope(FORMAT, "job-1", "shop.send", "mail", 0, 0, None, None, b"\x01\xc0", headers={"a": "b"})
DATA = seal_in(ENVELOPE)
SEAL = seal_job(RING, "job-1", DATA)
assert SEAL is not None


def flipped(data: bytes) -> list[bytes]:
    whole = int.from_bytes(data, "big")
    return [(whole ^ (1 << bit)).to_bytes(len(data), "big") for bit in range(len(data) * 8)]


def test_a_sealed_job_is_opened() -> None:
    assert check_job(RING, "job-1", "mail", DATA, SEAL) == ENVELOPE


def test_a_seal_with_any_bit_flipped_is_refused() -> None:
    for seal in flipped(SEAL or b""):
        with pytest.raises(SealBroken):
            check_job(RING, "job-1", "mail", DATA, seal)


def test_an_envelope_with_any_bit_flipped_is_refused_before_it_is_decoded() -> None:
    for data in flipped(DATA):
        with pytest.raises(SealBroken, match="was changed"):
            check_job(RING, "job-1", "mail", data, SEAL)


@given(st.binary(max_size=60))
def test_a_random_seal_is_refused(seal: bytes) -> None:
    with pytest.raises(SealBroken):
        RING.verify(b"job", b"data", seal)


@pytest.mark.parametrize("seal", [None, b""])
def test_a_missing_seal_is_refused_with_what_to_do(seal: bytes | None) -> None:
    with pytest.raises(SealBroken, match=r"signature is missing.*HOLDFAST_SECRET"):
        check_job(RING, "job-1", "mail", DATA, seal)


def test_a_seal_of_another_length_or_format_is_malformed() -> None:
    assert SEAL is not None
    for seal in (SEAL[:-1], SEAL + b"x", b"\x00" + SEAL[1:]):
        with pytest.raises(SealBroken, match="malformed"):
            RING.verify(b"job", DATA, seal)


def test_a_job_signed_by_the_old_secret_is_accepted_while_that_is_listed() -> None:
    old = seal_job(KeyRing([OLD]), "job-1", DATA)

    verify_job(KeyRing([NEW, OLD]), "job-1", DATA, old)
    with pytest.raises(SealBroken, match="not in this ring"):
        verify_job(KeyRing([NEW]), "job-1", DATA, old)


def test_the_newest_secret_signs() -> None:
    verify_job(KeyRing([NEW]), "job-1", DATA, seal_job(KeyRing([NEW, OLD]), "job-1", DATA))


@pytest.mark.parametrize("secrets", [[NEW], [NEW, OLD], [OLD, NEW]])
def test_a_revoked_secret_stops_at_once_even_if_it_is_still_listed(secrets: list[str]) -> None:
    ring = KeyRing(secrets, revoked=[OLD])

    with pytest.raises(SealBroken, match="which is revoked"):
        verify_job(ring, "job-1", DATA, seal_job(KeyRing([OLD]), "job-1", DATA))
    verify_job(KeyRing([NEW]), "job-1", DATA, seal_job(ring, "job-1", DATA))


def test_a_ring_with_nothing_left_to_sign_with_is_refused() -> None:
    for secrets in ([], [OLD]):
        with pytest.raises(InvalidInput, match="at least one secret that is not revoked"):
            KeyRing(secrets, revoked=[OLD])


def test_secrets_are_parsed_newest_first_and_may_be_bytes() -> None:
    seal = KeyRing.parse(f" {NEW} , {OLD}").sign(b"x", b"data")

    KeyRing([NEW.encode()]).verify(b"x", b"data", seal)


@pytest.mark.parametrize("text", ["", ",", f"{NEW},", f"{NEW},,{OLD}", " "])
def test_a_blank_secret_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="separated by commas") as caught:
        KeyRing.parse(text)
    assert NEW not in str(caught.value)


def test_a_short_secret_is_refused_and_not_shown() -> None:
    with pytest.raises(InvalidInput, match="16 characters or more, got one of 9") as caught:
        KeyRing.parse(f"{NEW},tooshort1")
    assert "tooshort1" not in str(caught.value)


def test_a_ring_does_not_show_its_secrets() -> None:
    ring = KeyRing([NEW, OLD])

    assert NEW not in repr(ring) + str(ring)
    assert OLD not in repr(ring) + str(ring)


def test_a_seal_for_one_purpose_does_not_pass_for_another() -> None:
    with pytest.raises(SealBroken, match="was changed"):
        verify_result(RING, "job-1", DATA, SEAL)


def test_a_seal_is_made_as_written_down_with_a_key_for_its_purpose_alone() -> None:
    key = hmac.digest(NEW.encode(), b"holdfast sign job", "sha256")
    key_id = hmac.digest(NEW.encode(), b"holdfast key id", "sha256")[:8]
    signed = bytes(7) + b"\x03job" + bytes(7) + b"\x04data"

    assert RING.sign(b"job", b"data") == b"\x81" + key_id + hmac.digest(key, signed, "sha256")


@given(st.lists(st.binary(max_size=4), max_size=3), st.lists(st.binary(max_size=4), max_size=3))
def test_no_two_lists_of_parts_give_the_same_bytes(one: list[bytes], other: list[bytes]) -> None:
    assert (joined(*one) == joined(*other)) == (one == other)


def test_a_job_cannot_be_moved_to_another_row() -> None:
    with pytest.raises(SealBroken, match="was changed"):
        check_job(RING, "job-2", "mail", DATA, SEAL)
    with pytest.raises(SealBroken, match="re-bound: it is of job 'job-1' in queue 'mail'"):
        check_job(RING, "job-1", "vip", DATA, SEAL)


def test_an_envelope_sealed_for_a_row_that_it_does_not_name_is_refused() -> None:
    with pytest.raises(SealBroken, match="re-bound"):
        check_job(RING, "job-2", "mail", DATA, seal_job(RING, "job-2", DATA))


def test_without_a_ring_a_job_is_read_unsigned_and_still_held_against_its_row() -> None:
    assert seal_job(None, "job-1", DATA) is None
    assert check_job(None, "job-1", "mail", DATA, None) == ENVELOPE
    assert check_job(None, "job-1", "mail", DATA, SEAL) == ENVELOPE
    with pytest.raises(DecodingFailed, match="re-bound"):
        check_job(None, "job-2", "mail", DATA, None)


def test_genuine_bytes_that_are_no_envelope_are_refused_as_unreadable() -> None:
    junk = msgspec.msgpack.encode(["junk"])

    with pytest.raises(DecodingFailed):
        check_job(RING, "job-1", "mail", junk, seal_job(RING, "job-1", junk))


def test_a_result_cannot_be_moved_to_another_job() -> None:
    seal = seal_result(RING, "job-1", b"\x01\xc0")

    verify_result(RING, "job-1", b"\x01\xc0", seal)
    with pytest.raises(SealBroken):
        verify_result(RING, "job-2", b"\x01\xc0", seal)


def test_a_stored_result_carries_its_seal() -> None:
    stored = close_result(RING, "job-1", b"\x01\xc0")

    assert len(stored) == SEAL_LENGTH + 2
    assert open_result(RING, "job-1", stored) == open_result(None, "job-1", stored) == b"\x01\xc0"
    for damaged in (*flipped(stored), b"\x01\xc0", stored[:20], b""):
        with pytest.raises(SealBroken):
            open_result(RING, "job-1", damaged)


def test_without_a_ring_a_result_is_stored_as_it_is() -> None:
    assert close_result(None, "job-1", b"\x01\xc0") == open_result(None, "job-1", b"\x01\xc0") == b"\x01\xc0"
