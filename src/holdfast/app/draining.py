"""Waiting until a queue, or a lane of it, is drained: none of its jobs is ready, scheduled, running, waiting or spilled.

A queue cannot be drained before its newest job is over. So that one is watched, as `job.wait()` does, and when it has ended
the queue is looked at again. Jobs that come meanwhile are the newest then; where jobs end in the order in which they came,
one or two looks are enough, and where they end in any order, about as many as their number has digits.

A watched job may be parked or recur, and so never end; now and then another look is taken.
"""

import time
from typing import TYPE_CHECKING, Final, NamedTuple

from holdfast.app.blocking import refuse_inside_a_loop
from holdfast.errors import InvalidInput
from holdfast.model.query import Query
from holdfast.model.states import UNFINISHED
from holdfast.policy.moments import SECOND, duration_us
from holdfast.policy.names import check_lane, check_queue
from holdfast.store.protocol import Store

if TYPE_CHECKING:
    from holdfast.app.app import Holdfast

_OPEN: Final = tuple(state for state in UNFINISHED if state != "parked")
_LOOK_AGAIN_S: Final = 1.0


class Stretch(NamedTuple):
    """What is to be drained: a queue (None: every queue), or one lane of it ('': the jobs without a lane)."""

    queue: str | None
    lane: str | None

    @classmethod
    def of(cls, queue: object, lane: object) -> "Stretch":
        """Check what a caller gives."""
        if queue is None and lane is not None:
            raise InvalidInput(f"expected a queue to go with lane={lane!r}: a lane is part of a queue; got none")
        named = "" if lane == "" else None if lane is None else check_lane(lane)
        return cls(None if queue is None else check_queue(queue), named)


def wait_drained(store: Store, what: Stretch, timeout: object) -> bool:
    """Wait until it is drained. Return whether it was before the timeout."""
    deadline = _deadline(timeout)
    while (job_id := _newest(store, what)) is not None:
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            return False
        refuse_inside_a_loop("wait_drained()", "await app.await_drained(…)")
        store.inspector.watch([job_id], min(left_s, _LOOK_AGAIN_S))
    return True


async def await_drained(app: "Holdfast", what: Stretch, timeout: object) -> bool:
    """As `wait_drained`, on the one thread that watches for all coroutines."""
    import asyncio

    deadline = _deadline(timeout)
    while (job_id := await asyncio.to_thread(lambda: _newest(app.store, what))) is not None:
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            return False
        try:
            async with asyncio.timeout(min(left_s, _LOOK_AGAIN_S)) as timer:
                await app.connection().watcher.wait(job_id)
        except TimeoutError:
            if not timer.expired():
                raise
    return True


def _deadline(timeout: object) -> float:
    return float("inf") if timeout is None else time.monotonic() + duration_us(timeout, "timeout") / SECOND


def _newest(store: Store, what: Stretch) -> str | None:
    """Give the newest job that has yet to end, if there is one."""
    found = store.inspector.find(Query(_OPEN, what.queue, limit=1, lane=what.lane))
    return found[0].id if found else None
