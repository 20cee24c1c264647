"""Which store a command speaks to, and how it is opened.

In this order: `--url`, `--app`, $HOLDFAST_URL, $HOLDFAST_APP. A command that reads or operates opens only what is there:
a misspelt path or namespace is an error, never a new and empty one that looks like "no jobs".
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import msgspec

from holdfast.cli.shared import given
from holdfast.errors import DeclarationError, HoldfastError, InvalidInput, StoreUnavailable
from holdfast.store.protocol import Store

if TYPE_CHECKING:
    from holdfast.app.app import Holdfast

_NAMESPACE: Final = "holdfast"


class Source(msgspec.Struct, frozen=True):
    """Where jobs are kept, as far as it is known before anything is opened. `origin` says who named it."""

    url: str
    tier: str | None
    namespace: str
    origin: str


@contextmanager
def opened() -> Iterator[Store]:
    """Open the store that the options name, for the time of the block. It must be there already."""
    from holdfast.store.connect import connect  # opens drivers

    found = source()
    check_there(found)
    store = connect(found.url, tier=found.tier, namespace=found.namespace)
    try:
        yield store
    finally:
        store.close()


def source() -> Source:
    """Find the store among the options and the environment."""
    if url := given("url"):
        return _by_url(url, "--url")
    if target := given("app"):
        return _by_app(target, "--app")
    if url := os.environ.get("HOLDFAST_URL"):
        return _by_url(url, "HOLDFAST_URL")
    if target := os.environ.get("HOLDFAST_APP"):
        return _by_app(target, "HOLDFAST_APP")
    raise InvalidInput(
        "no store was named: give --url sqlite:///jobs.db or --app MODULE:APP, or set HOLDFAST_URL or HOLDFAST_APP"
    )


def app_target() -> str | None:
    """Give the MODULE:APP that the options or the environment name, if any."""
    return given("app") or os.environ.get("HOLDFAST_APP") or None


def load(target: str) -> "Holdfast":
    """Import the app and its tasks. `--url` and `--namespace` hold for it too."""
    from holdfast.app.target import load_app  # imports the user's modules

    try:
        app = load_app(target)
        app.load_imports()
    except HoldfastError:
        raise
    except Exception as error:  # the user's module runs here, and may raise anything
        raise DeclarationError(f"{target} cannot be imported: {type(error).__name__}: {error}; see --debug") from error
    chosen = {name: value for name in ("url", "namespace") if (value := given(name))}
    if chosen:
        app.configure(**chosen)
    return app


def check_there(found: Source) -> None:
    """Refuse a store that a new process cannot see, or that would only come into being by being opened."""
    from holdfast.store.connect import backend_of  # imports a backend

    if why := backend_of(found.url).missing(found.url, found.namespace):
        raise StoreUnavailable(f"{why} (named by {found.origin})")


def _by_url(url: str, origin: str) -> Source:
    return Source(url, None, given("namespace") or os.environ.get("HOLDFAST_NAMESPACE") or _NAMESPACE, origin)


def _by_app(target: str, origin: str) -> Source:
    app = load(target)
    return Source(app.url, app.tier, app.namespace, f"{origin} {target}")
