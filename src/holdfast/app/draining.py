"""Waiting until a queue is drained: until none of its jobs is ready, scheduled, running, waiting or spilled.

A queue cannot be drained before its newest job is over. So that one is watched, as `job.wait()` does, and when it has ended
the queue is looked at again. Jobs that come meanwhile are the newest then; where jobs end in the order in which they came,
one or two looks are enough, and where they end in any order, about as many as their number has digits.

A watched job may be parked or recur, and so never end; now and then another look is taken.
"""

import time
from typing import TYPE_CHECKING, Final

from holdfast.app.blocking import refuse_inside_a_loop
from holdfast.model.query import Query
from holdfast.model.states import UNFINISHED
from holdfast.policy.moments import SECOND, duration_us

if TYPE_CHECKING:
    from holdfast.app.app import Holdfast

_OPEN: Final = tuple(state for state in UNFINISHED if state != "parked")
_LOOK_AGAIN_S: Final = 1.0


def wait_drained(app: "Holdfast", queue: str | None, timeout: object) -> bool:
    """Wait until the queue (None: every queue) is drained. Return whether it was before the timeout."""
    deadline = _deadline(timeout)
    while (job_id := _newest(app, queue)) is not None:
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            return False
        refuse_inside_a_loop("wait_drained()", "await app.await_drained(…)")
        app.store.inspector.watch([job_id], min(left_s, _LOOK_AGAIN_S))
    return True


async def await_drained(app: "Holdfast", queue: str | None, timeout: object) -> bool:
    """As `wait_drained`, on the one thread that watches for all coroutines."""
    import asyncio

    deadline = _deadline(timeout)
    while (job_id := await asyncio.to_thread(_newest, app, queue)) is not None:
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


def _newest(app: "Holdfast", queue: str | None) -> str | None:
    """Give the newest job that has yet to end, if there is one."""
    found = app.store.inspector.find(Query(_OPEN, queue, limit=1))
    return found[0].id if found else None
