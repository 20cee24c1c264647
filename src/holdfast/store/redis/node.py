"""One server, and a flight: commands that were sent to it, whose answers are still to be read.

Sending and reading are apart so that a batch for three nodes is first sent to all three and then read: it costs about one
round trip. A connection whose answers were not all read (the line broke, or whoever waited was interrupted) is closed, so
that nobody reads another's answers from it.
"""

from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

import redis
from redis.exceptions import ConnectionError as NoConnection
from redis.exceptions import ResponseError
from redis.exceptions import TimeoutError as NoAnswer

from holdfast.store.redis.scripts import Script

Words = tuple[Any, ...]


class Node:
    """A server's name, as it is shown, and the connections to it."""

    def __init__(self, name: str, client: "redis.Redis") -> None:
        self.name = name
        self.client = client

    def __repr__(self) -> str:
        return f"Node({self.name})"

    def execute(self, *commands: Words) -> list[Any]:
        """Send commands and give their answers. Raise the first error."""
        with Flight(self, commands) as flight:
            answers = flight.answers()
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
        return answers

    def load(self, scripts: Sequence[Script]) -> None:
        """Give the server scripts that it does not know."""
        self.execute(*[("SCRIPT LOAD", one.text) for one in scripts])

    def close(self) -> None:
        self.client.close()
        self.client.connection_pool.disconnect()

    def forget(self) -> None:
        """Let go of connections that are a parent process's, without a word to the server.

        Forgotten, not closed: the parent goes on using them, and a thread that is not here may have held the pool's lock.
        What was idle the garbage collector lets go of.
        """
        self.client.auto_close_connection_pool = False


class Flight:
    """Commands sent to one server, from `with` until their answers are read. Errors are answers, too."""

    def __init__(self, node: Node, commands: Sequence[Words]) -> None:
        self._client = node.client
        self._commands = commands
        self._connection: Any = None
        self._failure: Exception | None = None
        self._unread = 0

    def __enter__(self) -> Self:
        try:
            self._connection = self._client.connection_pool.get_connection()
            self._unread = len(self._commands)
            self._connection.send_packed_command(self._connection.pack_commands(self._commands))
        except (NoConnection, NoAnswer) as error:
            self._failure = error
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._end()

    def answers(self) -> list[Any]:
        """Read all answers. What got none has the connection's error in its place."""
        return [self._failure or self._answer(command) for command in self._commands]

    def _answer(self, command: Words) -> Any:
        try:
            answer = self._client.parse_response(self._connection, command[0])  # type: ignore[no-untyped-call] # redis-py's
        except ResponseError as refusal:
            answer = refusal
        except (NoConnection, NoAnswer) as error:
            self._failure = error
            return error
        self._unread -= 1
        return answer

    def _end(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            if self._unread:
                connection.disconnect()
            self._client.connection_pool.release(connection)
