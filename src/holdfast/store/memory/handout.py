"""How one shelf serves a claim: end what has expired, wake what is due, recall what was set aside, hand out.

Each function is called with the shelf's lock held and is one part of that one step.
"""

from holdfast.model.claim import Claim
from holdfast.store.memory.entry import Entry, finish
from holdfast.store.memory.leases import Lease
from holdfast.store.memory.shelf import Shelf
from holdfast.store.protocol import PROMOTE_LIMIT

EXPIRED = "expired"


def hand_out(shelf: Shelf, lease: Lease, limit: int, nonce: str, now_us: int) -> list[Claim]:
    """Give the worker up to `limit` jobs, the best of each lane in its turn. Raises LeaseLost before anything changes."""
    shelf.leases.admit(lease, now_us)
    if shelf.is_paused:
        return []
    expire(shelf, PROMOTE_LIMIT, now_us)
    _promote(shelf, now_us)
    _recall(shelf, lease.tasks, limit)
    claims: list[Claim] = []
    while len(claims) < limit and (lane := shelf.round.next_lane(now_us)) and (best := lane.ready.peek()):
        entry = shelf.entries[best[1]]
        if entry.is_expired(now_us):  # more had expired than the bounded part above could end
            _expire(shelf, entry, now_us)
        else:
            claims.append(_take(shelf, entry, lease.record.id, nonce, now_us))
            shelf.round.serve(lane, now_us)
    shelf.round.rest(now_us)
    return claims


def expire(shelf: Shelf, limit: int, now_us: int) -> int:
    """End up to `limit` jobs whose time to start has passed. Return how many."""
    ended = 0
    while ended < limit and (first := shelf.expiring.peek()) and first[0][0] <= now_us:
        _expire(shelf, shelf.entries[first[1]], now_us)
        ended += 1
    return ended


def _expire(shelf: Shelf, entry: Entry, now_us: int) -> None:
    shelf.lift(entry)
    entry.reason = EXPIRED
    finish(entry, now_us, is_success=False)
    shelf.lay(entry, "expired")


def _promote(shelf: Shelf, now_us: int) -> None:
    for _ in range(PROMOTE_LIMIT):
        head = shelf.scheduled.peek()
        if head is None or head[0][0] > now_us:
            return
        entry = shelf.entries[head[1]]
        shelf.lift(entry)
        shelf.lay(entry, "ready")


def _recall(shelf: Shelf, tasks: frozenset[str], limit: int) -> None:
    """Make ready up to `limit` jobs that were parked because nobody knew their task, oldest first."""
    for _ in range(limit):
        heads = [head for task in shelf.orphans.keys() & tasks if (head := shelf.orphans[task].peek())]
        if not heads:
            return
        unpark(shelf, shelf.entries[min(heads)[1]])


def unpark(shelf: Shelf, entry: Entry) -> None:
    """Make a parked job ready, at the place it had."""
    shelf.lift(entry)
    entry.reason = entry.error = entry.traceback = None
    shelf.lay(entry, "ready")


def _take(shelf: Shelf, entry: Entry, worker: str, nonce: str, now_us: int) -> Claim:
    shelf.lift(entry)
    entry.deliveries += 1
    entry.worker = worker
    entry.token = f"{entry.deliveries}-{nonce}{entry.seq:x}"
    entry.claimed_us = now_us
    entry.progress = entry.progress_note = None
    shelf.lay(entry, "running")
    return Claim(
        id=entry.id,
        token=entry.token,
        queue=shelf.name,
        task=entry.new.task,
        envelope=entry.new.envelope,
        seal=entry.seal,
        failures=entry.failures,
        crashes=entry.crashes,
        crash_budget=entry.new.crash_budget,
        claimed_us=now_us,
        due_us=entry.due_us,
        is_limited=shelf.policy.is_limited,
    )
