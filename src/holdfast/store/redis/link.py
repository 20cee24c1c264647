"""The way to the server: calls of scripts, in one round trip, sent again when an answer was lost.

A call is one step on the server. If the connection breaks, nobody knows whether it was taken; so the batch is sent
again, marked as such (ARGV[2]), and every script answers a repeated call with the truth: see the guarantees in
their headers. After some attempts the caller gets `StoreUnavailable`, and may repeat the operation itself: the same
rules hold.

Scripts are called by their digest. A server that does not know one (restarted, SCRIPT FLUSH, another node) is given
it, and what it refused is called again; what it had carried out is not.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

import redis
from redis.backoff import NoBackoff
from redis.exceptions import (
    AuthenticationError,
    AuthorizationError,
    NoScriptError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    ResponseError,
)
from redis.exceptions import (
    ConnectionError as NoConnection,
)
from redis.exceptions import (
    TimeoutError as NoAnswer,
)
from redis.retry import Retry

from holdfast.errors import InvalidInput, StoreClosed, StoreError, StoreUnavailable
from holdfast.policy.moments import SECOND
from holdfast.store.forking import tell_of_forks
from holdfast.store.protocol import Clock
from holdfast.store.redis.keys import Keys
from holdfast.store.redis.scripts import script

_PAUSES_S: Final = (0.0, 0.05, 0.25)
"""How long to rest before each further attempt. A restart takes longer: that is for the caller to sit out."""
ANSWER_S: Final = 30.0


class Call(NamedTuple):
    """One call of a script: on the house (no queue) or on one queue."""

    name: str
    queue: str | None
    args: tuple[Any, ...] = ()


class Link:
    """Connections to one server, and the namespace in it. Safe to use from many threads and after a fork."""

    def __init__(self, url: str, where: str, namespace: str, clock: Clock | None = None) -> None:
        self.where = where
        self.keys = Keys(namespace)
        self._clock = clock
        self.is_closed = False
        self._url = url
        self._client = self.new_client()
        tell_of_forks(self)

    def new_client(self) -> "redis.Redis":
        """Make a client with connections of its own."""
        try:
            return redis.Redis.from_url(self._url, **_SETTINGS)
        except ValueError:  # its text may hold a part of the password: it is not passed on
            raise InvalidInput(
                "the URL of the store cannot be read: expected e.g. redis://user:password@host:6379/0. "
                "Write characters such as / @ : # in a password as %2F %40 %3A %23."
            ) from None

    def call(self, name: str, queue: str | None, *args: Any, now_us: int | None) -> Any:
        """Call one script and give its answer."""
        return self.run([Call(name, queue, args)], now_us)[0]

    def run(self, calls: Sequence[Call], now_us: int | None) -> list[Any]:
        """Call scripts, in one round trip and in this order. Give their answers, or raise StoreError.

        The moment that decides is the one given, else that of the store's clock if it was given one, else the server's.
        """
        self.check_open()
        if not calls:
            return []
        moment = self._clock() if now_us is None and self._clock is not None else now_us
        return self._attempt(lambda is_again: self._send(calls, moment, is_again))

    def ask(self, *commands: tuple[Any, ...]) -> list[Any]:
        """Send plain commands that may be repeated, in one round trip. Give their answers or raise StoreError."""
        self.check_open()
        return self._attempt(lambda _: self._execute(commands))

    def now(self) -> int:
        """Tell the store's time."""
        if self._clock is not None:
            return self._clock()
        seconds, micros = self.ask(("TIME",))[0]
        return int(seconds) * SECOND + int(micros)

    def check_open(self) -> None:
        if self.is_closed:
            raise StoreClosed(f"the store at {self.where} was closed. Open it anew.")

    def close(self) -> None:
        self.is_closed = True
        self._client.close()
        self._client.connection_pool.disconnect()

    def before_fork(self) -> None:
        """Nothing to prepare: a step that is under way stays the parent's."""

    def after_fork_in_parent(self) -> None:
        """Nothing to undo."""

    def after_fork_in_child(self) -> None:
        # Forgotten, not closed: the parent goes on using the same connections, and a thread that is not here may have
        # held the pool's lock. What was idle the garbage collector lets go of, without a word to the server.
        self._client.auto_close_connection_pool = False
        self._client = self.new_client()

    def _attempt(self, act: Callable[[bool], list[Any]]) -> list[Any]:
        with told_as_ours(self.where):
            for place, pause_s in enumerate(_PAUSES_S):
                try:
                    return act(place > 0)
                except (AuthenticationError, AuthorizationError):
                    raise
                except (NoConnection, NoAnswer):
                    if self.is_closed:
                        self.check_open()
                    time.sleep(pause_s)
            return act(True)

    def _send(self, calls: Sequence[Call], now_us: int | None, is_again: bool) -> list[Any]:
        commands = [self._command(call, now_us, is_again) for call in calls]
        answers = self._execute(commands)
        while unknown := [place for place, answer in enumerate(answers) if isinstance(answer, NoScriptError)]:
            self._execute([("SCRIPT LOAD", script(name).text) for name in {calls[place].name for place in unknown}])
            for place, answer in zip(unknown, self._execute([commands[place] for place in unknown]), strict=True):
                answers[place] = answer
        return answers

    def _command(self, call: Call, now_us: int | None, is_again: bool) -> tuple[Any, ...]:
        known = script(call.name)
        keys = self.keys.house if call.queue is None else self.keys.of(call.queue)
        told = (self.keys.bell, self.keys.over, call.queue) if known.has_bell else ()
        again = "1" if is_again else ""
        return ("EVALSHA", known.sha, len(keys), *keys, "" if now_us is None else now_us, again, *told, *call.args)

    def _execute(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Send commands and give the answers; unknown scripts are answers too. Any other error is raised."""
        if len(commands) == 1:
            try:
                return [self._client.execute_command(*commands[0])]  # type: ignore[no-untyped-call] # redis-py's
            except NoScriptError as unknown:
                return [unknown]
        pipeline = self._client.pipeline(transaction=False)
        for command in commands:
            pipeline.execute_command(*command)  # type: ignore[no-untyped-call] # redis-py's
        answers: list[Any] = pipeline.execute(raise_on_error=False)
        for answer in answers:
            if isinstance(answer, RedisError) and not isinstance(answer, NoScriptError):
                raise answer
        return answers


@contextmanager
def told_as_ours(where: str) -> Iterator[None]:
    """Raise the driver's errors as Holdfast's."""
    try:
        yield
    except OutOfMemoryError as error:
        raise StoreError(
            f"{where} is out of memory (maxmemory is reached) and stores no new jobs; claims and verdicts still work. "
            "Let workers drain it, or raise maxmemory."
        ) from error
    except (AuthenticationError, AuthorizationError) as error:
        raise StoreUnavailable(
            f"{where} does not let us in: {_said(error)}. Check user and password in the URL."
        ) from error
    except ReadOnlyError as error:
        raise StoreUnavailable(f"{where} is a replica and takes no writes. Let the URL name the primary.") from error
    except (NoConnection, NoAnswer) as error:
        raise StoreUnavailable(f"{where} cannot be reached: {_said(error)}. Is the server running?") from error
    except (ResponseError, RedisError) as error:
        raise StoreError(f"{where} refused: {_said(error)}") from error


def _said(error: Exception) -> str:
    return str(error).rstrip(".")


_SETTINGS: Final[dict[str, Any]] = {
    "protocol": 2,
    "decode_responses": False,
    "socket_timeout": ANSWER_S,
    "socket_connect_timeout": 5.0,
    "retry": Retry(NoBackoff(), 0),  # attempts are ours: only we know how to say that a call is sent again
    "health_check_interval": 0,
}
