"""A line that breaks behind a call: the server has done it, and nobody hears of that."""

from typing import Any

import pytest
from redis.exceptions import ConnectionError as NoConnection

from holdfast.store.redis.node import Flight


def lose_answers(monkeypatch: pytest.MonkeyPatch, number: int, after: int = 0) -> None:
    """Carry out what is sent, and lose so many answers to calls of scripts, after some that arrive."""
    real = Flight.answers

    def answers(flight: Flight) -> list[Any]:
        nonlocal number, after
        found = real(flight)
        if flight._commands[0][0] != "EVALSHA" or any(isinstance(one, Exception) for one in found):
            return found
        after -= 1
        if after >= 0 or number <= 0:
            return found
        number -= 1
        return [NoConnection("the line was cut") for _ in found]

    monkeypatch.setattr(Flight, "answers", answers)
