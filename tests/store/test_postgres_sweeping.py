"""Dead rows are cleared away while a queue is busy, and nobody waits for it."""

import time
from collections.abc import Iterator

import psycopg
import pytest

from holdfast.model.verdict import done
from holdfast.store.postgres import sweeper
from holdfast.store.postgres.store import PostgresStore
from holdfast.testing.contract.sample_jobs import enlisted, jobs
from tests.support.servers_postgres import empty_url, server


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[PostgresStore]:
    monkeypatch.setattr(sweeper, "PAUSE_S", 0.05)
    monkeypatch.setattr(sweeper, "_LEAST", 100)
    opened = PostgresStore.open(empty_url())
    yield opened
    opened.close()


def vacuums(url: str) -> int:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute("select vacuum_count from pg_stat_user_tables where relid = 'holdfast.job'::regclass")
        found = row.fetchone()
        assert found is not None
        return int(found[0])


def test_a_busy_queue_is_swept_by_its_upkeep(store: PostgresStore) -> None:
    url = empty_url()
    worker, before = enlisted(store), vacuums(url)
    for _ in range(3):
        store.push(jobs(200, "q"))
        store.settle([done(claim) for claim in store.claim(worker, ["q"], 200)])
    deadline = time.monotonic() + 10
    while vacuums(url) == before:
        assert time.monotonic() < deadline, "never swept"
        store.tidy()
        time.sleep(0.05)


def test_a_transaction_that_holds_the_table_does_not_hold_up_upkeep(store: PostgresStore) -> None:
    with psycopg.connect(empty_url()) as other:
        other.execute("lock table holdfast.job in share update exclusive mode")
        began = time.monotonic()
        for _ in range(5):
            store.tidy()
            time.sleep(0.05)
        store._sweeper.finish()
        assert time.monotonic() - began < 3


def test_a_sweeping_that_was_in_vain_is_not_repeated_as_soon(store: PostgresStore) -> None:
    """While someone's transaction stays open, there is nothing to be had."""
    worker = enlisted(store)
    with psycopg.connect(server().url()) as other:
        other.execute("select pg_current_xact_id()")
        deadline = time.monotonic() + 20
        while store._sweeper._in_vain < 2:
            assert time.monotonic() < deadline, "no sweeping was in vain"
            store.push(jobs(200, "q"))
            store.settle([done(claim) for claim in store.claim(worker, ["q"], 200)])
            store._sweeper.consider()
            store._sweeper.finish()
        assert store._sweeper._next > time.monotonic() + 2 * sweeper.PAUSE_S
