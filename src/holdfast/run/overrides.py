"""What one call may change about its task: retries and timeout, how long a retry waits, and whether it recurs.

They travel in the envelope, under the signature. What is not given there is the task's own, as it is known where the
job runs: a task that was given a longer timeout since has it for the jobs that are already in the queue.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from holdfast.errors import DecodingFailed
from holdfast.policy.retry import RetryPolicy
from holdfast.run.spec import TaskSpec
from holdfast.wire.envelope import Envelope

NO_LIMIT_US: Final = 0
"""How an envelope says that this call has no timeout: None already means "the task's own"."""

_WAITS: Final = "retry-waits-us"
_FIRST: Final = "retry-first-us"
_CAP: Final = "retry-cap-us"
_AGAIN: Final = "again-us"


def timeout_us(spec: TaskSpec, envelope: Envelope) -> int | None:
    """Give the time limit of this run, None for none."""
    given = envelope.timeout_us
    if given is None:
        return spec.timeout_us
    return None if given == NO_LIMIT_US else given


def retry_policy(policy: RetryPolicy, envelope: Envelope) -> RetryPolicy:
    """Give a task's policy with what the call changed about it."""
    changes = _read(envelope.headers) if envelope.headers else {}
    if envelope.retries is not None:
        changes["retries"] = envelope.retries
    return msgspec.structs.replace(policy, **changes) if changes else policy


def retry_headers(
    first_us: int | None = None, table_us: tuple[int, ...] | None = None, cap_us: int | None = None
) -> dict[str, str]:
    """Write down how long this call's retries wait, for its envelope."""
    headers = {}
    if table_us:
        headers[_WAITS] = ",".join(map(str, table_us))
    elif first_us is not None:
        headers[_FIRST] = str(first_us)
    if cap_us is not None:
        headers[_CAP] = str(cap_us)
    return headers


def again_us(envelope: Envelope) -> int:
    """Tell how long after its end the job is to begin anew; 0 if it is one that ends."""
    given = envelope.headers.get(_AGAIN) if envelope.headers else None
    if given is None:
        return 0
    if not given.isascii() or not given.isdigit():
        raise DecodingFailed(f"the header of an envelope that says when it recurs cannot be read: {given!r}")
    return int(given)


def again_headers(again_after_us: int | None) -> dict[str, str]:
    """Write down that a job recurs, for its envelope."""
    return {} if again_after_us is None else {_AGAIN: str(again_after_us)}


def _read(headers: Mapping[str, str]) -> dict[str, object]:
    try:
        changes: dict[str, object] = {}
        if _WAITS in headers:
            changes["table_us"] = tuple(map(int, headers[_WAITS].split(",")))
        if _FIRST in headers:
            changes |= {"first_us": int(headers[_FIRST]), "table_us": ()}
        if _CAP in headers:
            changes["cap_us"] = int(headers[_CAP])
    except ValueError as error:
        raise DecodingFailed(f"the retry headers of an envelope cannot be read: {dict(headers)!r}") from error
    return changes
