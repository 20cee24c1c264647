"""From a URL to an open store. Everything above this module sees the protocol only.

    sqlite:///jobs.db           a file, relative to the working directory
    sqlite:////var/lib/jobs.db  a file, by its absolute path
    postgresql://host/database  a PostgreSQL database; as libpq reads it
    redis://host:6379/0         a Redis or Valkey server, or a cluster; rediss:// with TLS, unix:///path by its socket
    redis+sentinel://host/name  the primary of that name, by its sentinels; rediss+sentinel:// with TLS
    memory://                   this process's memory, gone when it ends

The scheme names the backend. Ours and those of others come through the same door, the entry points `holdfast.stores`. For
ours the table below says the same (a test compares them), so that opening one does not have to read the metadata of every
package that is installed. Backends are imported when their URL is opened.
"""

from importlib import import_module
from typing import Final, cast

from holdfast.errors import InvalidInput, StoreUnavailable
from holdfast.policy.names import check_namespace
from holdfast.store.backend import GROUP, Backend
from holdfast.store.protocol import Clock, Store

OURS: Final = {
    "sqlite": "holdfast.store.sqlite.backend",
    "postgresql": "holdfast.store.postgres.backend",
    "postgres": "holdfast.store.postgres.backend",
    "redis": "holdfast.store.redis.backend",
    "rediss": "holdfast.store.redis.backend",
    "unix": "holdfast.store.redis.backend",
    "redis+sentinel": "holdfast.store.redis.backend",
    "rediss+sentinel": "holdfast.store.redis.backend",
    "memory": "holdfast.store.memory.backend",
}
_EXTRAS: Final = {"psycopg": "postgres", "redis": "redis"}
_EXAMPLES: Final = "sqlite:///jobs.db, postgresql://user@host/database, redis://host:6379/0 or memory://"


def connect(url: str, *, tier: str | None = None, namespace: str = "holdfast", clock: Clock | None = None) -> Store:
    """Open the store that `url` names.

    `tier` asks for a durability; what a store cannot give is refused here, not found out later.
    """
    check_namespace(namespace)
    return backend_of(url).open_url(url, tier=tier, namespace=namespace, clock=clock)


def describe_url(url: str) -> str:
    """Give the URL as it may be shown: without a password, and with the whole path of a file."""
    return backend_of(url).shown(url)


def backend_of(url: str) -> Backend:
    """Find the backend that a URL's scheme names."""
    scheme = _scheme(url)
    if scheme in OURS:
        return _ours(scheme)
    if scheme and (others := _others(scheme)):
        return others
    known = ", ".join(f"{name}://" for name in OURS)
    raise InvalidInput(f"expected a URL that begins with one of {known}, got: {scheme or url!r}; e.g. {_EXAMPLES}")


def _ours(scheme: str) -> Backend:
    try:
        return cast("Backend", import_module(OURS[scheme]))
    except ModuleNotFoundError as error:
        if error.name not in _EXTRAS:
            raise
        needs = f"pip install 'holdfast[{_EXTRAS[error.name]}]'"
        raise StoreUnavailable(
            f"{scheme}:// needs the package {error.name}, which is not installed: {needs}"
        ) from error


def _others(scheme: str) -> Backend | None:
    """Look for a backend that another package offers. Of two for one scheme the choice is not ours to make."""
    from importlib.metadata import entry_points  # reads the metadata of all packages

    found = {point.value: point for point in entry_points(group=GROUP, name=scheme)}
    if len(found) > 1:
        raise InvalidInput(
            f"{scheme}:// is offered by several packages: {', '.join(sorted(found))}; uninstall all but one"
        )
    return cast("Backend", next(iter(found.values())).load()) if found else None


def _scheme(url: object) -> str:
    if not isinstance(url, str):
        raise InvalidInput(f"expected the store's URL to be text, got: {url!r}; e.g. {_EXAMPLES}")
    return url.partition(":")[0].lower() if "://" in url else ""
