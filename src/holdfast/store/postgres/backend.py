"""postgresql://user:password@host:port/database?sslmode=require, as libpq reads it. `postgres://` is the same.

It is `durable`, or it is not opened: see `session`. `direct` and `pooled` are for poolers: see `address`.
"""

from holdfast.errors import StoreUnsafe
from holdfast.store.postgres import address
from holdfast.store.postgres.store import PostgresStore
from holdfast.store.protocol import Clock, Store
from holdfast.store.urls import chosen_tier, taken_out, without_password


def open_url(url: str, *, tier: str | None, namespace: str, clock: Clock | None) -> Store:
    rest, ours = taken_out(url, "tier")
    if chosen_tier(tier, ours.get("tier"), ("durable", "fast", "volatile")) not in (None, "durable"):
        raise StoreUnsafe(f"{shown(url)} is durable and knows no other tier; leave out tier=")
    return PostgresStore.open(rest, namespace=namespace, clock=clock)


def shown(url: str) -> str:
    return without_password(url)


def missing(url: str, namespace: str) -> str | None:
    rest, _ = taken_out(url, "tier")
    return address.missing(rest, namespace)


def migrate(url: str, namespace: str) -> list[str]:
    rest, _ = taken_out(url, "tier")
    store = PostgresStore.open(rest, namespace=namespace)
    try:
        return store.migrate()
    finally:
        store.close()
