"""The key ring: the secrets that sign, in the order they came, and those that must not any more.

The newest secret signs. All of them verify, so that a secret is changed without stopping anything: put the
new one in front everywhere, wait until the jobs signed by the old one have run, take the old one away. A
revoked secret verifies nothing from the moment it is listed, even if it is still listed as accepted.

A seal is a format byte, 8 bytes that name the key, and 32 bytes of HMAC-SHA256 over purpose and data, each
with its length in front: no two pairs of them give the same bytes. Every purpose has a key of its own,
derived from the secret, so that a seal made for one thing never passes for another.

Secrets are never shown, in no error and no repr.
"""

from collections.abc import Callable, Sequence
from typing import Final

from holdfast.errors import InvalidInput, SealBroken

SEAL_LENGTH: Final = 41
SEAL_FORMAT: Final = 0x81

_SHORTEST_SECRET: Final = 16
_REMEDY: Final = 'make one with: python -c "import secrets; print(secrets.token_urlsafe(32))"'


class KeyRing:
    """Signs with the newest secret, verifies with any that is not revoked. Threads may share it."""

    def __init__(self, secrets: Sequence[str | bytes], revoked: Sequence[str | bytes] = ()) -> None:
        import hmac  # 7 ms of OpenSSL, which an app without a secret does not need

        self._digest: Callable[[bytes, bytes, str], bytes] = hmac.digest
        self._is_same = hmac.compare_digest
        self._revoked = {self._key_id(_checked(secret)) for secret in revoked}
        keys = {self._key_id(_checked(secret)): _checked(secret) for secret in secrets}
        self._secrets = {key_id: secret for key_id, secret in keys.items() if key_id not in self._revoked}
        self._derived: dict[tuple[bytes, bytes], bytes] = {}
        if not self._secrets:
            raise InvalidInput("expected at least one secret that is not revoked: put a new one in front of the list")
        self._newest = next(iter(self._secrets))

    @classmethod
    def parse(cls, text: str, revoked: str = "") -> "KeyRing":
        """Read secrets as HOLDFAST_SECRET holds them: separated by commas, the newest first."""
        return cls(split_secrets(text), split_secrets(revoked) if revoked else ())

    def sign(self, purpose: bytes, data: bytes) -> bytes:
        """Give the seal over `data` for this purpose."""
        mac = self._mac(self._newest, purpose, data)
        return bytes((SEAL_FORMAT,)) + self._newest + mac

    def verify(self, purpose: bytes, data: bytes, seal: bytes | None) -> None:
        """Return if `seal` is over `data`, for this purpose, by a key that counts; else raise SealBroken."""
        if not seal:
            raise SealBroken(
                "the signature is missing: it was written by a program without the secret; "
                "give every program the same HOLDFAST_SECRET"
            )
        if len(seal) != SEAL_LENGTH or seal[0] != SEAL_FORMAT:
            raise SealBroken(f"the signature is malformed: {len(seal)} bytes that are not a seal of this Holdfast")
        key_id = seal[1:9]
        self._check_key(key_id)
        if not self._is_same(self._mac(key_id, purpose, data), seal[9:]):
            raise SealBroken(f"the signature by key {key_id.hex()} is wrong: what it stands for was changed")

    def __repr__(self) -> str:
        return f"<KeyRing of {len(self._secrets)}, signing with key {self._newest.hex()}>"

    def _check_key(self, key_id: bytes) -> None:
        if key_id in self._revoked:
            raise SealBroken(f"the signature is by key {key_id.hex()}, which is revoked: seal it anew or drop it")
        if key_id not in self._secrets:
            raise SealBroken(
                f"the signature is by key {key_id.hex()}, which is not in this ring: "
                "add that secret behind the newest one in HOLDFAST_SECRET"
            )

    def _mac(self, key_id: bytes, purpose: bytes, data: bytes) -> bytes:
        key = self._derived.get((key_id, purpose))
        if key is None:
            key = self._digest(self._secrets[key_id], b"holdfast sign " + purpose, "sha256")
            self._derived[key_id, purpose] = key
        return self._digest(key, joined(purpose, data), "sha256")

    def _key_id(self, secret: bytes) -> bytes:
        return self._digest(secret, b"holdfast key id", "sha256")[:8]


def joined(*parts: bytes) -> bytes:
    """Join parts so that no other parts give the same bytes: each has its length in front."""
    return b"".join(len(part).to_bytes(8, "big") + part for part in parts)


def split_secrets(text: str) -> list[str]:
    """Read secrets as the environment holds them: separated by commas."""
    secrets = [secret.strip() for secret in text.split(",")]
    if not all(secrets):
        raise InvalidInput(
            "expected HOLDFAST_SECRET to be secrets separated by commas, newest first, "
            f"got {len(secrets)} of which some are empty: remove the stray comma, or unset it to run unsigned"
        )
    return secrets


def _checked(secret: str | bytes) -> bytes:
    data = secret.encode() if isinstance(secret, str) else bytes(secret)
    if len(secret) < _SHORTEST_SECRET:
        raise InvalidInput(
            f"expected a secret of {_SHORTEST_SECRET} characters or more, got one of {len(secret)}: {_REMEDY}"
        )
    return data
