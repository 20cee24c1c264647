"""The URL of a PostgreSQL store, as libpq reads it: postgresql://user:password@host:port/database?sslmode=require

Two options are ours, both for servers behind a pooler: `direct`, where the server itself can be reached, for the one
session that listens; and `pooled`, 1 or 0, for a pooler that is not found out, or one that lends whole sessions.
"""

import re
from typing import Any, Final, NamedTuple

import psycopg
from psycopg.conninfo import conninfo_to_dict

from holdfast.errors import InvalidInput
from holdfast.store.urls import flag, taken_out

_NAMESPACES: Final = """
select nspname
  from pg_namespace as space
 where exists (select 1 from pg_class where relnamespace = space.oid and relname = 'meta' and relkind = 'r')
   and exists (select 1 from pg_class where relnamespace = space.oid and relname = 'job' and relkind = 'r')
 order by nspname
"""


class Address(NamedTuple):
    """Where the database is: `conninfo` for the driver, `direct` past a pooler, `is_pooled` if someone has said so."""

    conninfo: dict[str, Any]
    direct: dict[str, Any] | None = None
    is_pooled: bool | None = None

    @property
    def shown(self) -> str:
        return shown(self.conninfo)


def read(url: str) -> Address:
    """Read the URL with our options, or say how it is written."""
    rest, ours = taken_out(url, "direct", "pooled")
    conninfo = parse(rest)
    direct = {**conninfo, "hostaddr": None, **_place(ours["direct"])} if "direct" in ours else None
    return Address(conninfo, direct, flag(ours["pooled"], "pooled") if "pooled" in ours else None)


def parse(url: str) -> dict[str, Any]:
    """Take the URL apart, or say how one is written.

    Neither the URL nor libpq's own words are quoted: libpq quotes what it cannot read, and that may be the password, or
    the part of it behind a character that should have been encoded.
    """
    parsed = None if _has_stray_at(url) else _parsed(url)
    if parsed is None:
        raise InvalidInput(
            "expected a URL such as postgresql://user@host:5432/database?sslmode=require, with libpq's parameters, "
            "and with / ? # @ : % in a name or password written as %2F %3F %23 %40 %3A %25"
        )
    return parsed


def shown(conninfo: dict[str, Any]) -> str:
    """Give the address as it may be shown: without any secret."""
    user = f"{conninfo['user']}@" if conninfo.get("user") else ""
    host = str(conninfo.get("host") or conninfo.get("hostaddr") or "")
    port = f":{conninfo['port']}" if conninfo.get("port") else ""
    name = conninfo.get("dbname") or conninfo.get("user") or ""
    if host.startswith("/"):
        return f"postgresql://{user}/{name}?host={host}" + (f"&port={port[1:]}" if port else "")
    return f"postgresql://{user}{host}{port}/{name}"


def missing(url: str, namespace: str) -> str | None:
    """Say why there is no store here yet, or None if there is one, or nobody can tell: opening it will."""
    conninfo = read(url).conninfo
    try:
        with psycopg.connect(**{"connect_timeout": "10", **conninfo}, autocommit=True) as connection:
            known = [str(row[0]) for row in connection.execute(_NAMESPACES)]
    except psycopg.Error:
        return None
    if namespace in known:
        return None
    if known:
        return f"{shown(conninfo)} has no namespace {namespace!r}; it has: {', '.join(known)}. Give --namespace"
    return f"{shown(conninfo)} holds no jobs of Holdfast; check the database. A worker or the first enqueue makes room"


def _place(text: str) -> dict[str, str | None]:
    """Read `host:port`, `[address]:port` or a socket's folder; the port may be left out."""
    match = re.fullmatch(r"(/[^:]*|\[[0-9a-fA-F:.]+\]|[^/:\[\]@?]+)(?::(\d+))?", text)
    if match is None:
        raise InvalidInput(
            "expected direct to be host:port of the server itself, or the folder of its socket; the user, the password and "
            "all options are those of the URL"
        )
    return {"host": match[1].strip("[]"), "port": match[2]}


def _has_stray_at(url: str) -> bool:
    """Tell whether an @ stands behind the host: then what was read as host is a part of user or password."""
    _, _, behind_scheme = url.partition("://")
    return re.search(r"[/?].*@", behind_scheme) is not None


def _parsed(url: str) -> dict[str, Any] | None:
    try:
        parsed = dict(conninfo_to_dict(url))
    except psycopg.ProgrammingError:
        return None
    ports = str(parsed.get("port") or "").split(",")
    return parsed if all(port.isdecimal() or not port for port in ports) else None
