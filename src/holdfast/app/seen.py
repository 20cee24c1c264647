"""The seen-set of a queue, as a program uses it: `app.seen("crawl").add(urls)`.

What a task marks by `once=True` is the same set. Every step of a thousand keys is one step of the store; if the program
dies between two of them, the first thousand is marked and the rest is not, and adding all of them again does no harm.

An approximate set is asked for by its capacity. It takes on that shape while it is empty, with the first use or with the
first push that asks it; a set that is there in another shape is refused, never bent.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final

from holdfast.app.options import whole_number
from holdfast.errors import InvalidInput
from holdfast.model.seen import SeenRecord, Sketch
from holdfast.policy.moments import duration_us
from holdfast.policy.names import check_key, check_queue, check_version
from holdfast.policy.seen import LEAST_ERROR, MOST_ERROR, check_can_forget, check_can_have_ttl, digest, sketch, told

if TYPE_CHECKING:
    from holdfast.app.app import Holdfast
    from holdfast.app.option_types import Seconds
    from holdfast.store.protocol import Seen

_SLICE: Final = 1000
_ERROR: Final = 0.001
_INFINITE: Final = float("inf")


class SeenSet:
    """The keys that were seen in one queue. It need not exist yet: it is empty until somebody adds to it."""

    __slots__ = ("_app", "_sketch", "name")

    def __init__(self, app: "Holdfast", name: str, shape: Sketch | None = None) -> None:
        self._app = app
        self.name = check_queue(name)
        self._sketch = shape

    def add(self, keys: Iterable[str], ttl: "Seconds | None" = None, *, version: str | int | None = None) -> list[str]:
        """Mark keys as seen, for ever or for a time. Give those that were new, in order, each once.

        All keys are checked before the first is marked. One that is there keeps the term it has.
        """
        texts, ttl_us, of = _texts(keys), _ttl_us(ttl), _version(version)
        seen = self._door(adds=True)
        if ttl_us is not None:
            check_can_have_ttl(self.name, seen.shape(self.name))
        return [
            text
            for batch in _slices(texts)
            for text, is_new in zip(batch, seen.add(self.name, _digests(batch, of), ttl_us), strict=True)
            if is_new
        ]

    def known(self, keys: Iterable[str], *, version: str | int | None = None) -> list[str]:
        """Give those of the keys that were seen, in order, each once."""
        texts, of = _texts(keys), _version(version)
        seen = self._door()
        return [
            text
            for batch in _slices(texts)
            for text, is_known in zip(batch, seen.has(self.name, _digests(batch, of)), strict=True)
            if is_known
        ]

    def discard(self, keys: Iterable[str], *, version: str | int | None = None) -> int:
        """Forget keys, so that they are new again. Return how many were there."""
        texts, of = _texts(keys), _version(version)
        seen = self._door()
        check_can_forget(self.name, seen.shape(self.name))
        return sum(sum(seen.discard(self.name, _digests(batch, of))) for batch in _slices(texts))

    def clear(self) -> int:
        """Forget all keys, and the shape: the set is exact until it is shaped anew. Return how many keys there were."""
        number = self._app.store.seen.clear(self.name)
        self._app.connection().unsettle(self.name)
        return number

    def count(self) -> int:
        """Count the keys."""
        return self._door().get(self.name).count

    def record(self) -> SeenRecord:
        """Give all that can be seen of the set now: its keys, its shape, how much room that takes and how often it errs."""
        return told(self._door().get(self.name))

    def __len__(self) -> int:
        return self.count()

    def __contains__(self, key: object) -> bool:
        return self._door().has(self.name, [digest(check_key(key))]) == [True]

    # --- the same, awaited --------------------------------------------------------------------------------

    async def aadd(
        self, keys: Iterable[str], ttl: "Seconds | None" = None, *, version: str | int | None = None
    ) -> list[str]:
        """As `add`, without blocking the event loop."""
        import asyncio

        return await asyncio.to_thread(self.add, keys, ttl, version=version)

    async def aknown(self, keys: Iterable[str], *, version: str | int | None = None) -> list[str]:
        """As `known`, without blocking the event loop."""
        import asyncio

        return await asyncio.to_thread(self.known, keys, version=version)

    async def adiscard(self, keys: Iterable[str], *, version: str | int | None = None) -> int:
        """As `discard`, without blocking the event loop."""
        import asyncio

        return await asyncio.to_thread(self.discard, keys, version=version)

    async def aclear(self) -> int:
        """As `clear`, without blocking the event loop."""
        import asyncio

        return await asyncio.to_thread(self.clear)

    # --- inside -------------------------------------------------------------------------------------------

    def _door(self, *, adds: bool = False) -> "Seen":
        """Give the store's door, behind which the set has the shape that was asked for."""
        connection = self._app.connection()
        if self._sketch is not None:
            # Somebody may have cleared it meanwhile: then what is added would grow an exact set without bound.
            connection.settle(self.name, self._sketch, again=adds)
        return connection.store.seen

    def __repr__(self) -> str:
        return f"<SeenSet {self.name}>"


def shape_of(capacity: object, error: object) -> Sketch | None:
    """Give the shape that is asked for, or None if none is."""
    if capacity is None and error is None:
        return None
    if capacity is None:
        raise InvalidInput(f"expected capacity to go with error: for how many keys at most? Got error={error!r} alone")
    return sketch(whole_number(capacity, "capacity", 1, 10**15), _ERROR if error is None else _checked_error(error))


def _checked_error(error: object) -> float:
    if isinstance(error, float) and LEAST_ERROR <= error <= MOST_ERROR:
        return error
    raise InvalidInput(f"expected error to be from {LEAST_ERROR:f} to {MOST_ERROR}, e.g. 0.001, got: {error!r}")


def _texts(keys: object) -> list[str]:
    """Check all keys, before anything is done with the first."""
    if isinstance(keys, str):
        raise InvalidInput(f"expected a list of keys, got one text: {keys!r}; give [{keys!r}]")
    if not isinstance(keys, Iterable):
        raise InvalidInput(f"expected a list of keys, got: {keys!r}")
    return list(dict.fromkeys(check_key(key) for key in keys))


def _ttl_us(ttl: object) -> int | None:
    if ttl is None or ttl == _INFINITE:
        return None
    span = duration_us(ttl, "ttl")
    if span == 0:
        raise InvalidInput(f"expected ttl to be more than 0 seconds, or None for ever, got: {ttl!r}")
    return span


def _version(version: object) -> str | None:
    return None if version is None else check_version(version)


def _digests(keys: list[str], version: str | None) -> list[bytes]:
    return [digest(key, version) for key in keys]


def _slices(texts: list[str]) -> Iterator[list[str]]:
    rest = iter(texts)
    while batch := list(islice(rest, _SLICE)):
        yield batch
