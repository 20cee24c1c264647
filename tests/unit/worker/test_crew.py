"""How many claims a crew takes, and who gets them. Children are stood in for: it is the counting that is tried."""

from typing import Any, cast

import pytest

from holdfast.model.claim import Claim
from holdfast.worker.crew import Crew
from holdfast.worker.messages import Slot


class StandIn:
    """A child with some idle slots of each kind, which would hold so many claims of quick sync tasks."""

    def __init__(self, depth: int = 1, main: int = 1, loop: int | None = None) -> None:
        self.is_ready = True
        self.given: list[Claim] = []
        self._sizes: dict[Slot, int] = {"main": main} if loop is None else {"main": main, "loop": loop}
        self._depth = depth

    def slots(self) -> set[Slot]:
        return set(self._sizes)

    def slot_of(self, claim: Claim) -> Slot:
        return cast("Slot", claim.task)

    def idle(self, slot: Slot) -> int:
        return max(0, self._sizes[slot] - self._held(slot))

    def free(self, slot: Slot) -> int:
        return max(0, (self._depth if slot == "main" else self._sizes[slot]) - self._held(slot))

    room = free

    def left(self) -> int:
        return 1000

    def give(self, claims: list[Claim]) -> None:
        self.given += claims

    def end(self, *ids: str) -> None:
        self.given = [claim for claim in self.given if claim.id not in ids]

    def _held(self, slot: Slot) -> int:
        return sum(claim.task == slot for claim in self.given)


def crew_of(*hands: StandIn) -> Crew:
    crew = Crew(lambda: None)
    crew.hands = list(cast("Any", hands))
    return crew


def claim(number: int, slot: Slot = "main", *, queue: str = "queue", is_limited: bool = False) -> Claim:
    return Claim(f"job{number}", f"token{number}", queue, slot, b"", None, 0, 0, 3, 0, 0, is_limited)


def test_idle_slots_are_filled_now_and_the_rest_is_claimed_ahead() -> None:
    assert crew_of(StandIn(depth=50)).room() == (1, 49)
    assert crew_of(StandIn(depth=50), StandIn(depth=1)).room() == (2, 49)


def test_a_busy_child_takes_only_ahead() -> None:
    hand = StandIn(depth=50)
    crew = crew_of(hand)
    crew.give([claim(1)])
    assert crew.room() == (0, 49)


def test_with_several_kinds_of_slot_the_fewest_idle_ones_count() -> None:
    crew = crew_of(StandIn(depth=50, loop=100))
    assert crew.room() == (1, 0), "the reach starts at one"
    crew.give([claim(number, "loop") for number in range(50)])
    assert crew.room() == (1, 5)


def test_a_limited_claim_goes_into_an_idle_slot_or_back() -> None:
    first, second = StandIn(depth=50, loop=100), StandIn(depth=50, loop=100)
    crew = crew_of(first, second)
    back = crew.give([claim(number, is_limited=True) for number in range(3)])
    assert (len(first.given), len(second.given), [one.id for one in back]) == (1, 1, ["job2"])
    assert [verdict.outcome for verdict in crew.take().verdicts] == ["released"]


def test_a_claim_without_limits_may_wait_behind_another() -> None:
    hand = StandIn(depth=50, loop=100)
    assert crew_of(hand).give([claim(number) for number in range(3)]) == []
    assert len(hand.given) == 3


@pytest.mark.parametrize("is_limited", [True, False])
def test_a_limited_queue_rests_when_it_has_taken_the_last_idle_slot_of_its_kind(is_limited: bool) -> None:
    hand = StandIn(depth=50, loop=100)
    crew = crew_of(hand)
    crew.give([claim(1, is_limited=is_limited), claim(2, "loop", queue="other", is_limited=is_limited)])
    assert crew.not_resting(["queue", "other"]) == (["other"] if is_limited else ["queue", "other"])
    hand.end("job1")
    assert crew.not_resting(["queue", "other"]) == ["queue", "other"]
