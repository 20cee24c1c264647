"""From a URL to an open store. The one module that names a backend; everything above it sees the protocol only.

    sqlite:///jobs.db           a file, relative to the working directory
    sqlite:////var/lib/jobs.db  a file, by its absolute path
    memory://                   this process's memory, gone when it ends

Options go behind a question mark: `sqlite:///jobs.db?tier=fast&trust_filesystem=1`. Unknown ones are refused: a
misspelt option would otherwise be a promise that nobody keeps. Backends are imported when their URL is opened.
"""

from collections.abc import Callable
from typing import Final

from holdfast.errors import InvalidInput, StoreUnsafe, UnknownOption
from holdfast.policy.names import check_namespace
from holdfast.store.protocol import Clock, Store

SCHEMES: Final = ("sqlite", "memory")
TIERS: Final = ("durable", "fast")

_LATER: Final = ("postgresql", "postgres", "redis", "rediss", "unix")
_FLAGS: Final = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
_EXAMPLES: Final = "sqlite:///jobs.db, sqlite:////absolute/path/jobs.db or memory://"


def connect(url: str, *, tier: str | None = None, namespace: str = "holdfast", clock: Clock | None = None) -> Store:
    """Open the store that `url` names.

    `tier` asks for a durability; what a store cannot give is refused here, not found out later.
    """
    check_namespace(namespace)
    return _BACKENDS[_scheme(url)](url, tier, namespace, clock)


def describe_url(url: str) -> str:
    """Give the URL as it may be shown: without a password, and with the whole path of a file."""
    from urllib.parse import urlsplit  # 3 ms, needed once a store is opened

    if _scheme_word(url) == "sqlite":
        return f"sqlite:///{_sqlite_path(url)}"
    parts = urlsplit(url)
    if parts.password is None:
        return url
    user, _, host = parts.netloc.rpartition("@")
    return parts._replace(netloc=f"{user.partition(':')[0]}:***@{host}").geturl()


def _open_sqlite(url: str, tier: str | None, namespace: str, clock: Clock | None) -> Store:
    from holdfast.store.sqlite.store import SqliteStore  # loads sqlite3

    options = _options(url, ("tier", "trust_filesystem"))
    return SqliteStore.open(
        _sqlite_path(url),
        tier=_tier(tier, options.get("tier")),
        namespace=namespace,
        clock=clock,
        trust_filesystem=_flag(options.get("trust_filesystem", "0"), "trust_filesystem"),
    )


def _open_memory(url: str, tier: str | None, _namespace: str, clock: Clock | None) -> Store:
    from holdfast.store.memory.store import MemoryStore  # only for those who use it

    _options(url, ())
    if url.partition("?")[0] not in ("memory://", "memory:///"):
        raise InvalidInput(f"expected memory:// and nothing behind it, got: {url!r}; every app has its own")
    if tier not in (None, "volatile"):
        raise StoreUnsafe(f"memory:// cannot be {tier!r}: what it holds is gone when the process ends; leave out tier=")
    return MemoryStore(clock)


_BACKENDS: Final[dict[str, Callable[[str, str | None, str, Clock | None], Store]]] = {
    "sqlite": _open_sqlite,
    "memory": _open_memory,
}


def _scheme(url: str) -> str:
    scheme = _scheme_word(url)
    if scheme in _BACKENDS:
        return scheme
    if scheme in _LATER:
        raise InvalidInput(f"{scheme}:// is not in this version yet; use {_EXAMPLES}")
    known = ", ".join(f"{name}://" for name in SCHEMES)
    raise InvalidInput(f"expected a URL that begins with one of {known}, got: {scheme or url!r}; e.g. {_EXAMPLES}")


def _scheme_word(url: object) -> str:
    if not isinstance(url, str):
        raise InvalidInput(f"expected the store's URL to be text, got: {url!r}; e.g. {_EXAMPLES}")
    return url.partition(":")[0].lower() if "://" in url else ""


def _sqlite_path(url: str) -> str:
    from pathlib import Path
    from urllib.parse import unquote, urlsplit  # needed once a store is opened

    parts = urlsplit(url)
    # `#` is a common character of temporary paths and means nothing here.
    name = unquote(parts.path.removeprefix("/")) + (f"#{parts.fragment}" if parts.fragment else "")
    if parts.netloc:
        raise InvalidInput(f"expected sqlite:///{parts.netloc}{parts.path} (three slashes), got: {url!r}")
    if name in ("", "/"):
        raise InvalidInput(f"expected the path of a file behind sqlite:///, got: {url!r}; e.g. sqlite:///jobs.db")
    if name == ":memory:":
        raise InvalidInput("SQLite's :memory: would be empty for every thread; use memory:// instead")
    return str(Path(name).absolute())


def _options(url: str, known: tuple[str, ...]) -> dict[str, str]:
    from urllib.parse import parse_qsl, urlsplit  # needed once a store is opened

    options = dict(parse_qsl(urlsplit(url).query, keep_blank_values=True))
    for name in options:
        if name not in known:
            takes = f"it takes {', '.join(known)}" if known else "it takes none"
            raise UnknownOption(f"the URL of this store has no option {name!r}; {takes}")
    return options


def _tier(asked: str | None, in_url: str | None) -> str:
    if asked and in_url and asked != in_url:
        raise InvalidInput(f"tier is {asked!r} as an argument and {in_url!r} in the URL; give it once")
    tier = asked or in_url or TIERS[0]
    if tier not in TIERS:
        raise InvalidInput(f"expected tier to be one of {', '.join(TIERS)}, got: {tier!r}")
    return tier


def _flag(text: str, what: str) -> bool:
    if text.lower() not in _FLAGS:
        raise InvalidInput(f"expected {what} to be 1 or 0, got: {text!r}")
    return _FLAGS[text.lower()]
