from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.states import FINAL, is_move
from holdfast.model.verdict import Outcome, Verdict
from holdfast.policy.landing import Landing, is_poison, land
from holdfast.policy.moments import SECOND

NOW_US = 1_000 * SECOND
DUE_US = 10 * SECOND
OUTCOMES: tuple[Outcome, ...] = ("done", "retry", "failed", "snoozed", "cancelled", "released", "crashed", "parked")


def landing(outcome: Outcome, delay_us: int = 0, reason: str | None = "why", **given: Any) -> Landing:
    values = {"due_us": DUE_US, "failures": 2, "crashes": 1, "crash_budget": 3, "cancel_asked": False} | given
    return land(Verdict("id", "token", "q", outcome, delay_us, reason=reason), now_us=NOW_US, **values)


@pytest.mark.parametrize(
    ("outcome", "delay_us", "state", "due_us", "failures", "crashes"),
    [
        ("done", 0, "succeeded", DUE_US, 2, 1),
        ("failed", 0, "failed", DUE_US, 3, 1),
        ("retry", SECOND, "scheduled", NOW_US + SECOND, 3, 1),
        ("retry", 0, "ready", NOW_US, 3, 1),
        ("snoozed", SECOND, "scheduled", NOW_US + SECOND, 2, 1),
        ("snoozed", 0, "ready", NOW_US, 2, 1),
        ("cancelled", 0, "cancelled", DUE_US, 2, 1),
        ("released", 0, "ready", DUE_US, 2, 1),
        ("crashed", 0, "ready", DUE_US, 2, 2),
        ("parked", 0, "parked", DUE_US, 2, 1),
    ],
)
def test_a_verdict_lands_and_is_charged_as_the_table_says(
    outcome: Outcome, delay_us: int, state: str, due_us: int, failures: int, crashes: int
) -> None:
    landed = landing(outcome, delay_us)
    assert (landed.state, landed.due_us, landed.failures, landed.crashes) == (state, due_us, failures, crashes)
    assert landed.reason == "why"


@pytest.mark.parametrize(("outcome", "state"), [("retry", "cancelled"), ("snoozed", "cancelled"), ("released", "cancelled"),
                                                ("crashed", "cancelled"), ("parked", "cancelled"), ("done", "succeeded"),
                                                ("failed", "failed")])  # fmt: skip
def test_a_job_that_was_to_be_cancelled_does_not_come_back(outcome: Outcome, state: str) -> None:
    assert landing(outcome, cancel_asked=True).state == state


def test_the_last_crash_of_the_budget_fails_the_job_even_if_it_was_to_be_cancelled() -> None:
    landed = landing("crashed", reason="signal 9", crashes=2, cancel_asked=True)
    assert (landed.state, landed.crashes, landed.reason) == ("failed", 3, "crashed")


@pytest.mark.parametrize(
    ("crashes", "budget", "poison"),
    [(1, 3, False), (2, 3, False), (3, 3, True), (4, 3, True), (1, 1, True), (1, 0, True)],
)
def test_a_job_is_poison_at_the_last_crash_of_its_budget(crashes: int, budget: int, poison: bool) -> None:
    """I14; a budget of 0 allows one start."""
    assert is_poison(crashes, budget) is poison


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_only_what_has_truly_started_forgets_its_expiry(outcome: Outcome) -> None:
    assert landing(outcome).forgets_expiry is (outcome in ("retry", "snoozed", "crashed"))


@given(st.sampled_from(OUTCOMES), st.integers(0, 10**9), st.integers(0, 5), st.integers(0, 5), st.booleans())
def test_every_landing_is_an_allowed_move_and_charges_at_most_one(
    outcome: Outcome, delay_us: int, crashes: int, budget: int, asked: bool
) -> None:
    landed = landing(outcome, delay_us, crashes=crashes, crash_budget=budget, cancel_asked=asked)
    assert is_move("running", landed.state)
    assert (landed.failures - 2) + (landed.crashes - crashes) in (0, 1)
    assert not (asked and landed.state not in FINAL)
