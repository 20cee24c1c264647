"""How long to go on trying."""

import itertools

from redis.exceptions import ConnectionError as NoConnection
from redis.exceptions import MovedError, TryAgainError

from holdfast.store.redis.patience import Patience

MOVED, LATER, LOST = MovedError("1 a:1"), TryAgainError("later"), NoConnection("cut")


def rests(patience: Patience, *errors: object) -> list[float]:
    """Give all rests, until it gives up."""
    found = (patience.pause_s(errors) for _ in itertools.count())
    return [rest for rest in itertools.takewhile(lambda rest: rest is not None, found) if rest is not None]


def test_what_got_no_answer_is_sent_three_more_times_within_a_third_of_a_second() -> None:
    assert rests(Patience(), LOST) == [0.0, 0.05, 0.25]


def test_what_was_put_off_is_tried_for_about_two_seconds() -> None:
    assert 1.5 < sum(rests(Patience(), LATER)) < 2.5


def test_what_was_sent_elsewhere_goes_at_once_and_not_for_ever() -> None:
    assert rests(Patience(), MOVED) == [0.0] * 20


def test_one_who_is_in_a_hurry_tries_once_more() -> None:
    assert rests(Patience(is_brief=True), LOST) == [0.0]


def test_the_first_kind_of_error_that_is_used_up_ends_it() -> None:
    assert len(rests(Patience(), LOST, LATER, MOVED)) == 3
