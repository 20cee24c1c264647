"""Whose turn it is among the lanes of one shelf. Jobs without a lane are a lane too, the one without a name.

    news     lanes about which something has changed: a job came or went, a run ended, a person acted
    open     heap by (turn, name): lanes that have a ready job and may start one
    timed    heap by the moment: lanes that have a ready job and may start one then
    idle     lanes that hold no job, to be forgotten by and by

A lane that nothing but an event can open (as many jobs run as may, it is paused, its probes are under way) stands in none;
the event makes it news. A claim first looks at the news and at what its time has come for, then serves the open in their
turn. So a lane that is held back costs a claim nothing.

A shelf that has never had a lane or a limit does not flow: it has the one lane, and no turns are counted.
"""

from itertools import islice
from typing import Final

from holdfast.model.queue import LaneRecord, QueuePolicy, Standing
from holdfast.policy import flow as rules
from holdfast.policy.flow import HELD, Flow
from holdfast.store.memory.heap import IndexedHeap

NAMELESS: Final = ""


class Lane:
    """The ready jobs of one lane, and what its limits remember."""

    __slots__ = ("flow", "name", "ready", "running")

    def __init__(self, name: str) -> None:
        self.name = name
        self.ready = IndexedHeap()
        self.running = 0
        self.flow = Flow()


