"""A push that waits for room, where the queue's policy wants it (`on_full="block"`).

A refusal is final for the store: nothing was stored. Whether its caller waits is the caller's affair, decided here: it
sleeps until the store tells of room, and pushes again what was refused. Others may be quicker; then it sleeps again, until
the time that the policy gives it is over. If the process dies meanwhile, what was stored is stored, and the rest never was.
"""

import time
from collections.abc import Sequence

from holdfast.model.job import NewJob, Pushed
from holdfast.policy.bounds import FULL
from holdfast.policy.moments import SECOND
from holdfast.store.protocol import Store


def push(store: Store, jobs: Sequence[NewJob]) -> list[Pushed]:
    """Store the jobs, and wait for room for those that find none, queue by queue, where that is wanted."""
    pushed = store.push(jobs)
    full = [place for place, one in enumerate(pushed) if one.decision == "refused" and one.reason == FULL]
    for queue in dict.fromkeys(jobs[place].queue for place in full):
        _insist(store, queue, jobs, [place for place in full if jobs[place].queue == queue], pushed)
    return pushed


def _insist(store: Store, queue: str, jobs: Sequence[NewJob], places: list[int], pushed: list[Pushed]) -> None:
    """Push those again whenever there is room, until all are in or the time is over."""
    record = store.queues.get(queue)
    if record is None or record.policy.on_full != "block":
        return
    limit_us = record.policy.block_us
    deadline = float("inf") if limit_us is None else time.monotonic() + limit_us / SECOND
    while places and (left_s := deadline - time.monotonic()) > 0:
        if not store.wait_for_room(queue, min(left_s, 3600.0)):
            continue
        for place, answer in zip(places, store.push([jobs[place] for place in places]), strict=True):
            pushed[place] = answer
        places = [place for place in places if pushed[place].reason == FULL]
