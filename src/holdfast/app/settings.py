"""What an app is told about its surroundings: by argument, else by environment, else by default.

The environment is read when a setting is first needed, never at import: a program may still set it in its first lines.
"""

import os
from typing import Final

import msgspec

from holdfast.errors import InvalidInput, UnknownOption
from holdfast.policy.names import check_namespace
from holdfast.store.protocol import Clock
from holdfast.wire.keyring import KeyRing, split_secrets

DEFAULT_URL: Final = "sqlite:///holdfast.db"
DEFAULT_NAMESPACE: Final = "holdfast"

Secret = str | bytes | list[str] | list[bytes] | tuple[str | bytes, ...]


class Settings(msgspec.Struct, frozen=True):
    """What was given; None stands for "look further"."""

    given_url: str | None = None
    given_secret: Secret | None = None
    given_namespace: str | None = None
    tier: str | None = None
    clock: Clock | None = None
    given_revoked: Secret | None = None

    def __post_init__(self) -> None:
        for name, value in (("url", self.given_url), ("tier", self.tier)):
            if value is not None and not isinstance(value, str):
                raise InvalidInput(f"expected {name} to be text, got: {value!r}")
        if self.given_namespace is not None:
            check_namespace(self.given_namespace)
        if self.clock is not None and not callable(self.clock):
            raise InvalidInput(
                f"expected clock to be a function that gives microseconds since 1970, got: {self.clock!r}"
            )

    @property
    def url(self) -> str:
        return self.given_url or os.environ.get("HOLDFAST_URL") or DEFAULT_URL

    @property
    def namespace(self) -> str:
        return check_namespace(self.given_namespace or os.environ.get("HOLDFAST_NAMESPACE") or DEFAULT_NAMESPACE)

    def ring(self) -> KeyRing | None:
        """Give the key ring, or None if jobs are not to be signed."""
        secret = self.given_secret if self.given_secret is not None else os.environ.get("HOLDFAST_SECRET")
        if secret is None or secret == "":
            return None
        revoked = self.given_revoked if self.given_revoked is not None else os.environ.get("HOLDFAST_REVOKED")
        return KeyRing(_secrets(secret, "secret"), _secrets(revoked or (), "revoked"))

    def changed(self, changes: dict[str, object]) -> "Settings":
        """Give a copy with these settings, by their public names, refusing unknown ones."""
        for name in changes:
            if name not in _FIELDS:
                raise UnknownOption(f"there is no setting {name!r}; the settings are {', '.join(_FIELDS)}")
        return msgspec.structs.replace(self, **{_FIELDS[name]: value for name, value in changes.items()})


def _secrets(value: object, what: str) -> list[str | bytes]:
    if isinstance(value, str):
        return list(split_secrets(value))
    if isinstance(value, bytes):
        return [value]
    if isinstance(value, list | tuple) and all(isinstance(one, str | bytes) for one in value):
        return list(value)
    # The value is not shown: whatever it is, somebody meant it to be secret.
    raise InvalidInput(
        f"expected {what} to be text, bytes or a list of them with the newest first, "
        f"got a {type(value).__qualname__}; see HOLDFAST_SECRET"
    )


_FIELDS: Final = {
    "url": "given_url",
    "secret": "given_secret",
    "namespace": "given_namespace",
    "tier": "tier",
    "clock": "clock",
    "revoked": "given_revoked",
}