class Round:
    """The lanes of one shelf. Every use is made with the shelf's lock held."""

    def __init__(self) -> None:
        self.policy = QueuePolicy()
        self.is_flowing = False
        self.flow = Flow()
        self.running = 0
        self.lanes: dict[str, Lane] = {NAMELESS: Lane(NAMELESS)}
        self._news: dict[str, None] = {}
        self._open = IndexedHeap()
        self._timed = IndexedHeap()
        self._idle: dict[str, None] = {}
        self._opens_us: int | None = 0
        """When the queue as a whole may start a job, as the last claim left it. None: when something happens."""

    def lane(self, name: str) -> Lane:
        """Give the lane of this name, which comes into being by being asked for."""
        lane = self.lanes.get(name)
        if lane is None:
            lane = self.lanes[name] = Lane(name)
            self.begin_to_flow()
        return lane

    def begin_to_flow(self) -> None:
        """Count turns from now on."""
        if not self.is_flowing:
            self.is_flowing = True
            self.stir(NAMELESS)  # of what came before, nothing was noted

    def stir(self, name: str) -> None:
        """Note that something about this lane has changed."""
        if self.is_flowing:
            self._news[name] = None

    def stir_all(self) -> None:
        for name in self.lanes:
            self.stir(name)

    def take_on(self, policy: QueuePolicy) -> None:
        """Go by this policy from now on."""
        if policy.tells_drained and not self.policy.tells_drained:
            rules.begin_to_tell(self.flow)
        self.policy = policy
        if not policy.is_plain:
            self.begin_to_flow()
        self.stir_all()

    def next_lane(self, now_us: int) -> Lane | None:
        """Give the lane whose turn it is, if any may start a job."""
        if not self.is_flowing:
            return self.lanes[NAMELESS] if self.lanes[NAMELESS].ready else None
        self._read_news(now_us)
        first = self._open.peek() if self.standing(now_us)[0] == "open" else None
        return self.lanes[first[1]] if first else None

    def serve(self, lane: Lane, now_us: int) -> None:
        """Charge the lane and the queue for a job that starts now."""
        if self.is_flowing:
            rules.start(self.flow, self.policy.limits, now_us)
            rules.start(lane.flow, self.policy.lane_limits, now_us)
            rules.serve(lane.flow, self.flow, self._weight(lane))
            self.stir(lane.name)

    def end(self, lane: Lane, result: rules.Result, now_us: int) -> None:
        """Tell the lane and the queue how a run ended."""
        rules.end(self.flow, self.policy.limits, result, now_us)
        rules.end(lane.flow, self.policy.lane_limits, result, now_us)
        self.stir(lane.name)

    def slow(self, lane: Lane, until_us: int) -> None:
        """Leave the lane alone until then; the whole queue, if it is the one without a name."""
        self.begin_to_flow()
        rules.slow(lane.flow if lane.name else self.flow, until_us)
        self.stir(lane.name)

    def pause(self, name: str) -> bool:
        """Start nothing in this lane until it is released. Return whether that changed anything."""
        lane = self.lane(name)
        has_changed, lane.flow.is_paused = not lane.flow.is_paused, True
        self.stir(name)
        return has_changed

    def release(self, name: str, now_us: int) -> bool:
        """Let a lane go on that was paused, broken or slowed. Return whether that changed anything."""
        self.stir(name)
        return rules.release(self.lanes[name].flow, now_us)

    def release_all(self, now_us: int) -> bool:
        """Let the queue as a whole go on. Lanes that are held back themselves stay so."""
        self.stir_all()
        return rules.release(self.flow, now_us)

    def rest(self, now_us: int) -> None:
        """Note, at the end of a claim, when the queue as a whole may go on."""
        if self.is_flowing:
            self._read_news(now_us)
            standing, until_us = self.standing(now_us)
            self._opens_us = 0 if standing == "open" else until_us

    def standing(self, now_us: int) -> tuple[Standing, int | None]:
        """Tell whether the queue as a whole may start a job."""
        return rules.standing(self.flow, self.policy.limits, self.running, now_us)

    def records(self, now_us: int) -> list[LaneRecord]:
        """List the lanes that hold jobs, or are held back, by name. The lane without a name only if it holds jobs."""
        shown = [self._recorded(lane, now_us) for lane in self.lanes.values()]
        return sorted(
            (one for one in shown if one.ready or one.running or one.standing in HELD), key=lambda one: one.name
        )

    def _recorded(self, lane: Lane, now_us: int) -> LaneRecord:
        standing, until_us = rules.standing(lane.flow, self.policy.lane_limits, lane.running, now_us)
        return LaneRecord(lane.name, len(lane.ready), lane.running, standing, until_us)

    def next_claimable_us(self) -> int | None:
        """Tell when a ready job may start: 0 if perhaps now. O(1)."""
        if not self.is_flowing:
            return 0 if self.lanes[NAMELESS].ready else None
        if self._news:
            return 0
        timed = self._timed.peek()
        lane_us = 0 if self._open else timed[0][0] if timed else None
        return None if lane_us is None or self._opens_us is None else max(lane_us, self._opens_us)

    def forget_idle(self, limit: int, now_us: int) -> None:
        """Look at up to `limit` lanes that hold no job, and drop those that would be the same if they were made anew."""
        self._read_news(now_us)
        for name in list(islice(self._idle, limit)):
            del self._idle[name]
            lane = self.lanes[name]
            if lane.ready or lane.running:
                continue
            if rules.is_forgettable(lane.flow, self.flow, now_us):
                del self.lanes[name]
            else:
                self._idle[name] = None

    def _read_news(self, now_us: int) -> None:
        while (first := self._timed.peek()) and first[0][0] <= now_us:
            self.stir(first[1])
            self._timed.remove(first[1])
        for name in self._news:
            self._place(self.lanes[name], now_us)
        self._news.clear()

    def _place(self, lane: Lane, now_us: int) -> None:
        """Put the lane into the heap where it belongs now."""
        for heap in (self._open, self._timed):
            if lane.name in heap:
                heap.remove(lane.name)
        if not lane.ready:
            if lane.name and not lane.running:
                self._idle[lane.name] = None
            return
        standing, until_us = rules.standing(lane.flow, self.policy.lane_limits, lane.running, now_us)
        if standing == "open":
            rules.join(lane.flow, self.flow, self._weight(lane))
            self._open.push(lane.name, (lane.flow.turn, lane.name))
        elif until_us is not None:
            self._timed.push(lane.name, (until_us,))

    def _weight(self, lane: Lane) -> int:
        return self.policy.weights.get(lane.name, 1)
