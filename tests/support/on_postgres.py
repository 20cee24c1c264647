"""Fixtures for tests on a PostgreSQL of ours: `from tests.support.on_postgres import *`."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from holdfast.store.postgres.store import PostgresStore
from tests.support.servers_postgres import empty_url, server

__all__ = ["is_waited_for", "mine", "store"]


@pytest.fixture
def store() -> Iterator[PostgresStore]:
    """An empty store."""
    opened = PostgresStore.open(empty_url())
    yield opened
    opened.close()


@pytest.fixture
def mine() -> Iterator["psycopg.Connection[Any]"]:
    """A connection of the user's own, with a transaction that stays open."""
    with psycopg.connect(server().url()) as connection:
        yield connection


def is_waited_for(store: PostgresStore) -> bool:
    """Tell whether one session waits for the lock of another."""
    text = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
    return store._db.do(lambda connection: connection.execute(text).fetchall()) == [(1,)]
