"""A line that breaks behind a call: the server has done it, and nobody hears of that."""

from typing import Any

import pytest
from redis.exceptions import ConnectionError as NoConnection

from holdfast.store.redis.node import Flight


def lose_answers(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Carry out what is sent, and lose the next answers to calls of scripts."""
    real = Flight.answers

    def answers(flight: Flight) -> list[Any]:
        nonlocal number
        found = real(flight)
        if number > 0 and flight._commands[0][0] == "EVALSHA" and not any(isinstance(one, Exception) for one in found):
            number -= 1
            return [NoConnection("the line was cut") for _ in found]
        return found

    monkeypatch.setattr(Flight, "answers", answers)
