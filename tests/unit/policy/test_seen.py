"""What is kept of a key, where it stands in an approximate set, and how often such a set errs."""

import math

import pytest

from holdfast.errors import InvalidInput
from holdfast.model.seen import SeenRecord, Sketch
from holdfast.policy.seen import (
    BLOCK_BITS,
    BLOCK_BYTES,
    LEAST_ERROR,
    MOST_BLOCKS,
    MOST_ERROR,
    check_can_forget,
    check_can_have_ttl,
    digest,
    expected_error,
    holds,
    mismatch,
    most_bytes,
    place,
    put,
    sketch,
    told,
)

TRIES = 40_000
ERRORS = [LEAST_ERROR, 1e-5, 1e-4, 0.0007, 0.001, 0.01, 0.03, 0.1, 0.18, MOST_ERROR]


def filled(shape: Sketch, keys: int) -> list[bytearray]:
    blocks = [bytearray(BLOCK_BYTES) for _ in range(shape.blocks)]
    for number in range(keys):
        block, bits = place(digest(f"key {number}"), shape)
        put(blocks[block], bits)
    return blocks


def error_of(shape: Sketch, blocks: list[bytearray], tries: int) -> float:
    places = (place(digest(f"other {number}"), shape) for number in range(tries))
    return sum(holds(blocks[block], bits) for block, bits in places) / tries


def test_a_digest_is_the_same_everywhere_and_for_ever() -> None:
    """It is stored: another digest would make every key new."""
    assert digest("https://a.example/").hex() == "6b6c70ad956a4f1f4873497f2c5e20ff"
    assert digest("https://a.example/", "2").hex() == "4a82bc5b618304d876362ebbf2598198"


def test_a_key_with_a_version_is_no_other_key_without_one() -> None:
    assert len({digest("a"), digest("a", "1"), digest("a", "2"), digest("a\0001"), digest("a1")}) == 5


def chance(error: float) -> float:
    """Give how far so many tries may be off."""
    return 3 * math.sqrt(error / TRIES)


@pytest.mark.parametrize("error", ERRORS)
def test_places_are_within_the_block_and_blocks_within_the_set(error: float) -> None:
    shape = sketch(100_000, error)
    found = [place(digest(f"key {number}"), shape) for number in range(2000)]
    assert {block for block, _ in found} == set(range(shape.blocks))
    assert all(0 <= bit < BLOCK_BITS for _, bits in found for bit in bits)
    assert all(len(bits) == shape.hashes for _, bits in found)


def test_the_place_of_a_key_is_the_same_everywhere_and_for_ever() -> None:
    """It is stored, too; and scripts on servers compute it by themselves."""
    assert place(digest("https://a.example/"), sketch(100_000, 0.01)) == (
        7,
        [20255, 24849, 1537, 15855, 2267, 26309, 22445],
    )


def test_a_key_that_was_put_is_held_and_is_new_once() -> None:
    block = bytearray(BLOCK_BYTES)
    assert not holds(block, [0, 32_767])
    assert (put(block, [0, 32_767]), put(block, [32_767, 0])) == (True, False)
    assert (block[0], block[-1], sum(block)) == (128, 1, 129)
    assert holds(block, [0, 32_767])
    assert not holds(block, [0, 1])


@pytest.mark.parametrize(("keys", "error"), [(5_000, 0.01), (18_300, 0.001), (20_000, 0.1), (20_000, 0.25)])
def test_a_full_set_errs_as_often_as_it_says(keys: int, error: float) -> None:
    shape = sketch(keys, error)
    measured = error_of(shape, filled(shape, keys), TRIES)
    assert measured == pytest.approx(expected_error(shape, keys), abs=chance(error))
    assert measured < error + chance(error)


@pytest.mark.parametrize("share", [0.25, 0.5, 2, 4])
def test_it_is_told_how_often_a_set_errs_that_is_not_full_or_too_full(share: float) -> None:
    shape = sketch(20_000, 0.05)
    keys = round(20_000 * share)
    expected = expected_error(shape, keys)
    assert error_of(shape, filled(shape, keys), TRIES) == pytest.approx(expected, abs=chance(expected))


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("capacity", [1, 10, 1000, 5000, 100_000, 10_000_000, 100_000_000])
def test_a_full_set_is_expected_to_err_no_more_often_than_it_promises(capacity: int, error: float) -> None:
    shape = sketch(capacity, error) if capacity * -math.log(error) < 1.9e9 else sketch(capacity, 0.01)
    assert expected_error(shape, capacity) <= shape.error
    assert expected_error(shape, 0) == 0
    assert (
        expected_error(shape, capacity // 2) <= expected_error(shape, capacity) <= expected_error(shape, capacity * 2)
    )
    assert expected_error(shape, capacity * 10_000 + BLOCK_BITS * 100 * shape.blocks) == pytest.approx(1)


def test_a_shape_tells_how_much_room_it_takes() -> None:
    assert most_bytes(sketch(1, 0.001)) == BLOCK_BYTES
    assert most_bytes(sketch(100_000_000, 0.001)) / 2**20 == pytest.approx(176.6, abs=0.1)


def test_what_a_store_could_not_keep_is_refused() -> None:
    most = int(MOST_BLOCKS * BLOCK_BITS / (-math.log(0.001) / math.log(2) ** 2 * 1.03))
    assert sketch(most, 0.001).blocks <= MOST_BLOCKS
    with pytest.raises(InvalidInput, match=rf"expected a capacity of {most:,} keys or fewer at an error of 0.001"):
        sketch(most + 100, 0.001)


def test_what_is_told_of_an_exact_set_is_what_the_store_tells() -> None:
    assert told(SeenRecord("q", 5)) == SeenRecord("q", 5)
    shape = sketch(1000, 0.01)
    assert told(SeenRecord("q", 500, shape)) == SeenRecord("q", 500, shape, BLOCK_BYTES, expected_error(shape, 500))


def test_a_shape_is_the_one_that_was_asked_for_if_it_is_for_as_many_keys_at_the_same_error() -> None:
    shape = sketch(1000, 0.01)
    assert mismatch("q", shape, Sketch(1000, 0.01, blocks=9, hashes=9)) is None, "an older one, reckoned otherwise"
    assert "exact, and holds keys" in (mismatch("q", shape, None) or "")
    assert "for 1,000 keys at an error of 0.02" in (mismatch("q", shape, sketch(1000, 0.02)) or "")
    assert "for 1,001 keys" in (mismatch("q", shape, sketch(1001, 0.01)) or "")


def test_an_exact_set_gives_times_and_forgets() -> None:
    check_can_forget("q", None)
    check_can_have_ttl("q", None)
