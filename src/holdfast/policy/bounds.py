"""Whether there is room in a queue, and what becomes of a push if there is none.

A queue is full when as many jobs as may (`max_size`) have yet to start: waiting, scheduled, ready. What comes back (a retry,
a release, a rescue, a generation opened again) is never refused, so it may hold more. A push that finds it full is refused
and counted, or spilled: stored, with its key, but not yet in the queue. Spilled jobs enter in the step that makes room, by
priority, then in the order of arrival. One that waits longer than the queue's time to live for them expires; once it has
entered, only its own `expires` counts.
"""

from typing import Final

from holdfast.model.job import Pushed
from holdfast.model.queue import QueuePolicy

FULL: Final = "full"
"""The reason of a push that was refused because there was no room."""


def has_room(policy: QueuePolicy, size: int) -> bool:
    return policy.max_size is None or size < policy.max_size


def refused(job_id: str) -> Pushed:
    """Answer a push to a full queue that sets nothing aside."""
    return Pushed(job_id, "refused", FULL)


def spilled(job_id: str, policy: QueuePolicy) -> Pushed:
    """Answer a push to a full queue that sets it aside."""
    return Pushed(job_id, "spilled", f"the queue is full ({policy.max_size} jobs have yet to start): it waits for room")


def spilled_until_us(policy: QueuePolicy, expires_us: int | None, now_us: int) -> int:
    """Tell when a job that is spilled now expires, if it finds no room."""
    ends_us = now_us + policy.spill_ttl_us
    return ends_us if expires_us is None else min(ends_us, expires_us)
