"""Two hours of five hundred lanes, on a virtual clock: arrivals, service by sixty workers, and an account of every start.

The account is checked by rules written here, apart from the code that hands jobs out: a token bucket that is refilled and
emptied by hand, counts in windows of all lengths, and an index of fairness.
"""

import random
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from heapq import heappop, heappush
from typing import Any, Final, NamedTuple

import pytest

from holdfast.model.claim import Claim
from holdfast.model.job import NewJob
from holdfast.model.queue import Limits, QueuePolicy, Rate
from holdfast.model.verdict import done
from holdfast.store.memory.store import MemoryStore
from holdfast.testing.contract.sample_jobs import enlisted
from holdfast.testing.contract.virtual_clock import VirtualClock

SECOND: Final = 1_000_000
LASTS_US: Final = 7200 * SECOND
LANES: Final = 100
WORKERS: Final = 60


class Kind(NamedTuple):
    """A queue of a hundred lanes: its policy, how its jobs arrive in each lane, and how long they take."""

    policy: QueuePolicy
    every_s: float
    clump: int
    takes_s: float


KINDS: Final = {
    "free": Kind(QueuePolicy(), 120, 1, 0.5),
    "strict": Kind(QueuePolicy(lane_limits=Limits(Rate(120 * SECOND, 1))), 80, 1, 1.0),  # more comes than may start
    "bursty": Kind(QueuePolicy(lane_limits=Limits(Rate(30 * SECOND, 5))), 900, 15, 0.5),
    "quick": Kind(QueuePolicy(lane_limits=Limits(Rate(SECOND, 10))), 1200, 20, 0.3),
    "busy": Kind(QueuePolicy(limits=Limits(max_running=10)), 7200, 100, 8.0),  # full from the first moment to the last
}


class Start(NamedTuple):
    queue: str
    lane: str
    arrived_us: int
    at_us: int


class House:
    """The store, and the workers in front of it."""

    def __init__(self) -> None:
        self.clock = VirtualClock(SECOND)
        self.store = MemoryStore(self.clock)
        self.starts: list[Start] = []
        self._worker = enlisted(self.store, lease_s=1_000_000)
        self._chance = random.Random(5)
        self._events: list[tuple[int, int, Any]] = []
        self._number = 0
        self._running = 0
        for name, kind in KINDS.items():
            self.store.queues.set_policy(name, kind.policy)

    def run(self) -> None:
        for at_us, job in arrivals(self._chance):
            self._plan(at_us, job)
        while self._events and self._events[0][0] < LASTS_US:
            self.clock.now_us = SECOND + self._events[0][0]
            self._happen()
            self._serve()

    def _happen(self) -> None:
        """Let everything happen that happens now: jobs arrive, runs end, a limit lets a lane go on."""
        now_us = self._events[0][0]
        pushed, ended = [], []
        while self._events and self._events[0][0] <= now_us:
            what = heappop(self._events)[2]
            if isinstance(what, NewJob):
                pushed.append(what)
            elif isinstance(what, Claim):
                ended.append(done(what))
        self._running -= len(ended)
        self.store.settle(ended)
        self.store.push(pushed)

    def _serve(self) -> None:
        names = list(KINDS)
        self._chance.shuffle(names)
        for claim in self.store.claim(self._worker, names, WORKERS - self._running):
            lane, arrived_us = claim.envelope.decode().split(" ")
            self.starts.append(Start(claim.queue, lane, int(arrived_us), self.clock.now_us))
            self._running += 1
            takes_s = KINDS[claim.queue].takes_s * self._chance.uniform(0.5, 1.5)
            self._plan(self.clock.now_us - SECOND + round(takes_s * SECOND), claim)
        if self._running < WORKERS and (next_us := self.store._rack.next_claimable_us(None)) is not None:
            assert next_us > self.clock.now_us, "an idle worker, a job that may start, and it was not handed out"
            self._plan(next_us - SECOND, None)

    def _plan(self, at_us: int, what: NewJob | Claim | None) -> None:
        self._number += 1
        heappush(self._events, (at_us, self._number, what))


def arrivals(chance: random.Random) -> Iterator[tuple[int, NewJob]]:
    number = 0
    for queue, kind in KINDS.items():
        for lane in range(LANES):
            at_s = 0.0 if queue == "busy" else chance.uniform(0, kind.every_s)
            while at_s < LASTS_US / SECOND:
                at_us = round(at_s * SECOND)
                for _ in range(kind.clump):
                    number += 1
                    words = f"{queue}{lane} {at_us + SECOND}".encode()
                    yield at_us, NewJob(f"job{number}", queue, "task", words, lane=f"{queue}{lane}")
                at_s += kind.every_s * chance.uniform(0.8, 1.2)


@pytest.fixture(scope="module")
def starts() -> list[Start]:
    house = House()
    house.run()
    return house.starts


def by_lane(starts: list[Start], queue: str) -> dict[str, list[int]]:
    lanes: dict[str, list[int]] = defaultdict(list)
    for start in starts:
        if start.queue == queue:
            lanes[start.lane].append(start.at_us)
    return lanes


def test_there_was_enough_to_do(starts: list[Start]) -> None:
    assert len(starts) > 25_000
    assert all(len(by_lane(starts, queue)) == LANES for queue in KINDS)


@pytest.mark.parametrize("queue", ["strict", "bursty", "quick"])
def test_no_lane_ever_took_from_an_empty_bucket(starts: list[Start], queue: str) -> None:
    """I22"""
    rate = KINDS[queue].policy.lane_limits.rate
    assert rate is not None
    for moments in by_lane(starts, queue).values():
        level, last = Fraction(rate.burst), moments[0]
        for moment in moments:
            level = min(Fraction(rate.burst), level + Fraction(moment - last, rate.interval_us)) - 1
            assert level >= 0
            last = moment


@pytest.mark.parametrize("queue", ["strict", "bursty", "quick"])
def test_no_window_of_any_length_saw_too_many_starts(starts: list[Start], queue: str) -> None:
    """I22"""
    rate = KINDS[queue].policy.lane_limits.rate
    assert rate is not None
    for moments in by_lane(starts, queue).values():
        for window_us in (SECOND, 10 * SECOND, 60 * SECOND, 600 * SECOND, 3600 * SECOND):
            for first, moment in enumerate(moments):
                within = bisect_right(moments, moment + window_us) - first
                assert within <= rate.burst + window_us // rate.interval_us


def test_a_rate_is_used_up_where_there_is_enough_to_do(starts: list[Start]) -> None:
    for moments in by_lane(starts, "strict").values():
        late = [moment for moment in moments if moment > LASTS_US // 2]  # by then each has a backlog
        assert len(late) >= 29, "one in two minutes, for an hour"


def test_lanes_without_limits_never_wait_behind_limited_ones(starts: list[Start]) -> None:
    """I21: there were idle workers throughout, so they never wait at all."""
    waits = [start.at_us - start.arrived_us for start in starts if start.queue == "free"]
    assert max(waits) == 0


def test_lanes_that_are_equally_busy_get_equal_shares(starts: list[Start]) -> None:
    """I21: Jain's index, 1 if all are equal."""
    shares = [len(moments) for moments in by_lane(starts, "busy").values()]
    assert sum(shares) ** 2 / (len(shares) * sum(share**2 for share in shares)) >= 0.99
    assert max(shares) - min(shares) <= 1


def test_no_more_ran_than_might(starts: list[Start]) -> None:
    """I22: ten at once, of eight seconds each at the mean, are 9,000 in two hours."""
    assert len([start for start in starts if start.queue == "busy"]) == pytest.approx(9000, rel=0.03)
