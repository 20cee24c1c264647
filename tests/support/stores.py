"""The stores that the contract suite is run on. A store that cannot be imported fails the suite; it is not skipped."""

from pathlib import Path

from holdfast.store.memory.store import MemoryStore
from holdfast.store.postgres.store import PostgresStore
from holdfast.store.protocol import Clock, Store
from holdfast.store.redis.store import RedisStore
from holdfast.store.sqlite.store import SqliteStore
from tests.support import servers_cluster, servers_postgres, servers_valkey

KINDS = ("memory", "split", "sqlite", "postgres", "postgres16", "valkey", "cluster")


def open_store(kind: str, folder: Path, clock: Clock | None = None) -> Store:
    """Open a new, empty store. Only those that keep files use the folder."""
    if kind == "memory":
        return MemoryStore(clock)
    if kind == "split":
        return MemoryStore(clock, is_split=True)
    if kind == "postgres":
        return PostgresStore.open(servers_postgres.empty_url(), clock=clock)
    if kind == "postgres16":
        return PostgresStore.open(servers_postgres.empty_url(version=servers_postgres.OLDER), clock=clock)
    if kind == "valkey":
        url = servers_valkey.shared_server().url
        return RedisStore.open(url, where=url, namespace=servers_valkey.new_namespace(), clock=clock)
    if kind == "cluster":
        url = servers_cluster.shared_cluster().url
        return RedisStore.open(url, where=url, namespace=servers_valkey.new_namespace(), clock=clock)
    assert kind == "sqlite", f"expected one of {KINDS}, got: {kind!r}"
    return SqliteStore.open(folder / "jobs.db", tier="durable", clock=clock)
