"""Weights, as they are given and as they are written on a command line."""

from typing import Any

import pytest

from holdfast.errors import InvalidInput, InvalidName
from holdfast.policy.shares import lane_weights, parse_shares, queue_weights


@pytest.mark.parametrize(
    ("text", "shares"),
    [
        ("a", {"a": 1}),
        ("a,b", {"a": 1, "b": 1}),
        (" critical:4, default:2 ,bulk", {"critical": 4, "default": 2, "bulk": 1}),
        ("shard:1:3", {"shard:1": 3}),
        ("mail:eu", {"mail:eu": 1}),
    ],
)
def test_shares_are_read_in_the_order_given(text: str, shares: dict[str, int]) -> None:
    assert list(parse_shares(text).items()) == list(shares.items())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "names separated by commas, e.g. mail,default, got: ''"),
        ("a,,b", "names separated by commas"),
        (":4", "names separated by commas"),
        ("a:0", "the weight of 'a' in --queues to be an integer from 1 to 100, got: 0"),
        ("a:101", "got: 101"),
        ("a,a:2", "each queue once, got 'a' twice"),
        ("a b:2", "expected a queue name"),
    ],
)
def test_senseless_shares_are_refused(text: str, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        parse_shares(text)


@pytest.mark.parametrize("weight", [0, -1, 101, 1.5, True, "4", None])
def test_a_weight_is_an_integer_from_1_to_100(weight: Any) -> None:
    with pytest.raises(InvalidInput, match="the weight of 'gold' in weights to be an integer from 1 to 100"):
        lane_weights({"gold": weight})


def test_weights_have_names() -> None:
    assert lane_weights({"gold": 100, "süß": 1}) == {"gold": 100, "süß": 1}
    with pytest.raises(InvalidName, match="a lane to be printable text of 1 to 256 characters"):
        lane_weights({"": 1})
    with pytest.raises(InvalidInput, match="expected weights to give lanes their weights"):
        lane_weights(["gold"])
    with pytest.raises(InvalidInput, match="at least one queue"):
        queue_weights({})
