"""Somebody else's connection, in whose transaction we are a guest.

A user hands over what they work with: the driver's own connection, or SQLAlchemy's (Connection, Session, and their async
twins). What we need of it is the driver's connection, with a transaction open on it that the user will commit. SQLAlchemy
commits only what it has begun itself, so it is made to begin; nothing of it is imported here.

Nobody tells us of the commit, and those who wait are asleep. So they are rung a few times, further and further apart
(`LateRinger`): a short transaction's jobs start within milliseconds, a long one's with the waiters' next slow look.
"""

import threading
import time
from collections.abc import Callable
from inspect import iscoroutine
from typing import Any, Final

AFTER_S: Final = (0.002, 0.01, 0.05, 0.2)
"""When to ring, counted from the push."""


def is_sqlalchemys(connection: object) -> bool:
    return type(connection).__module__.partition(".")[0] == "sqlalchemy"


def driver_connection(connection: Any) -> Any:
    """Give the driver's connection behind what the user has handed over, with SQLAlchemy's transaction begun."""
    if not is_sqlalchemys(connection):
        return connection
    if callable(
        getattr(connection, "connection", None)
    ):  # a Session has a method of that name, a Connection a property
        inner = connection.connection()
        if iscoroutine(inner):  # an AsyncSession
            inner.close()
            return connection
        connection = inner
    if not hasattr(connection, "connection"):  # an Engine, an AsyncConnection: not ours to use
        return connection
    if not connection.in_transaction():
        connection.begin()
    return connection.connection.dbapi_connection


async def adriver_connection(connection: Any) -> Any:
    """As `driver_connection`, for SQLAlchemy's AsyncConnection and AsyncSession."""
    if not is_sqlalchemys(connection):
        return connection
    if not hasattr(connection, "get_raw_connection") and callable(getattr(connection, "connection", None)):
        connection = await connection.connection()
    if not hasattr(connection, "get_raw_connection"):
        return connection
    if not connection.in_transaction():
        await connection.begin()
    return (await connection.get_raw_connection()).driver_connection


class LateRinger:
    """Rings again and again after the last push, from a thread that lives only as long as there is something to ring."""

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._lock = threading.Lock()
        self._moments: list[float] = []
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        now = time.monotonic()
        with self._lock:
            self._moments = [now + after_s for after_s in AFTER_S]
            if self._thread is None or not self._thread.is_alive():  # in a forked child it is not
                self._thread = threading.Thread(target=self._run, name="holdfast-late-ringer", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while (pause_s := self._pause_s()) is not None:
            time.sleep(pause_s)
            self._ring()

    def _pause_s(self) -> float | None:
        """Take the next moment, and give the time until then; None, for good, if there is none."""
        with self._lock:
            if not self._moments:
                self._thread = None
                return None
            return max(0.0, self._moments.pop(0) - time.monotonic())
