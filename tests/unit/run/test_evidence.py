"""Whatever an exception is like, it leaves bounded text that every store can keep."""

import pytest

from holdfast.errors import ArgumentMismatch
from holdfast.run import evidence


class Silent(Exception):
    def __str__(self) -> str:
        raise ValueError("I will not say")


def raised(error: BaseException, cause: BaseException | None = None) -> BaseException:
    try:
        raise error from cause
    except BaseException as caught:  # noqa: BLE001 - whatever was given is given back, with a traceback
        return caught


@pytest.mark.parametrize(
    ("error", "summary"),
    [
        (ValueError("bad"), "ValueError: bad"),
        (ValueError(), "ValueError"),
        (KeyError("x"), "KeyError: 'x'"),
        (ArgumentMismatch("no"), "holdfast.errors.ArgumentMismatch: no"),
        (Silent(), f"{__name__}.Silent: <no message: its __str__ raised ValueError>"),
        (ValueError("a\x00b\ud800"), "ValueError: a\\x00b\\ud800"),
    ],
)
def test_a_summary_is_type_and_message(error: BaseException, summary: str) -> None:
    assert evidence.summary(error) == summary


def test_a_summary_is_cut_to_size() -> None:
    assert len(evidence.summary(ValueError("\ud800" * 10_000_000))) == evidence.LONGEST_ERROR


def test_a_traceback_begins_with_the_users_code_and_shows_causes() -> None:
    text = evidence.trace(raised(ValueError("outer"), raised(KeyError("inner"))))
    assert "KeyError: 'inner'" in text
    assert "The above exception was the direct cause" in text
    assert text.rstrip().endswith("ValueError: outer")
    assert "test_evidence.py" in text


@pytest.mark.parametrize("error", [Silent(), ValueError("\ud800\x00"), ExceptionGroup("g", [ValueError("v")])])
def test_a_traceback_of_anything_can_be_stored(error: BaseException) -> None:
    text = evidence.trace(raised(error))
    assert text.encode()
    assert "\x00" not in text


def test_a_ring_of_causes_is_followed_once() -> None:
    first, second = ValueError("first"), ValueError("second")
    second.__cause__ = first
    assert "second" in evidence.trace(raised(first, second))


def test_a_long_traceback_keeps_both_ends() -> None:
    text = evidence.trace(raised(ValueError("x" * 100_000 + " the end"), raised(KeyError("the beginning"))))
    assert len(text) <= evidence.LONGEST_TRACEBACK
    assert "the beginning" in text
    assert "the end" in text
    assert "characters left out" in text


def test_recursion_leaves_a_traceback_too() -> None:
    def dig() -> None:
        dig()

    with pytest.raises(RecursionError) as caught:
        dig()
    assert "RecursionError" in evidence.trace(caught.value)
