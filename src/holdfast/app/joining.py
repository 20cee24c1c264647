"""Enqueueing in a transaction of the caller's: the jobs are there if and only if it commits (I4).

The calls are checked and written down as ever; then the rows go through the caller's connection instead of ours. If the
program dies before the commit, nothing was enqueued; after it, all was. Between the two nobody sees the jobs, so nothing can
be told of them but their ids.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from holdfast.app.call import Call
from holdfast.app.clerk import Clerk
from holdfast.errors import InvalidInput
from holdfast.model.job import NewJob, Pushed
from holdfast.store.protocol import Guest

if TYPE_CHECKING:
    from holdfast.app.app import Holdfast


def push_in(app: "Holdfast", connection: Any, calls: Iterable[Call[Any]]) -> list[Pushed]:
    """Store calls in the transaction that is open on this connection."""
    guest, jobs = _prepared(app, calls)
    return guest.push(connection, jobs) if jobs else []


async def apush_in(app: "Holdfast", connection: Any, calls: Iterable[Call[Any]]) -> list[Pushed]:
    """As `push_in`, on an async connection."""
    import asyncio

    guest, jobs = await asyncio.to_thread(_prepared, app, calls)
    return await guest.apush(connection, jobs) if jobs else []


def _prepared(app: "Holdfast", calls: Iterable[Call[Any]]) -> tuple[Guest, list[NewJob]]:
    ours = app.connection()
    guest = ours.store.guest
    if guest is None:
        info = ours.store.describe()
        raise InvalidInput(
            f"{info.where} ({info.kind}) cannot take part in a transaction of yours; use enqueue() after your commit, "
            "or keep jobs in your own database: postgresql:// or sqlite://"
        )
    # A push that finds its queue full is refused: to wait for room inside the caller's transaction would wait for itself.
    # Declared queues are left to the workers: to write them here, on SQLite, would wait for the caller's own lock.
    return guest, Clerk(app, ours.store, ours.ring).write_all(calls)
