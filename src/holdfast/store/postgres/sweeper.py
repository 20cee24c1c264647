"""Clearing away dead rows before they pile up.

Every job leaves a few dead rows behind. The server clears them away by itself, but looks only once a minute, and a busy
queue makes a million of them in that time: a table that could stay small grows and stays large. So upkeep has a look every
few seconds, and vacuums when it is worth it.

It happens in a thread and a session of its own: no claim waits for it. It takes no lock that anyone else waits for, and
passes over what someone has locked. If it fails, or the process dies meanwhile, nothing is lost but the sweeping.

While someone's transaction stays open, nothing that died since can be cleared away. A sweeping that was in vain is followed
by a longer pause each time, until one is not.
"""

import logging
import threading
import time
from typing import Final

import psycopg

from holdfast.errors import StoreError
from holdfast.store.postgres.database import Database
from holdfast.store.postgres.schema import Connection

log = logging.getLogger("holdfast.store")

PAUSE_S: Final = 5.0
_LONGEST_PAUSE_S: Final = 300.0
_TABLES: Final = (
    "ns_job",
    "ns_run",
    "ns_tag",
    "ns_worker",
    "ns_queue",
    "ns_lane",
    "ns_lane_news",
    "ns_success",
    "ns_key_lock",
    "ns_seen",
    "ns_seen_block",
)
_LEAST: Final = 20_000
_SHARE: Final = 0.2
_DEAD: Final = "select n_dead_tup, n_live_tup from pg_stat_user_tables where relid = %s::regclass"


class Sweeper:
    """Vacuums the tables of one namespace, every few seconds at most."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._thread: threading.Thread | None = None
        self._next = 0.0
        self._in_vain = 0

    def consider(self) -> None:
        """Look whether there is something to sweep, in the background. Returns at once."""
        if time.monotonic() < self._next or (self._thread is not None and self._thread.is_alive()):
            return
        self._next = time.monotonic() + PAUSE_S
        self._thread = threading.Thread(target=self._run, name="holdfast-sweeper", daemon=True)
        self._thread.start()

    def finish(self) -> None:
        """Wait for a sweeping that is under way, briefly: a session is not to be closed under it."""
        if self._thread is not None:
            self._thread.join(PAUSE_S)

    def _run(self) -> None:
        try:
            connection = self._db.session()
        except StoreError:
            return  # the next one will
        try:
            swept = [table for table in _TABLES if self._is_worth_it(connection, table)]
            for table in swept:
                # Not truncated: giving pages back to the disk would stop everyone for a moment.
                connection.execute(self._db.statements.of(f"vacuum (skip_locked, truncate off) {table}"))
            is_in_vain = any(self._is_worth_it(connection, table) for table in swept)
            self._in_vain = min(self._in_vain + 1, 10) if is_in_vain else 0
        except psycopg.Error as error:
            log.debug("the tables were not vacuumed: %s", error)
        finally:
            self._db.end(connection)
            self._next = time.monotonic() + min(PAUSE_S * 2**self._in_vain, _LONGEST_PAUSE_S)

    def _is_worth_it(self, connection: Connection, table: str) -> bool:
        row = connection.execute(_DEAD, (self._db.statements.of(table),)).fetchone()
        return row is not None and row[0] > max(_LEAST, row[1] * _SHARE)
