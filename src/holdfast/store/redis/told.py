"""The driver's errors, as Holdfast tells them: what happened, and what to do."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from redis.exceptions import (
    AuthenticationError,
    AuthorizationError,
    ClusterDownError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    TryAgainError,
)
from redis.exceptions import ConnectionError as NoConnection
from redis.exceptions import TimeoutError as NoAnswer

from holdfast.errors import StoreError, StoreUnavailable
from holdfast.store.redis.replicas import NotCopied


@contextmanager
def told_as_ours(where: str) -> Iterator[None]:
    """Raise the driver's errors as Holdfast's."""
    try:
        yield
    except RedisError as error:
        raise _ours(error, where) from error


def as_ours(answer: Any, where: str) -> Any:
    """Give an answer as it is, and a driver's error as Holdfast's."""
    if not isinstance(answer, RedisError):
        return answer
    error = _ours(answer, where)
    error.__cause__ = answer
    return error


def _ours(error: RedisError, where: str) -> StoreError:
    why = error.__context__
    if isinstance(why, ssl.SSLCertVerificationError):
        return StoreUnavailable(_UNTRUSTED.format(where=where, said=why.verify_message))
    for kind, ours, sentence in _SENTENCES:
        if isinstance(error, kind):
            return ours(sentence.format(where=where, said=str(error).rstrip(".")))
    return StoreError(f"{where} refused: {str(error).rstrip('.')}")


_UNTRUSTED: Final = (
    "{where} shows a certificate that is not trusted: {said}. Name the authority that signed it with "
    "?ssl_ca_certs=/path/to/ca.pem."
)
_SENTENCES: Final[tuple[tuple[tuple[type[RedisError], ...], type[StoreError], str], ...]] = (
    (
        (OutOfMemoryError,),
        StoreError,
        "{where} is out of memory (maxmemory is reached) and stores no new jobs; claims and verdicts still work. "
        "Let workers drain it, or raise maxmemory.",
    ),
    (
        (NotCopied,),
        StoreUnavailable,
        "{where} took it, but {said}. It may be stored and may be lost with the primary; repeating it is safe. "
        "See whether the replicas are up, or ask for fewer with wait_replicas.",
    ),
    (
        (AuthenticationError, AuthorizationError),
        StoreUnavailable,
        "{where} does not let us in: {said}. Check user and password in the URL.",
    ),
    (
        (ReadOnlyError,),
        StoreUnavailable,
        "{where} is a replica and takes no writes. Let the URL name the primary.",
    ),
    (
        (ClusterDownError, TryAgainError),
        StoreUnavailable,
        "{where} cannot do this now: {said}. A node is down or slots are being moved; it goes on by itself when that is "
        "over. See CLUSTER INFO.",
    ),
    (
        (NoConnection, NoAnswer),
        StoreUnavailable,
        "{where} cannot be reached: {said}. Is the server running?",
    ),
)
"""From the particular to the general: the first that fits is told."""
