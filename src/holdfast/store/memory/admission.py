"""How one shelf takes in a push: identity is decided and the job stored in one step (I24).

Called with the shelf's lock held.
"""

from holdfast.model.job import NewJob, Pushed
from holdfast.policy.identity import Ruling, rule
from holdfast.store.memory.entry import Entry, due_us, finish
from holdfast.store.memory.rack import Rack
from holdfast.store.memory.shelf import Shelf


def take_in(rack: Rack, shelf: Shelf, job: NewJob, now_us: int) -> Pushed:
    """Store the job, unless its id is known or its key says otherwise. Tell what became of it."""
    if not rack.reserve(job.id, shelf):
        return Pushed(job.id, "duplicate", "a job of this id is in the store already")
    if job.key is None:
        rack.put(shelf, job, now_us)
        return Pushed(job.id, "created")
    ruling = rule(job, shelf.keys.known(job.key), now_us)
    _carry_out(rack, shelf, job, ruling, now_us)
    return ruling.answer


def _carry_out(rack: Rack, shelf: Shelf, job: NewJob, ruling: Ruling, now_us: int) -> None:
    target = None if ruling.target is None else shelf.entries[ruling.target]
    if ruling.act == "follow":
        if target is not None:
            target.cancel_asked = True
        rack.put(shelf, job, now_us, is_successor=True)
    elif ruling.act == "create":
        rack.put(shelf, job, now_us)
    elif ruling.act == "replace":
        assert target is not None, "a replacement has a target"
        rack.put(shelf, job, now_us, is_successor=_clear(shelf, target, job, now_us))
    else:
        rack.unreserve(job.id)
        if target is not None:
            _merge(shelf, target, job, now_us)


def _merge(shelf: Shelf, target: Entry, job: NewJob, now_us: int) -> None:
    """Give a job that has yet to start the higher priority and the earlier time."""
    shelf.lift(target)
    target.priority = max(target.priority, job.priority)
    target.due_us = min(target.due_us, due_us(job, now_us))
    shelf.lay_again(target)


def _clear(shelf: Shelf, target: Entry, job: NewJob, now_us: int) -> bool:
    """Cancel the job to be replaced, and a successor that waits for it. Return whether it was a successor itself."""
    is_successor = target.state == "waiting"
    heir = None if is_successor else shelf.keys.successor(target)
    for entry in (heir, target) if heir else (target,):
        shelf.lift(entry)
        entry.reason = f"replaced by job {job.id}"
        finish(entry, now_us, is_success=False)
        shelf.lay(entry, "cancelled")
    return is_successor
