"""The lanes of one queue during one step: what is looked at is placed anew, and what has changed is saved at the end."""

from collections.abc import Iterable, Sequence
from typing import Final

from holdfast.policy import flow as rules
from holdfast.policy.flow import Flow
from holdfast.policy.overlay import unpacked as policies
from holdfast.store.flowing.ledger import Gate, LaneRow, Ledger, News, Place, packed, unpacked
from holdfast.store.flowing.news import tell

SLICE: Final = 1000
"""How many lanes a step looks at, at most, for each of the reasons there are."""


class Lane:
    """A lane that has been looked at."""

    __slots__ = ("flow", "gate", "has_ready", "kept", "name", "rank", "running")

    def __init__(self, row: LaneRow) -> None:
        self.name = row.name
        self.flow = unpacked(row.flow)
        self.running = row.running
        self.has_ready = row.has_ready
        self.gate: Gate = row.gate or "rested"
        self.rank = row.rank
        self.kept = row


class Round:
    """One flowing queue. Made, used and saved with the queue's lock held.

    Only in a claim do lanes join the round. Any other step that meets one which has yet to join leaves it to the next claim.
    """

    def __init__(self, ledger: Ledger, now_us: int, *, is_claim: bool = False) -> None:
        book = ledger.load()
        self.ledger = ledger
        self.now_us = now_us
        self.policy, self.overlay = policies(book.declared, book.overlay)
        self.flow = unpacked(book.flow)
        self.lanes: dict[str, Lane] = {}
        """Those that this step has looked at."""
        self._is_claim = is_claim
        self._kept_flow = book.flow
        self._counts = self.policy.lane_limits.max_running is not None
        self._running = 0 if self.policy.limits.max_running is None else ledger.running()

    def read_news(self, woken: Iterable[str] = ()) -> None:
        """Act on the news, and place the lanes that they name, that were woken, or whose time has come."""
        news = self._take_news()
        due = self.ledger.names_at("timed", self.now_us, SLICE)
        named = self.look_at([one.lane for one in news] + due + list(woken))
        for one in news:
            tell(one, self.flow, self.lanes[one.lane].flow, self.policy)
        for lane in named:
            self.place(lane)

    def look_at(self, names: Iterable[str]) -> list[Lane]:
        """Give the lanes of these names, which are then among those of this step."""
        wanted = dict.fromkeys(names)
        new = [name for name in wanted if name not in self.lanes]
        if new:
            self._take_in(self.ledger.named(new, counts=self._counts))
        return [self.lanes[name] for name in wanted]

    def look_at_open(self, after: tuple[int, str] | None, limit: int) -> tuple[list[LaneRow], list[Lane]]:
        """Give the rows of the next open lanes behind this place, and of these the lanes that are new to this step.

        Each is placed anew: what it is kept for may have been changed by a policy, of which it has yet to hear.
        """
        rows = self.ledger.open_lanes(after, limit, counts=self._counts)
        lanes = self._take_in([row for row in rows if row.name not in self.lanes])
        for lane in lanes:
            self.place(lane)
        return rows, lanes

    def place(self, lane: Lane) -> None:
        """Put the lane where it belongs now."""
        lane.gate, lane.rank = self._place(lane)

    def is_open(self) -> bool:
        """Tell whether the queue as a whole may start a job."""
        return rules.standing(self.flow, self.policy.limits, self._running, self.now_us)[0] == "open"

    def serve(self, lane: Lane) -> None:
        """Charge the lane and the queue for a job that starts now."""
        rules.start(self.flow, self.policy.limits, self.now_us)
        rules.start(lane.flow, self.policy.lane_limits, self.now_us)
        rules.serve(lane.flow, self.flow, self._weight(lane))
        lane.running += 1
        self._running += 1
        self.place(lane)

    def save(self) -> None:
        """Keep what has changed."""
        self.ledger.place([place for lane in self.lanes.values() if (place := self._changed(lane))])
        if newcomers := [lane.name for lane in self.lanes.values() if lane.gate == "shut" and self._may_join(lane)]:
            self.ledger.stir(newcomers, self.now_us)
        standing, until_us = rules.standing(self.flow, self.policy.limits, self._running, self.now_us)
        self.ledger.save(packed(self.flow), 0 if standing == "open" else until_us)

    def _take_news(self) -> list[News]:
        """Take how runs ended whole, and arrivals by the slice: a limit must know the former before the next start."""
        news: list[News] = []
        while batch := self.ledger.read_news(SLICE):
            self.ledger.drop_news([one.id for one in batch])
            news += batch
            if len(batch) < SLICE or batch[-1].kind == "came":
                break
        return news

    def _take_in(self, rows: Sequence[LaneRow]) -> list[Lane]:
        lanes = [Lane(row) for row in rows]
        self.lanes.update((lane.name, lane) for lane in lanes)
        return lanes

    def _place(self, lane: Lane) -> tuple[Gate, int]:
        if not lane.has_ready:
            return self._rest(lane.flow)
        standing, until_us = rules.standing(lane.flow, self.policy.lane_limits, lane.running, self.now_us)
        if standing == "open" and not self._is_claim and rules.is_outside(lane.flow, self.flow):
            return "shut", 0
        if standing == "open":
            rules.join(lane.flow, self.flow, self._weight(lane))
            return "open", lane.flow.turn
        return ("shut", 0) if until_us is None else ("timed", until_us)

    def _rest(self, flow: Flow) -> tuple[Gate, int]:
        rests_us = rules.rests_from_us(flow)
        if rests_us is None:
            return "shut", 0
        return ("rested", flow.turn) if rests_us <= self.now_us else ("idle", rests_us)

    def _may_join(self, lane: Lane) -> bool:
        """Tell whether a lane would join if this were a claim."""
        standing, _ = rules.standing(lane.flow, self.policy.lane_limits, lane.running, self.now_us)
        return lane.has_ready and standing == "open"

    def _weight(self, lane: Lane) -> int:
        return self.policy.weights.get(lane.name, 1)

    def _changed(self, lane: Lane) -> Place | None:
        flow, kept = packed(lane.flow), lane.kept
        if (lane.gate, lane.rank, flow) == (kept.gate, kept.rank, kept.flow):
            return None
        if kept.gate is None and lane.gate == "rested" and lane.rank < max(self.flow.turn, 1):
            return None  # it would be forgotten as soon as it is written
        return Place(lane.name, lane.gate, lane.rank, flow)
