"""Ageing: a job gains a point of priority for each `ageing_us` that it has been due, so that nothing starves.

The job to go first is the one with the most of `priority + (now - due) / ageing`. As time passes all of them gain alike,
so the order among them never changes: it is that of `due - priority * ageing`, the lowest first. A priority is thus a head
start, and stores keep what they have kept all along. Among equals the one that became due first goes first, then the one
that arrived first.

A head start is a hundred years at most. What a priority has beyond that makes no difference, and every sum is exact, also
where numbers are doubles (2^53 µs are 285 years).

It goes with the order fifo only. If a queue comes to be lifo all the same, by what the program declares or by what is set
over it, its priorities do not age (`policy.overlay`).
"""

from typing import Final

from holdfast.errors import InvalidInput
from holdfast.model.queue import Order
from holdfast.policy.moments import SECOND, duration_us

LONGEST_US: Final = 100 * 366 * 86_400 * SECOND
"""The longest head start; there is no longer duration either."""
_PRIORITIES: Final = 2**31


def head_start_us(priority: int, ageing_us: int) -> int:
    """Tell how much longer a job of priority 0 must have been due to be its equal."""
    most = most_priority(ageing_us)
    return max(-most, min(priority, most)) * ageing_us


def most_priority(ageing_us: int) -> int:
    """Give the priority, up or down, beyond which it makes no difference."""
    return min(LONGEST_US // ageing_us, _PRIORITIES)


def parse_ageing(value: object, what: str = "ageing") -> int:
    """Check in what time a job gains a point, and give it in microseconds."""
    ageing_us = duration_us(value, what)
    if ageing_us == 0:
        raise InvalidInput(f"expected {what} to be more than 0 seconds, got: {value!r}; leave it out for none")
    return ageing_us


def check_order(order: Order, ageing_us: int | None, remedy: str) -> None:
    """Refuse a queue in which the last shall go first, and the one that waits longest as well."""
    if order == "lifo" and ageing_us is not None:
        raise InvalidInput(f"expected either order='lifo' or ageing, got both: {remedy}")
