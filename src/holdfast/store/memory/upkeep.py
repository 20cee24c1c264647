"""What has to be done now and then, by anyone: rescue jobs, end and drop what is past its time."""

from typing import Final

from holdfast.model.query import Tidied
from holdfast.model.worker import Rescued
from holdfast.store.memory import handout, settlement
from holdfast.store.memory.rack import Rack
from holdfast.store.memory.shelf import Shelf

SLICE: Final = 1000


def rescue(rack: Rack, now_us: int | None) -> list[Rescued]:
    """End the leases that have run out, then take the jobs of all ended workers from every shelf.

    The roster comes first: from then on nobody takes the worker for alive. A claim that had looked at the
    roster just before may still put a job into its hands on a shelf that this has passed; the next rescue
    finds it.
    """
    taken: dict[str, list[str]] = {worker: [] for worker in rack.roster.end_silent(rack.moment(now_us))}
    for shelf in rack.shelves():
        with rack.hold(shelf, now_us) as now:
            for worker in filter(rack.roster.has_ended, shelf.leases.open_ids()):
                taken.setdefault(worker, []).extend(settlement.take_back(shelf, worker, now))
    return [Rescued(worker, tuple(ids)) for worker, ids in taken.items()]


def tidy(rack: Rack, now_us: int | None) -> Tidied:
    """End up to a slice of expired jobs and drop up to a slice of records past their term."""
    expired = pruned = 0
    nexts: list[int] = []
    for shelf in rack.shelves():
        with rack.hold(shelf, now_us) as now:
            expired += handout.expire(shelf, SLICE - expired, now)
            pruned += _prune(rack, shelf, SLICE - pruned, now)
            shelf.round.forget_idle(SLICE, now)
            shelf.keys.forget_old(SLICE, now)
            shelf.seen.forget_old(SLICE, now)
            heads = (shelf.expiring.peek(), shelf.retained.peek())
            nexts += [head[0][0] for head in heads if head]
    is_more = SLICE in (expired, pruned)
    return Tidied(expired, pruned, is_more, min(nexts, default=None))


def _prune(rack: Rack, shelf: Shelf, limit: int, now_us: int) -> int:
    dropped = 0
    while dropped < limit and (first := shelf.retained.peek()) and first[0][0] <= now_us:
        rack.drop(shelf, shelf.entries[first[1]])
        dropped += 1
    return dropped
