"""What the methods of an app are given, apart from options: checked, or refused with one sentence."""

from collections.abc import Mapping, Sequence

from holdfast.errors import InvalidInput
from holdfast.policy.moments import SECOND, duration_us
from holdfast.policy.names import check_queue


def module_names(imports: object) -> tuple[str, ...]:
    """Check the `imports` of an app."""
    if not isinstance(imports, list | tuple) or not all(isinstance(name, str) and name for name in imports):
        raise InvalidInput(f"expected imports to be a list of module names, got: {imports!r}")
    return tuple(imports)


def queue_names(queues: Sequence[str] | None) -> tuple[str, ...] | None:
    """Check the queues to serve; None stands for all."""
    if queues is None:
        return None
    if not isinstance(queues, list | tuple | set | frozenset) or not queues:
        raise InvalidInput(f"expected queues to be a list of queue names, or None for all, got: {queues!r}")
    return tuple(dict.fromkeys(check_queue(name) for name in queues))


def queue_shares(
    queues: Sequence[str] | Mapping[str, int] | None, strict: object
) -> tuple[tuple[str, ...] | None, dict[str, int], bool]:
    """Check the queues to serve and how they share a worker: their names, their weights, whether in strict order."""
    if not isinstance(strict, bool):
        raise InvalidInput(f"expected strict to be True or False, got: {strict!r}")
    weights = _weights(queues) if isinstance(queues, Mapping) else {}
    names = tuple(weights) if isinstance(queues, Mapping) else queue_names(queues)
    if strict and (names is None or weights or isinstance(queues, set | frozenset)):
        raise InvalidInput(
            f"expected strict to go with a list of queue names in their order, without weights, got: {queues!r}"
        )
    return names, weights, strict


def _weights(queues: Mapping[str, int]) -> dict[str, int]:
    from holdfast.policy.shares import queue_weights  # only for those who give weights

    return queue_weights(queues)


def lease_s(lease: object) -> float:
    """Check a lease, and give its seconds."""
    lease_us = duration_us(lease, "lease")
    if lease_us < SECOND:
        raise InvalidInput(f"expected lease to be 1 second or more, got: {lease!r}")
    return lease_us / SECOND


def grace_s(grace: object) -> float:
    """Check a grace, and give its seconds."""
    return duration_us(grace, "grace") / SECOND
