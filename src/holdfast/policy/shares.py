"""Weights: how lanes share a queue, and queues a worker. Checked here, and read as people write them on a command line."""

from collections.abc import Callable, Mapping
from typing import Final

from holdfast.errors import InvalidInput
from holdfast.policy.names import check_lane, check_queue

MOST: Final = 100
"""The greatest weight: with it, what has the weight 1 still gets its turn once in a hundred."""


def lane_weights(value: object) -> dict[str, int]:
    """Check the weights of lanes; those that are not named have the weight 1."""
    return _weights(value, check_lane, "weights", "lanes", "{'gold': 4}")


def queue_weights(value: object) -> dict[str, int]:
    """Check the weights of the queues that a worker serves, which are all that it serves."""
    weights = _weights(value, check_queue, "queues", "queues", "{'critical': 4, 'default': 1}")
    if not weights:
        raise InvalidInput("expected queues to name at least one queue, or to be None for all, got: {}")
    return weights


def parse_shares(text: str, what: str = "--queues") -> dict[str, int]:
    """Read `critical:4,default:2,bulk`. A name may itself end in a colon and a number: then give it a weight as well."""
    shares: dict[str, int] = {}
    for part in text.split(","):
        name, weight = _split(part.strip())
        if not name:
            raise InvalidInput(f"expected {what} to be names separated by commas, e.g. mail,default, got: {text!r}")
        if name in shares:
            raise InvalidInput(f"expected {what} to name each queue once, got {name!r} twice: {text!r}")
        shares[check_queue(name)] = _weight(weight, f"the weight of {name!r} in {what}")
    return shares


def _split(part: str) -> tuple[str, int]:
    name, colon, weight = part.rpartition(":")
    return (name, int(weight)) if colon and weight.isascii() and weight.isdigit() else (part, 1)


def _weights(value: object, check: Callable[[object], str], what: str, whose: str, example: str) -> dict[str, int]:
    if not isinstance(value, Mapping):
        raise InvalidInput(f"expected {what} to give {whose} their weights, e.g. {example}, got: {value!r}")
    return {check(name): _weight(weight, f"the weight of {name!r} in {what}") for name, weight in value.items()}


def _weight(value: object, what: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MOST:
        return value
    raise InvalidInput(f"expected {what} to be an integer from 1 to {MOST}, got: {value!r}")
