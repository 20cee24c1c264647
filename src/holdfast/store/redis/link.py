"""The way to the servers: calls of scripts, in one round trip, sent again when an answer was lost.

A call is one step on the server that holds its queue. If the connection breaks, nobody knows whether it was taken; so it is
sent again, marked as such (ARGV[2]), and every script answers a repeated call with the truth: see the guarantees in
their headers. After some attempts the caller gets `StoreUnavailable`, and may repeat the operation itself: the same
rules hold.

Scripts are called by their digest. A server that does not know one (restarted, SCRIPT FLUSH, another node) is given
it, and what it refused is called again; what it had carried out is not.

Below is `delivery` (sending, sending again) and below that `wiring` (which server).
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import redis

from holdfast.errors import StoreClosed, StoreError, StoreUnavailable
from holdfast.policy.moments import SECOND
from holdfast.store.forking import tell_of_forks
from holdfast.store.protocol import Clock
from holdfast.store.redis.delivery import Delivery
from holdfast.store.redis.keys import Keys
from holdfast.store.redis.opening import wire
from holdfast.store.redis.order import Order
from holdfast.store.redis.patience import Patience
from holdfast.store.redis.replicas import Wait
from holdfast.store.redis.scripts import script
from holdfast.store.redis.told import as_ours, told_as_ours

_WRITES: Final = frozenset({"SADD"})
"""The plain commands that change something."""


class Call(NamedTuple):
    """One call of a script: on the house (no queue) or on one queue."""

    name: str
    queue: str | None
    args: tuple[Any, ...] = ()
    is_again: bool = False
    """Whether an earlier call may have done the same, and its answer was lost."""


def answered(answers: list[Any]) -> list[Any]:
    """Give the answers of `try_run` if there is one among them that is no error, or none at all; else raise the first."""
    if answers and all(isinstance(answer, StoreUnavailable) for answer in answers):
        raise answers[0]
    return answers


class Link:
    """The way to a server or cluster, and the namespace in it. Safe to use from many threads and after a fork."""

    def __init__(
        self, url: str, where: str, namespace: str, clock: Clock | None = None, wait: Wait | None = None
    ) -> None:
        self.where = where
        self.keys = Keys(namespace)
        self._clock = clock
        self._house = self.keys.house[0]
        with told_as_ours(where):
            self.wiring = wire(url, where)
        self._delivery = Delivery(self.wiring, wait)
        tell_of_forks(self)

    @property
    def is_closed(self) -> bool:
        return self._delivery.is_closed

    @property
    def is_virtual(self) -> bool:
        """Whether the moments that decide are not those of the servers' clocks."""
        return self._clock is not None

    def listener(self) -> "redis.Redis":
        """Make a client, with a connection of its own, that hears what is published."""
        with told_as_ours(self.where):
            return self.wiring.listener()

    def call(self, name: str, queue: str | None, *args: Any, now_us: int | None) -> Any:
        """Call one script and give its answer."""
        return self.run([Call(name, queue, args)], now_us)[0]

    def run(self, calls: Sequence[Call], now_us: int | None) -> list[Any]:
        """Call scripts, in one round trip, those of one queue in this order. Give their answers, or raise StoreError.

        The moment that decides is the one given, else that of the store's clock if it was given one, else the server's.
        """
        return self._all(self._deliver(calls, now_us, Patience()))

    def try_run(self, calls: Sequence[Call], now_us: int | None) -> list[Any]:
        """Call scripts, and do not wait long for a server that is down: its calls have StoreUnavailable for an answer.

        For what concerns many queues, so that those on a node that is down do not stop the others. Any other error is
        raised.
        """
        return self._tried(self._deliver(calls, now_us, Patience(is_brief=True)))

    def try_ask(self, *commands: tuple[Any, ...]) -> list[Any]:
        """Send plain commands as `try_run` does calls."""
        self.check_open()
        return self._tried(self._delivery.deliver([self._plain(words) for words in commands], Patience(is_brief=True)))

    def ask(self, *commands: tuple[Any, ...]) -> list[Any]:
        """Send plain commands that may be repeated, in one round trip. Give their answers or raise StoreError."""
        self.check_open()
        return self._all(self._delivery.deliver([self._plain(words) for words in commands], Patience()))

    def now(self) -> int:
        """Tell the store's time: on a cluster that of the node which holds the house."""
        if self._clock is not None:
            return self._clock()
        seconds, micros = self.ask(("TIME",))[0]
        return int(seconds) * SECOND + int(micros)

    def check_open(self) -> None:
        if self.is_closed:
            raise StoreClosed(f"the store at {self.where} was closed. Open it anew.")

    def close(self) -> None:
        self._delivery.is_closed = True
        self.wiring.close()

    def before_fork(self) -> None:
        """Nothing to prepare: a step that is under way stays the parent's."""

    def after_fork_in_parent(self) -> None:
        """Nothing to undo."""

    def after_fork_in_child(self) -> None:
        self.wiring.forget()

    def _deliver(self, calls: Sequence[Call], now_us: int | None, patience: Patience) -> list[Any]:
        self.check_open()
        if not calls:
            return []
        moment = self._clock() if now_us is None and self._clock is not None else now_us
        return self._delivery.deliver([self._order(call, moment) for call in calls], patience)

    def _all(self, answers: list[Any]) -> list[Any]:
        """Give answers if there is no error among them, or raise the first."""
        with told_as_ours(self.where):
            for answer in answers:
                if isinstance(answer, Exception):
                    self.check_open()
                    raise answer
        return answers

    def _tried(self, answers: list[Any]) -> list[Any]:
        told = [as_ours(answer, self.where) for answer in answers]
        for answer in told:
            if isinstance(answer, StoreError):
                self.check_open()
            if isinstance(answer, StoreError) and not isinstance(answer, StoreUnavailable):
                raise answer
        return told

    def _order(self, call: Call, now_us: int | None) -> Order:
        known = script(call.name)
        keys = self.keys.house if call.queue is None else self.keys.of(call.queue)
        told = (self.keys.bell, self.keys.over, call.queue) if known.has_bell else ()
        head = ("EVALSHA", known.sha, len(keys), *keys, "" if now_us is None else now_us)
        return Order(
            (*head, "1" if call.is_again else "", *told, *call.args), keys[0], known.is_write, known, len(head)
        )

    def _plain(self, words: tuple[Any, ...]) -> Order:
        is_keyed = len(words) > 1 and isinstance(words[1], bytes)  # keys are bytes, channels and options are text
        return Order(words, words[1] if is_keyed else self._house, words[0] in _WRITES)
