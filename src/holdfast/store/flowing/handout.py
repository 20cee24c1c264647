"""Handing out the jobs of a flowing queue: the lowest turn first, and of each lane the best job.

The round may have any number of open lanes; only the lowest are read, as many as jobs are wanted. One that comes up
again behind the last lane read waits until the next ones have been read, so the order is that of the whole round. Jobs are
fetched for many lanes at once, each with one more than its share, so that a lane which is now empty is known to be.
"""

from collections import deque
from heapq import heapify, heappop, heappush, nsmallest

from holdfast.store.flowing.round import SLICE, Lane, Round


class Stock:
    """The best jobs of one lane, as far as they have been fetched."""

    __slots__ = ("fetched", "is_all", "keys")

    def __init__(self) -> None:
        self.keys: deque[int] = deque()
        self.fetched = 0
        self.is_all = False
        """Whether the lane has no job beyond these."""


class Handout:
    """One claim on one flowing queue, whose news have been read."""

    def __init__(self, round_: Round) -> None:
        self._round = round_
        self._heap = [(lane.rank, lane.name) for lane in round_.lanes.values() if lane.gate == "open"]
        heapify(self._heap)
        self._horizon: tuple[int, str] | None = None
        """The last lane read of those that were open before."""
        self._has_read_all = False
        self._stocks: dict[str, Stock] = {}
        self._empty = 0
        """How many lanes were found to have no job. As many more are read next time: they may not be the last."""

    def take(self, limit: int) -> list[int]:
        """Choose up to `limit` jobs, charge their lanes, and give their keys in the order in which they start."""
        keys: list[int] = []
        while (room := limit - len(keys)) > 0 and self._is_going_on() and (lane := self._next(room)):
            stock = self._stock_of(lane, room)
            heappop(self._heap)
            if stock.keys:
                keys.append(stock.keys.popleft())
                self._serve(lane, stock)
            else:
                self._close(lane)
        return keys

    def _is_going_on(self) -> bool:
        return self._empty < SLICE and self._round.is_open()

    def _next(self, room: int) -> Lane | None:
        """Give the lane whose turn it is, if any is open, having read as far as is needed to know it."""
        while not self._has_read_all and (not self._heap or self._is_behind_horizon()):
            self._read_on(room + self._empty)
        return self._round.lanes[self._heap[0][1]] if self._heap else None

    def _is_behind_horizon(self) -> bool:
        return self._horizon is None or self._heap[0] > self._horizon

    def _read_on(self, number: int) -> None:
        rows, lanes = self._round.look_at_open(self._horizon, number)
        for lane in lanes:
            if lane.gate == "open":
                heappush(self._heap, (lane.rank, lane.name))
        self._has_read_all = len(rows) < number
        self._horizon = (rows[-1].rank, rows[-1].name) if rows else None

    def _serve(self, lane: Lane, stock: Stock) -> None:
        lane.has_ready = bool(stock.keys) or not stock.is_all
        self._round.serve(lane)
        if lane.gate == "open":
            heappush(self._heap, (lane.rank, lane.name))

    def _close(self, lane: Lane) -> None:
        self._empty += 1
        lane.has_ready = False
        self._round.place(lane)

    def _stock_of(self, lane: Lane, room: int) -> Stock:
        stock = self._stocks.setdefault(lane.name, Stock())
        if not stock.keys and not stock.is_all:
            self._fetch(room)
        return stock

    def _fetch(self, room: int) -> None:
        """Fetch jobs for those lanes among the next that have none at hand, the first of them for one."""
        names = [name for _, name in nsmallest(room + self._empty, self._heap)]
        share = -(-room // len(names)) + 1
        stocks = {name: self._stocks.setdefault(name, Stock()) for name in names}
        wanted = {name: one.fetched + share for name, one in stocks.items() if not one.keys and not one.is_all}
        found = self._round.ledger.best(wanted, self._round.policy)
        for name, number in wanted.items():
            _put_away(stocks[name], found.get(name, []), number)


def _put_away(stock: Stock, keys: list[int], wanted: int) -> None:
    stock.keys.extend(keys[stock.fetched :])
    stock.fetched = len(keys)
    stock.is_all = len(keys) < wanted
