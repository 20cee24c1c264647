"""Waiting for copies: `?wait_replicas=1&wait_ms=1000` in the URL.

A primary tells of success before its replicas have heard of it. If it is then lost and a replica takes over, what had not
reached that replica is gone. With `wait_replicas` every batch that writes is followed by WAIT on the same line, and success
is told only when so many replicas have it. That is no vote: a replica that has less may still be the one that takes over, if
it is promoted by force, or if fewer replicas are waited for than there are.
"""

from typing import Final, NamedTuple

from redis.exceptions import RedisError

from holdfast.errors import InvalidInput

OPTIONS: Final = ("wait_replicas", "wait_ms")
_DEFAULT_MS, _MOST_MS, _MOST_REPLICAS = 1000, 20_000, 100


class Wait(NamedTuple):
    """How many replicas must have a write, and how long that may take."""

    replicas: int
    ms: int

    @property
    def words(self) -> tuple[str, int, int]:
        return ("WAIT", self.replicas, self.ms)


class NotCopied(RedisError):
    """Fewer replicas than asked for have told in time that they have a write. The primary has it."""


def read_wait(options: dict[str, str]) -> Wait | None:
    """Read our options out of a URL's."""
    if "wait_replicas" not in options:
        if "wait_ms" in options:
            raise InvalidInput("wait_ms is how long to wait for replicas: give wait_replicas=1 as well")
        return None
    replicas = _number("wait_replicas", options["wait_replicas"], _MOST_REPLICAS)
    return Wait(replicas, _number("wait_ms", options.get("wait_ms", str(_DEFAULT_MS)), _MOST_MS))


def _number(name: str, text: str, most: int) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= most):
        raise InvalidInput(f"expected {name} to be a whole number from 1 to {most:,}, got: {text!r}")
    return int(text)
