"""What a kind of store offers to whoever has only a URL: the door between `connect` and the stores.

A backend is a module (any object with these functions will do). It is named in the entry point group `holdfast.stores`, by
the scheme of its URLs:

    [project.entry-points."holdfast.stores"]
    mongodb = "holdfast_mongodb.backend"

Whoever writes one proves it with the contract suite: see `holdfast.testing.contract`.
"""

from typing import Final, Protocol

from holdfast.store.protocol import Clock, Store

GROUP: Final = "holdfast.stores"


class Backend(Protocol):
    """One kind of store."""

    def open_url(self, url: str, *, tier: str | None, namespace: str, clock: Clock | None) -> Store:
        """Open the store, making it if need be, or refuse with the reason and the remedy.

        `tier` asks for a durability: what the store cannot give is refused, not found out later.
        """
        ...

    def shown(self, url: str) -> str:
        """Give the URL as it may be shown to anyone: without a password. Never opens anything."""
        ...

    def missing(self, url: str, namespace: str) -> str | None:
        """Say why there is no store here yet, or None if there is one (or nobody knows). Never makes anything.

        Asked by commands that only read: they would otherwise make an empty store at a misspelt address.
        """
        ...

    def migrate(self, url: str, namespace: str) -> list[str]:
        """Bring the store's schema up to date for good, also in what programs of an older version cannot bear.

        Opening it does the rest. Give the names of the steps that were taken.
        """
        ...
