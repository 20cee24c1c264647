"""What the driver's errors mean to a caller. None of them passes the seam."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors

from holdfast.errors import StoreError, StoreUnavailable

PASSING = (errors.DeadlockDetected, errors.SerializationFailure, errors.UniqueViolation)
"""The server has rolled the step back because of others, who were first. It may simply be done again."""


@contextmanager
def wrapped(where: str) -> Iterator[None]:
    """Let no driver error pass."""
    try:
        yield
    except psycopg.Error as error:
        raise _explained(where, error) from error


def _explained(where: str, error: psycopg.Error) -> StoreError:
    said = " ".join(str(error).split())
    if isinstance(error, errors.InsufficientPrivilege):
        return StoreUnavailable(
            f"{where} does not let this user in far enough ({said}); grant it, or make the schema for it"
        )
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return StoreUnavailable(f"{where} is read-only now ({said}): a standby, or default_transaction_read_only is on")
    if isinstance(error, errors.DiskFull):
        return StoreUnavailable(f"the disk behind {where} is full; nothing of this step was stored")
    if isinstance(error, errors.UndefinedTable | errors.InvalidSchemaName):
        return StoreUnavailable(f"{where} has lost its tables ({said}); restore them, or start the program again")
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return StoreUnavailable(
            f"{where} cannot be reached or has broken off: {said}; it is tried anew with the next step"
        )
    return StoreError(f"PostgreSQL could not carry out the step on {where}: {said}")
