"""What kind of server this is, and what it promises. Asked once, when the store opens.

| setting                               | tier     | what a kill or a power cut may take                       |
|---------------------------------------|----------|-----------------------------------------------------------|
| appendonly yes, appendfsync always    | durable  | nothing                                                   |
| appendonly yes, any other appendfsync | fast     | about two seconds of what was acknowledged                |
| appendonly no                         | volatile | what came since the last snapshot, or all, if none is kept |

An eviction policy other than `noeviction` deletes jobs when memory runs short, silently; such a server is refused.
"""

from typing import Any, Final, NamedTuple

from redis.exceptions import ResponseError

from holdfast.errors import InvalidInput, StoreError, StoreUnavailable, StoreUnsafe
from holdfast.store.redis.link import Link

OLDEST: Final = (7, 0)
TIERS: Final = ("durable", "fast", "volatile")


class Server(NamedTuple):
    """A server that passed."""

    name: str
    tier: str
    notes: tuple[str, ...]


def inspect(link: Link, tier: str | None) -> Server:
    """Ask the server what it is. Raises StoreUnsafe, naming the setting, if it cannot keep what is promised."""
    if tier not in (None, *TIERS):
        raise InvalidInput(f"expected tier to be one of {', '.join(TIERS)}, got: {tier!r}")
    info: dict[str, Any] = link.ask(("INFO",))[0]
    name = _check_version(info)
    if info.get("role") == "slave":
        raise StoreUnavailable(f"{link.where} is a replica and takes no writes. Let the URL name the primary.")
    if info.get("cluster_enabled"):
        raise StoreUnsafe(
            f"{link.where} is a node of a cluster (cluster-enabled yes), and this version does not follow jobs "
            "from node to node. Use a server with cluster-enabled no."
        )
    settings, notes = _settings(link, info)
    policy = settings["maxmemory-policy"]
    if policy != "noeviction":
        raise StoreUnsafe(
            f"{link.where} has maxmemory-policy {policy}: it would delete jobs when memory runs short. "
            "Set maxmemory-policy noeviction."
        )
    given = _tier(settings)
    if tier is not None and TIERS.index(given) > TIERS.index(tier):
        raise StoreUnsafe(
            f"{link.where} is {given!r} (appendonly {settings['appendonly']}, appendfsync {settings['appendfsync']}), "
            f"and {tier!r} was asked for. Set appendonly yes and appendfsync {_FSYNC[tier]}, or ask for tier={given!r}."
        )
    return Server(name, given, (*_TOLD[given], *notes))


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


def _settings(link: Link, info: dict[str, Any]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Give the settings that matter; from INFO where a hosted server does not let its configuration be read."""
    try:
        found = link.ask(
            ("CONFIG GET", "maxmemory-policy"), ("CONFIG GET", "appendonly"), ("CONFIG GET", "appendfsync")
        )
    except StoreError as error:
        if not isinstance(error.__cause__, ResponseError):
            raise
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
