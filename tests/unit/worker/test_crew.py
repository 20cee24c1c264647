"""How many claims a crew takes, and who gets them. Children are stood in for: it is the counting that is tried."""

from typing import Any, cast

import pytest

from holdfast.model.claim import Claim
from holdfast.model.queue import Drained
from holdfast.worker.crew import Crew
from holdfast.worker.messages import Hook, Message, Slot, Written


class StandIn:
    """A child with some idle slots of each kind, which would hold so many claims of quick sync tasks."""

    def __init__(self, depth: int = 1, main: int = 1, loop: int | None = None) -> None:
        self.is_ready = True
        self.given: list[Claim] = []
        self.told: list[Message] = []
        self.writing: set[str] = set()
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

    @property
    def held(self) -> list[Claim]:
        return self.given

    def __len__(self) -> int:
        return len(self.given)

    def tell(self, message: Message) -> None:
        self.told.append(message)

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


# --- hooks --------------------------------------------------------------------------------------------------


def test_one_child_writes_a_hook_down_and_the_crew_is_not_quiet_until_it_was_dealt_with() -> None:
    hands = StandIn(), StandIn()
    crew = crew_of(*hands)
    drained = Drained("crawl", 1)
    crew.ask_for_hook(drained)
    crew.ask_for_hook(drained)
    (writer,) = [hand for hand in hands if hand.told]
    assert writer.told == [Hook(drained)]
    assert not crew.is_quiet()
    crew.take_written(cast("Any", writer), Written(drained))
    assert not crew.is_quiet()
    assert crew.take().written == [Written(drained)]
    assert crew.is_quiet()
    crew.ask_for_hook(drained)
    assert sum(len(hand.told) for hand in hands) == 2


def test_a_child_that_is_not_ready_is_not_asked_for_a_hook() -> None:
    hand = StandIn()
    hand.is_ready = False
    crew = crew_of(hand)
    crew.ask_for_hook(Drained("crawl", 1))
    assert hand.told == []
    assert crew.is_quiet()


def test_what_was_written_is_kept_until_the_store_takes_it() -> None:
    hand = StandIn()
    crew = crew_of(hand)
    first, second = (Written(Drained("crawl", number)) for number in (1, 2))
    crew.take_written(cast("Any", hand), first)
    inbox = crew.take()
    crew.take_written(cast("Any", hand), second)
    crew.put_back(inbox)
    assert crew.take().written == [first, second]


def test_a_queue_of_which_a_child_holds_a_claim_has_not_drained() -> None:
    hand = StandIn()
    crew = crew_of(hand)
    crew.give([claim(1, queue="crawl")])
    assert crew.not_held(["crawl", "mail"]) == {"mail"}
