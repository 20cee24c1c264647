"""From ids to the queues that hold them."""

from collections.abc import Sequence
from typing import NamedTuple

from holdfast.store.redis.link import Link


class Place(NamedTuple):
    """Where a job is, or was a moment ago."""

    id: str
    stamp: str
    queue: str


def places(link: Link, ids: Sequence[str]) -> dict[str, list[Place]]:
    """Find jobs by their ids, grouped by queue. An id that nobody has given out is left out."""
    if not ids:
        return {}
    found = link.ask(("HMGET", link.keys.in_house("ids"), *ids))[0]
    groups: dict[str, list[Place]] = {}
    for job_id, value in zip(ids, found, strict=True):
        if value is not None:
            stamp, _, queue = value.decode().partition(" ")
            groups.setdefault(queue, []).append(Place(job_id, stamp, queue))
    return groups
