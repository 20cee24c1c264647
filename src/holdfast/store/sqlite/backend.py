"""sqlite:///jobs.db, a file relative to the working directory; sqlite:////var/lib/jobs.db, by its absolute path.

Options: `tier=durable` (the default) or `fast`; `trust_filesystem=1` for a mount that only looks like a network's.
"""

from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from holdfast.errors import InvalidInput
from holdfast.store.protocol import Clock, Store
from holdfast.store.sqlite.peek import namespaces_in
from holdfast.store.sqlite.store import SqliteStore
from holdfast.store.urls import chosen_tier, flag, options_in

TIERS: Final = ("durable", "fast")


def open_url(url: str, *, tier: str | None, namespace: str, clock: Clock | None) -> Store:
    options = options_in(url, ("tier", "trust_filesystem"))
    return SqliteStore.open(
        path_in(url),
        tier=chosen_tier(tier, options.get("tier"), TIERS) or TIERS[0],
        namespace=namespace,
        clock=clock,
        trust_filesystem=flag(options.get("trust_filesystem", "0"), "trust_filesystem"),
    )


def shown(url: str) -> str:
    return f"sqlite:///{path_in(url)}"


def missing(url: str, namespace: str) -> str | None:
    path = Path(path_in(url))
    if not path.exists():
        return (
            f"there is no file {path}; check the path and the working directory. A worker or the first enqueue makes it"
        )
    known = namespaces_in(path)
    if known is None or namespace in known:
        return None
    if known:
        return f"{path} has no namespace {namespace!r}; it has: {', '.join(known)}. Give --namespace"
    return f"{path} holds no jobs of Holdfast; check the path. A worker or the first enqueue makes room"


def path_in(url: str) -> str:
    """Give the absolute path of the file."""
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


def migrate(url: str, namespace: str) -> list[str]:
    open_url(url, tier=None, namespace=namespace, clock=None).close()
    return []  # opening does all of it: programs that share a file are upgraded together
