"""redis://user:password@host:6379/0, rediss:// with TLS, unix:///path/to/socket, redis+sentinel://host:26379/service.

A host may be a node of a cluster, and several may be named: see `addresses`. Redis 7.0 and newer, or Valkey.

The tier is what the servers are configured for; `?tier=durable` (or `tier=`) refuses one that promises less.
"""

from holdfast.errors import UnknownOption
from holdfast.store.protocol import Clock, Store
from holdfast.store.redis import replicas
from holdfast.store.redis.server import TIERS
from holdfast.store.redis.store import RedisStore
from holdfast.store.urls import chosen_tier, taken_out, without_password


def open_url(url: str, *, tier: str | None, namespace: str, clock: Clock | None) -> Store:
    rest, ours = taken_out(url, "tier", *replicas.OPTIONS)
    asked = chosen_tier(tier, ours.get("tier"), TIERS)
    try:
        return RedisStore.open(
            rest, where=shown(rest), tier=asked, namespace=namespace, clock=clock, wait=replicas.read_wait(ours)
        )
    except TypeError as error:  # how the driver refuses what it does not know
        raise UnknownOption(
            f"the URL {shown(url)} has an option that neither Holdfast nor redis-py knows; Holdfast takes tier, "
            "wait_replicas and wait_ms"
        ) from error


def shown(url: str) -> str:
    return without_password(url)


def missing(url: str, namespace: str) -> str | None:
    del url, namespace
    return None  # nothing is made by opening it; an empty one is what it looks like


def migrate(url: str, namespace: str) -> list[str]:
    open_url(url, tier=None, namespace=namespace, clock=None).close()
    return []  # scripts come with the program, and there is no schema
