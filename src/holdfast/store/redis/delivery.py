"""Orders are delivered: each to the server that its key is for, and once more when that is the only way to know.

A round sends what is left to all servers concerned, then reads all answers. An order is done with its answer, or goes
another round:

    NOSCRIPT                 the server is given the script                           at once
    MOVED, ASK               it goes where it was sent                                at once, a bounded number of times
    TRYAGAIN, CLUSTERDOWN,   it was not carried out, and may be soon                  for up to about two seconds
    MASTERDOWN, LOADING
    no answer                nobody knows whether it was carried out: it goes with    three times, within about 0.3 s
                             a mark that it is sent again, perhaps to another server

Only what got no answer is sent again; what had been answered is not. Orders for one server keep their sequence, so those of
one queue do. (One that was turned away may be overtaken by a later one of its batch; each is a step of its own, and its
answer is true.)

What cannot be delivered has the last error for its answer. A process that dies in the middle leaves orders that were carried
out or were not; each script says in its header why neither does harm.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from typing import Any, Final

from redis.exceptions import (
    AskError,
    AuthenticationError,
    AuthorizationError,
    BusyLoadingError,
    ClusterDownError,
    MovedError,
    NoScriptError,
    ReadOnlyError,
    RedisError,
    TryAgainError,
)
from redis.exceptions import ConnectionError as NoConnection
from redis.exceptions import TimeoutError as NoAnswer

from holdfast.errors import StoreError
from holdfast.store.redis.node import Flight, Node, Words
from holdfast.store.redis.order import Order
from holdfast.store.redis.patience import Patience
from holdfast.store.redis.replicas import NotCopied, Wait
from holdfast.store.redis.scripts import Script
from holdfast.store.redis.wiring import Wiring

HOPS: Final = (NoScriptError, AskError)  # MOVED is a kind of ASK to the driver
NOT_NOW: Final = (
    TryAgainError,
    ClusterDownError,
    BusyLoadingError,
)  # MASTERDOWN is a kind of CLUSTERDOWN to the driver
LOST: Final = (NoConnection, NoAnswer)
_SHUT_OUT: Final = (AuthenticationError, AuthorizationError)
_ASKING: Final[Words] = ("ASKING",)


class Delivery:
    """Delivers orders over a wiring, until it is closed."""

    def __init__(self, wiring: Wiring, wait: Wait | None = None) -> None:
        self.wiring = wiring
        self._wait = wait
        self.is_closed = False

    def deliver(self, orders: Sequence[Order], patience: Patience) -> list[Any]:
        """Give an answer to each order; for those that failed, the error."""
        answers: list[Any] = [None] * len(orders)
        left = {place: _Parcel(order) for place, order in enumerate(orders)}
        while True:
            for place, answer in self._round(left):
                answers[place] = answer
                if not self._goes_on(answer):
                    del left[place]
            if not left:
                return answers
            pause_s = None if self.is_closed else patience.pause_s([answers[place] for place in left])
            if pause_s is None:
                return answers
            time.sleep(pause_s)

    def _goes_on(self, answer: object) -> bool:
        if isinstance(answer, ReadOnlyError):
            return self.wiring.is_led
        return isinstance(answer, (*HOPS, *NOT_NOW, *LOST)) and not isinstance(answer, _SHUT_OUT)

    def _round(self, left: "dict[int, _Parcel]") -> Iterator[tuple[int, Any]]:
        groups, failures = self._by_node(left)
        yield from failures.items()
        with ExitStack() as stack:
            trips = [stack.enter_context(_Trip(node, group, self._wait)) for node, group in groups.items()]
            found = [(trip.node, trip.answers()) for trip in trips]
        for node, answers in found:
            self._learn(node, [left[place] for place in answers], list(answers.values()))
            yield from answers.items()

    def _by_node(self, left: "dict[int, _Parcel]") -> "tuple[dict[Node, dict[int, _Parcel]], dict[int, Exception]]":
        groups: dict[Node, dict[int, _Parcel]] = {}
        failures: dict[int, Exception] = {}
        for place, parcel in left.items():
            try:
                node = parcel.sent_to or self.wiring.node_for(parcel.order.key)
            except (RedisError, StoreError) as error:
                failures[place] = error
            else:
                groups.setdefault(node, {})[place] = parcel
        return groups, failures

    def _learn(self, node: Node, parcels: "list[_Parcel]", answers: list[Any]) -> None:
        """Take from a server's answers what the next round has to know."""
        unknown: dict[str, Script] = {}
        is_doubted = False
        for parcel, answer in zip(parcels, answers, strict=True):
            parcel.sent_to = None
            if isinstance(answer, NoScriptError) and parcel.order.script:
                unknown[parcel.order.script.name] = parcel.order.script
            elif isinstance(answer, MovedError):
                self.wiring.moved(node, answer)
            elif isinstance(answer, AskError):
                parcel.sent_to = self.wiring.importing(node, answer)
            elif isinstance(answer, LOST) and not isinstance(answer, _SHUT_OUT):
                parcel.order = parcel.order.again()
                is_doubted = True
            elif isinstance(answer, ReadOnlyError | ClusterDownError):
                is_doubted = True
        if is_doubted:
            self.wiring.doubt(node)
        if unknown:
            with suppress(*LOST):  # nothing is lost by that: the next round finds the same
                node.load(list(unknown.values()))


class _Parcel:
    """An order on its way."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self.sent_to: Node | None = None
        """Where ASK has sent it, for one time."""


class _Trip:
    """The parcels for one node, with what has to go along: ASKING before, WAIT behind."""

    def __init__(self, node: Node, parcels: dict[int, _Parcel], wait: Wait | None) -> None:
        self.node = node
        self._parcels = parcels
        self._wait = wait if wait and any(one.order.is_write for one in parcels.values()) else None
        self._flight = Flight(node, list(self._commands()))

    def __enter__(self) -> "_Trip":
        self._flight.__enter__()
        return self

    def __exit__(self, *told: Any) -> None:
        self._flight.__exit__(*told)

    def answers(self) -> dict[int, Any]:
        """Read the answers. A write that too few replicas have is an error."""
        told = iter(self._flight.answers())
        found: dict[int, Any] = {}
        for place, parcel in self._parcels.items():
            if parcel.sent_to:
                next(told)
            found[place] = next(told)
        if self._wait:
            self._check_copies(found, next(told), self._wait)
        return found

    def _commands(self) -> Iterator[Words]:
        for parcel in self._parcels.values():
            if parcel.sent_to:
                yield _ASKING
            yield parcel.order.words
        if self._wait:
            yield self._wait.words

    def _check_copies(self, found: dict[int, Any], copies: Any, wait: Wait) -> None:
        if isinstance(copies, int) and copies >= wait.replicas:
            return
        told = copies if isinstance(copies, int) else 0
        error = copies if isinstance(copies, Exception) and not isinstance(copies, LOST) else None
        for place, parcel in self._parcels.items():
            if parcel.order.is_write and not isinstance(found[place], Exception):
                found[place] = error or NotCopied(f"{told} of {wait.replicas} replicas have it after {wait.ms} ms")
