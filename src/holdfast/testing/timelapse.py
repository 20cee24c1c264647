"""Everything that would happen, made to happen now: run what may start, jump to the next such moment, go on.

Only the virtual clock moves. Days of retries take as long as their runs do, and each run sees the very moment at which
it was due. A job that goes round for ever would keep this going for ever: after `max_runs` it is called that.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta

from holdfast.app.app import Holdfast
from holdfast.errors import HoldfastError, InvalidInput
from holdfast.policy.moments import as_datetime, duration_us, moment_us
from holdfast.policy.names import check_queue
from holdfast.testing.clock import VirtualClock
from holdfast.testing.ran import Ran
from holdfast.testing.runner import Runner, is_loop_running


def drain(
    app: Holdfast,
    until: float | timedelta | datetime | None = None,
    *,
    queues: Sequence[str] | None = None,
    max_runs: int = 10_000,
    raise_errors: bool = True,
) -> list[Ran]:
    """Run everything that is and will be due, moving the app's virtual clock, and give the runs in order.

    `until`, a duration from now or an aware datetime, ends it at that moment, which it then is; without it the clock
    stays at the last run. The error of a job that fails for good is raised, unless `raise_errors=False`: then all of
    them are in the runs, and in the jobs.
    """
    if is_loop_running():
        raise HoldfastError("drain() would block the event loop that runs here; use await adrain(app)")
    clock = _clock_of(app)
    end_us = _end_us(until, clock)
    names = None if queues is None else [check_queue(name) for name in queues]
    ran: list[Ran] = []
    with Runner(app, names, shares_loop=True) as runner:
        while (one := runner.run_next()) or _jump(app, clock, names, end_us):
            if one is None:
                continue
            ran.append(one)
            if raise_errors and one.has_ended_badly:
                raise one.exception()
            if len(ran) >= max_runs and _is_more(app, names, end_us):
                raise _endless(ran, clock)
    if end_us is not None:
        clock.move_to(max(clock.now, as_datetime(end_us)))  # a task may have moved it further
    return ran


async def adrain(
    app: Holdfast,
    until: float | timedelta | datetime | None = None,
    *,
    queues: Sequence[str] | None = None,
    max_runs: int = 10_000,
    raise_errors: bool = True,
) -> list[Ran]:
    """As `drain`, in a thread of its own."""
    return await asyncio.to_thread(drain, app, until, queues=queues, max_runs=max_runs, raise_errors=raise_errors)


def _clock_of(app: Holdfast) -> VirtualClock:
    if isinstance(app.clock, VirtualClock):
        return app.clock
    raise HoldfastError(
        "drain() moves the clock, and this app goes by one that cannot be moved; "
        "put it on a VirtualClock (isolated(app), or the fixture holdfast_app), or use app.drain()"
    )


def _end_us(until: float | timedelta | datetime | None, clock: VirtualClock) -> int | None:
    if until is None:
        return None
    if not isinstance(until, datetime):
        return clock() + duration_us(until, "until")
    end_us = moment_us(until, "until")
    if end_us < clock():
        raise InvalidInput(f"expected until to be in the future, got: {until}; it is {clock.now}")
    return end_us


def _jump(app: Holdfast, clock: VirtualClock, queues: Sequence[str] | None, end_us: int | None) -> bool:
    """Move the clock to the moment at which the next job may start. Return False if there is none before the end.

    What could start and was not handed out a moment ago never will be by waiting.
    """
    moment = _next_us(app, queues)
    if moment is None or moment <= clock() or (end_us is not None and moment > end_us):
        return False
    clock.move_to(as_datetime(moment))
    return True


def _next_us(app: Holdfast, queues: Sequence[str] | None) -> int | None:
    """Tell when a job of these queues is due next, or one that is ready is let go by what holds it back."""
    door = app.store.queues
    moments: list[int | None] = []
    for name in door.names() if queues is None else queues:
        queue = door.get(name)
        if queue is not None and not queue.is_paused:
            lanes = [lane.until_us for lane in door.lanes(name) if lane.ready]
            moments += [queue.next_due_us, *([queue.until_us, *lanes] if queue.counts.get("ready") else [])]
    return min((moment for moment in moments if moment is not None), default=None)


def _is_more(app: Holdfast, queues: Sequence[str] | None, end_us: int | None) -> bool:
    due_us = app.store.inspector.next_due(queues)
    return due_us is not None and (end_us is None or due_us <= end_us)


def _endless(ran: Sequence[Ran], clock: VirtualClock) -> HoldfastError:
    (task, count), *_ = Counter(one.task for one in ran).most_common(1)
    return HoldfastError(
        f"drain() gave up after {len(ran):,} runs, {count:,} of them of {task}, with more to come: it is {clock.now}. "
        "For jobs that go round for ever say where to end, drain(app, until=…); for many jobs give max_runs"
    )
