"""Pushes in a transaction of the caller's own, with psycopg's connections and SQLAlchemy's, sync and async.

Only rows of their own are inserted (queues are made, and begin to flow, before, in commits of their own), so a transaction
that is held open blocks neither producers nor workers. A job with a key holds that key until the transaction is over, as
does one whose key is new to a seen-set, and a job in a queue with a bound its queue: others who push there wait.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import psycopg
from psycopg import errors
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from holdfast.errors import InvalidInput
from holdfast.model.job import NewJob, Pushed
from holdfast.store.guest import adriver_connection, driver_connection
from holdfast.store.postgres.clock import Moments
from holdfast.store.postgres.database import Database
from holdfast.store.postgres.failures import wrapped
from holdfast.store.postgres.pushing import Push
from holdfast.store.postgres.talk import Rows, Talk, answer, put

_BROKEN: Final = (TransactionStatus.INERROR, TransactionStatus.UNKNOWN)


class PostgresGuest:
    """The `guest` door."""

    def __init__(
        self,
        database: Database,
        moments: Moments,
        prepare: Callable[[Sequence[NewJob]], None],
        ring_later: Callable[[], None],
    ) -> None:
        self._db = database
        self._moments = moments
        self._prepare_for = prepare
        self._ring_later = ring_later

    def push(self, connection: Any, jobs: Sequence[NewJob]) -> list[Pushed]:
        host = driver_connection(connection)
        if not isinstance(host, psycopg.Connection):
            raise self._stranger(
                host, "psycopg.Connection, or SQLAlchemy's with postgresql+psycopg://", "aenqueue_in()"
            )
        self._prepare(host, jobs)
        with self._told(), host.cursor(row_factory=tuple_row) as cursor:
            pushed = put(self._push(jobs), lambda asked: [answer(cursor.execute(*question)) for question in asked])
        self._ring_later()
        return pushed

    async def apush(self, connection: Any, jobs: Sequence[NewJob]) -> list[Pushed]:
        import asyncio

        host = await adriver_connection(connection)
        if not isinstance(host, psycopg.AsyncConnection):
            raise self._stranger(host, "psycopg.AsyncConnection, or SQLAlchemy's async one", "enqueue_in()")
        await asyncio.to_thread(self._prepare, host, jobs)
        with self._told():
            async with host.cursor(row_factory=tuple_row) as cursor:
                pushed = await _aput(self._push(jobs), cursor)
        self._ring_later()
        return pushed

    def _prepare(self, host: "psycopg.Connection[Any] | psycopg.AsyncConnection[Any]", jobs: Sequence[NewJob]) -> None:
        status = host.info.transaction_status
        if host.autocommit and status == TransactionStatus.IDLE:
            raise InvalidInput(
                "this connection has no transaction open and would commit at once; "
                "use `with connection.transaction():` around it, or enqueue()"
            )
        if status in _BROKEN:
            raise InvalidInput(
                "this connection's transaction has failed or its line is broken; roll back and begin anew"
            )
        self._prepare_for(jobs)

    def _push(self, jobs: Sequence[NewJob]) -> Talk[list[Pushed]]:
        return Push(self._db.statements, jobs, self._moments.of(None)).talk()

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            with wrapped(f"your connection (jobs are in {self._db.where})"):
                yield
        except Exception as error:
            if isinstance(error.__cause__, errors.UndefinedTable | errors.UndefinedFunction | errors.InvalidSchemaName):
                raise InvalidInput(
                    f"your connection is to a database without Holdfast's tables; connect to {self._db.where}, where the "
                    "jobs are"
                ) from error
            raise

    def _stranger(self, host: object, kind: str, other: str) -> InvalidInput:
        return InvalidInput(f"expected a {kind} to {self._db.where}, got: {type(host)!r}; or use {other}")


async def _aput(talk: Talk[list[Pushed]], cursor: "psycopg.AsyncCursor[tuple[Any, ...]]") -> list[Pushed]:
    """Put the questions of a push, as `put` does."""
    try:
        asked = next(talk)
        while True:
            answers: list[Rows] = []
            for question in asked if isinstance(asked, list) else [asked]:
                await cursor.execute(*question)
                answers.append(await cursor.fetchall() if cursor.description else [])
            asked = talk.send(answers if isinstance(asked, list) else answers[0])
    except StopIteration as end:
        pushed: list[Pushed] = end.value
        return pushed
