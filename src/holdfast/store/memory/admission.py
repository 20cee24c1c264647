"""How one shelf takes in a push: identity and room are decided and the job stored in one step (I24, I30).

Called with the shelf's lock held.
"""

from holdfast.model.job import NewJob, Pushed
from holdfast.model.states import State
from holdfast.policy.bounds import has_room, refused, spilled
from holdfast.policy.identity import Ruling, is_needless, rule, seen
from holdfast.store.memory.entry import Entry, due_us, finish
from holdfast.store.memory.rack import Rack
from holdfast.store.memory.shelf import SIZED, Shelf

PLAIN = Ruling("create", Pushed("", "created"))
"""What becomes of a push without a key."""


def take_in(rack: Rack, shelf: Shelf, job: NewJob, now_us: int) -> Pushed:
    """Store the job, unless its id is known or its key says otherwise. Tell what became of it."""
    if not rack.reserve(job.id, shelf):
        return Pushed(job.id, "duplicate", "a job of this id is in the store already")
    ruling = PLAIN if job.key is None else rule(job, shelf.keys.known(job.key), now_us)
    target = None if ruling.target is None else shelf.entries[ruling.target]
    if ruling.act in ("merge", "nothing"):
        rack.unreserve(job.id)
        if target is not None:
            _merge(shelf, target, job, now_us)
        return ruling.answer
    if is_needless(job, job.seen is not None and shelf.seen.has(job.seen.digest, now_us)):
        rack.unreserve(job.id)
        return seen(job.id)
    if not has_room(shelf.policy, shelf.size - (ruling.act == "replace" and _is_counted(target))):
        return _turn_away(rack, shelf, job, ruling, now_us)
    rack.put(shelf, job, now_us, _make_way(shelf, job, ruling, target, now_us))
    if job.seen is not None:
        shelf.seen.add(job.seen.digest, job.seen.ttl_us, now_us)
    return ruling.answer if job.key is not None else Pushed(job.id, "created")


def _make_way(shelf: Shelf, job: NewJob, ruling: Ruling, target: Entry | None, now_us: int) -> State | None:
    """Do to the job in the way what the ruling says. Give the state in which the new one is stored, if that is fixed."""
    if ruling.act == "replace":
        assert target is not None, "a replacement has a target"
        return _clear(shelf, target, job, now_us)
    if ruling.act == "follow":
        if target is not None:
            target.cancel_asked = True
        return "waiting"
    return None


def _turn_away(rack: Rack, shelf: Shelf, job: NewJob, ruling: Ruling, now_us: int) -> Pushed:
    """Refuse a push for want of room, or set it aside. A successor cannot be set aside: there is a job before it already."""
    if shelf.policy.on_full != "spill" or ruling.act != "create":
        rack.unreserve(job.id)
        shelf.refused += 1
        return refused(job.id)
    rack.put(shelf, job, now_us, "spilled")
    if job.seen is not None:
        shelf.seen.add(job.seen.digest, job.seen.ttl_us, now_us)
    return spilled(job.id, shelf.policy)


def _is_counted(entry: Entry | None) -> bool:
    return entry is not None and entry.state in SIZED


def _merge(shelf: Shelf, target: Entry, job: NewJob, now_us: int) -> None:
    """Give a job that has yet to start the higher priority and the earlier time."""
    shelf.lift(target)
    target.priority = max(target.priority, job.priority)
    target.due_us = min(target.due_us, due_us(job, now_us))
    shelf.lay_again(target)


def _clear(shelf: Shelf, target: Entry, job: NewJob, now_us: int) -> State | None:
    """Cancel the job to be replaced, and a successor that waits for it. Give the state to take: that of a successor, if
    it was one itself.
    """
    is_successor = target.state == "waiting"
    heir = None if is_successor else shelf.keys.successor(target)
    for entry in (heir, target) if heir else (target,):
        shelf.lift(entry)
        entry.reason = f"replaced by job {job.id}"
        finish(entry, now_us, is_success=False)
        shelf.lay(entry, "cancelled")
    return "waiting" if is_successor else None
