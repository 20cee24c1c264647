"""What a URL says: which servers to ask first, and how to speak to each.

    redis://user:password@host:6379/0           a server, or any node of a cluster
    redis://host:7001,host:7002                 nodes of a cluster: one that is dead does not matter
    unix:///run/valkey.sock                     a server, by its socket
    redis+sentinel://host:26379,host2/service/0 sentinels, and the name under which they watch a primary

With `rediss` in place of `redis` every line is TLS. Reading a URL reaches nobody.
"""

from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

import redis
from redis.backoff import NoBackoff
from redis.connection import parse_url
from redis.retry import Retry

from holdfast.errors import InvalidInput
from holdfast.store.urls import taken_out

ANSWER_S: Final = 30.0
_CONNECT_S: Final = 5.0
_CONNECT_ONE_OF_MANY_S: Final = 2.0
"""Shorter where another node may answer, and so short that a node which swallows packets costs nobody a lease."""
_PORT, _SENTINEL_PORT = 6379, 26379
_SENTINELS: Final = {"redis+sentinel": "redis", "rediss+sentinel": "rediss"}
_OPTIONS_OF_SENTINELS: Final = {"sentinel_username": "username", "sentinel_password": "password"}

Host = tuple[str, int]


class Address(NamedTuple):
    """What a URL says."""

    hosts: tuple[Host, ...]
    """Servers to ask first. None if the URL names a socket."""
    options: dict[str, Any]
    """How to speak to a server, for the driver: user, password, TLS, and what stands behind the question mark."""
    service: str | None = None
    """The name of the primary that sentinels watch; the hosts are theirs."""
    sentinel_options: dict[str, Any] | None = None

    @property
    def is_socket(self) -> bool:
        return not self.hosts

    def client(self, host: Host | None = None) -> "redis.Redis":
        """Make a client of one server, with connections of its own."""
        return _client(self.options, host, self._patience_s)

    def sentinel_client(self, host: Host) -> "redis.Redis":
        return _client(self.sentinel_options or {}, host, self._patience_s)

    @property
    def _patience_s(self) -> float:
        return _CONNECT_ONE_OF_MANY_S if self.service or len(self.hosts) > 1 else _CONNECT_S


def read(url: str) -> Address:
    """Read a URL. Raises InvalidInput, which shows nothing of a password."""
    try:
        parts = urlsplit(url)
        address = _sentinels(url, parts) if parts.scheme in _SENTINELS else _servers(url, parts)
    except ValueError as error:  # its text may hold a part of the password: it is not passed on
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(
            "the URL of the store cannot be read: expected e.g. redis://user:password@host:6379/0. "
            "Write characters such as / @ : # in a password as %2F %40 %3A %23."
        ) from None
    authorities = address.options.get("ssl_ca_certs")
    if authorities is not None and not Path(authorities).is_file():
        raise InvalidInput(f"ssl_ca_certs names no file that can be found: {authorities!r}. Give its whole path.")
    return address


def shown(host: Host) -> str:
    return f"[{host[0]}]:{host[1]}" if ":" in host[0] else f"{host[0]}:{host[1]}"


def _servers(url: str, parts: SplitResult) -> Address:
    if parts.scheme == "unix":
        return Address((), _parsed(url))
    hosts, options = _hosts(parts, _PORT)
    return Address(hosts, options)


def _sentinels(url: str, parts: SplitResult) -> Address:
    url, ours = taken_out(url, *_OPTIONS_OF_SENTINELS)
    service, _, db = unquote(parts.path).strip("/").partition("/")
    if not service or (db and not db.isdigit()):
        raise InvalidInput(
            "the URL names sentinels and no service. Write the name under which they watch the primary behind them: "
            "redis+sentinel://host:26379/mymaster, or …/mymaster/0 with the number of a database."
        )
    plain = urlsplit(url)._replace(scheme=_SENTINELS[parts.scheme], path=f"/{db}")
    hosts, options = _hosts(plain, _SENTINEL_PORT)
    apart = {name: value for name, value in options.items() if name not in ("username", "password", "db")}
    apart |= {_OPTIONS_OF_SENTINELS[name]: value for name, value in ours.items()}
    return Address(hosts, options, service, apart)


def _hosts(parts: SplitResult, port: int) -> tuple[tuple[Host, ...], dict[str, Any]]:
    """Give the hosts of a list with commas, and the options that hold for all of them."""
    user, at, listed = parts.netloc.rpartition("@")
    places = (listed or "localhost").split(",")
    if not all(places):
        raise InvalidInput(
            "the URL has an empty place in its list of hosts: expected e.g. redis://host1:7001,host2:7002"
        )
    found = [_parsed(parts._replace(netloc=f"{user}{at}{place}").geturl()) for place in places]
    hosts = tuple((str(one.get("host", "localhost")), int(one.get("port", port))) for one in found)
    return hosts, {name: value for name, value in found[0].items() if name not in ("host", "port")}


def _parsed(url: str) -> dict[str, Any]:
    found: dict[str, Any] = parse_url(url)  # type: ignore[no-untyped-call] # redis-py leaves it untyped
    return found


def _client(options: dict[str, Any], host: Host | None, connect_s: float) -> "redis.Redis":
    place = {} if host is None else {"host": host[0], "port": host[1]}
    settings = _SETTINGS | {"socket_connect_timeout": connect_s} | options | place
    client = redis.Redis(connection_pool=redis.ConnectionPool(**settings))
    client.auto_close_connection_pool = True
    return client


_SETTINGS: Final[dict[str, Any]] = {
    "protocol": 2,
    "decode_responses": False,
    "socket_timeout": ANSWER_S,
    "retry": Retry(NoBackoff(), 0),  # attempts are ours: only we know how to say that a call is sent again
    "health_check_interval": 0,
}
