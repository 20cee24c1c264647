"""What kind of server this is, and what it promises. Asked once, when the store opens.

| setting                               | tier     | what a kill or a power cut may take                       |
|---------------------------------------|----------|-----------------------------------------------------------|
| appendonly yes, appendfsync always    | durable  | nothing                                                   |
| appendonly yes, any other appendfsync | fast     | about two seconds of what was acknowledged                |
| appendonly no                         | volatile | what came since the last snapshot, or all, if none is kept |

An eviction policy other than `noeviction` deletes jobs when memory runs short, silently; such a server is refused. On a
cluster every primary is asked: queues lie on all of them, so the tier is that of the weakest.
"""

from typing import Any, Final, NamedTuple

from redis.exceptions import ResponseError

from holdfast.errors import InvalidInput, StoreUnavailable, StoreUnsafe
from holdfast.store.redis.link import Link
from holdfast.store.redis.node import Node
from holdfast.store.redis.told import told_as_ours

OLDEST: Final = (7, 0)
TIERS: Final = ("durable", "fast", "volatile")


class Server(NamedTuple):
    """A server, or all nodes of a cluster together, that passed."""

    name: str
    tier: str
    notes: tuple[str, ...]
    nodes: tuple["Known", ...]


class Known(NamedTuple):
    """One primary that passed."""

    where: str
    name: str
    tier: str
    notes: tuple[str, ...]
    info: dict[str, Any]


def inspect(link: Link, tier: str | None, replicas: int = 0) -> Server:
    """Ask every primary what it is; the weakest decides. Raises StoreUnsafe, naming node and setting, if one cannot keep
    what is promised.
    """
    if tier not in (None, *TIERS):
        raise InvalidInput(f"expected tier to be one of {', '.join(TIERS)}, got: {tier!r}")
    with told_as_ours(link.where):
        nodes = link.wiring.primaries()
    if not nodes:
        raise StoreUnavailable(f"{link.where} is a cluster in which no node holds any slot. See CLUSTER INFO.")
    known = tuple(_inspect_node(link, node, tier, replicas) for node in nodes)
    weakest = max(known, key=lambda one: TIERS.index(one.tier))
    notes = tuple(dict.fromkeys(note for one in known for note in one.notes))
    name = f"a cluster of {len(known)} primaries, {weakest.name}" if link.wiring.is_cluster else weakest.name
    return Server(name, weakest.tier, notes, known)


def _inspect_node(link: Link, node: Node, tier: str | None, replicas: int) -> Known:
    where = f"{link.where}, node {node.name}," if link.wiring.is_cluster else link.where
    with told_as_ours(where):
        info: dict[str, Any] = node.execute(("INFO",))[0]
        settings, notes = _settings(node, info)
    name = _check_version(info)
    if info.get("role") == "slave":
        raise StoreUnavailable(f"{where} is a replica and takes no writes. Let the URL name the primary.")
    policy = settings["maxmemory-policy"]
    if policy != "noeviction":
        raise StoreUnsafe(
            f"{where} has maxmemory-policy {policy}: it would delete jobs when memory runs short. "
            "Set maxmemory-policy noeviction."
        )
    given = _tier(settings)
    if tier is not None and TIERS.index(given) > TIERS.index(tier):
        raise StoreUnsafe(
            f"{where} is {given!r} (appendonly {settings['appendonly']}, appendfsync {settings['appendfsync']}), "
            f"and {tier!r} was asked for. Set appendonly yes and appendfsync {_FSYNC[tier]}, or ask for tier={given!r}."
        )
    if int(info.get("connected_slaves", 0)) < replicas:
        raise StoreUnavailable(
            f"{where} has {info.get('connected_slaves', 0)} connected replicas, and wait_replicas={replicas} asks for "
            "more. Start replicas, or ask for fewer."
        )
    return Known(node.name, name, given, (*_TOLD[given], *notes), info)


_FSYNC: Final = {"durable": "always", "fast": "everysec"}
_TOLD: Final[dict[str, tuple[str, ...]]] = {
    "durable": (),
    "fast": (
        "appendfsync is not always: a crash of the server may lose about two seconds of acknowledged jobs, or, with "
        "appendfsync no, more",
    ),
    "volatile": ("appendonly is off: a crash or restart of the server loses jobs. Set appendonly yes",),
}


def _check_version(info: dict[str, Any]) -> str:
    """Give the server's name and version. Valkey tells its own, and that of the Redis it is compatible with."""
    version = str(info["redis_version"])
    name = f"Valkey {info['valkey_version']}" if "valkey_version" in info else f"Redis {version}"
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST:
        raise StoreUnsafe(f"{name} is too old: Holdfast needs Redis 7.0 or later, or Valkey. Upgrade the server.")
    return name


def _settings(node: Node, info: dict[str, Any]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Give the settings that matter; from INFO where a hosted server does not let its configuration be read."""
    try:
        found = node.execute(
            ("CONFIG GET", "maxmemory-policy"), ("CONFIG GET", "appendonly"), ("CONFIG GET", "appendfsync")
        )
    except ResponseError:
        settings = {
            "maxmemory-policy": str(info.get("maxmemory_policy", "unknown")),
            "appendonly": "yes" if info.get("aof_enabled") else "no",
            "appendfsync": "unknown",
        }
        return settings, ("CONFIG GET is not allowed here: appendfsync is not known and taken to be everysec",)
    return {_text(key): _text(value) for one in found for key, value in one.items()}, ()


def _tier(settings: dict[str, str]) -> str:
    if settings["appendonly"] != "yes":
        return "volatile"
    return "durable" if settings["appendfsync"] == "always" else "fast"


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
