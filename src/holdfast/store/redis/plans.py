"""Where a verdict may bring a job, worked out before the script runs.

The rule is `policy.landing.land` and stays there. It depends on two things that only the server knows: whether this
crash is one too many, and whether someone asked to cancel. So it is asked for all cases, and the script chooses
among the answers.
"""

from functools import lru_cache
from typing import Any, Final

from holdfast.model.states import is_move
from holdfast.model.verdict import UNKNOWN_TASK, Outcome, Verdict
from holdfast.policy.landing import land

Plan = tuple[tuple[Any, ...], ...]
"""One landing for all cases, or four: neither, cancelled, poison, both. See `lua/parts/landing.lua`."""

_KEEP: Final = -1
_AMPLE: Final = 1_000_000


@lru_cache(maxsize=1024)
def plan(outcome: Outcome, reason: str | None, delay_us: int, again_us: int = 0) -> Plan:
    """Give the landings of a verdict with this outcome."""
    verdict = Verdict("", "", "", outcome, delay_us=delay_us, reason=reason, again_us=again_us)
    cases = tuple(_landing(verdict, is_poison, is_asked) for is_poison in (False, True) for is_asked in (False, True))
    return cases[:1] if len(set(cases)) == 1 else cases


def _landing(verdict: Verdict, is_poison: bool, is_asked: bool) -> tuple[Any, ...]:
    landing = land(
        verdict,
        due_us=_KEEP,
        failures=0,
        crashes=0,
        crash_budget=0 if is_poison else _AMPLE,
        cancel_asked=is_asked,
        now_us=0,
    )
    assert is_move("running", landing.state), landing
    delay = False if landing.due_us == _KEEP else landing.due_us
    is_orphan = landing.state == "parked" and landing.reason == UNKNOWN_TASK
    return (
        landing.state, delay, landing.failures, landing.crashes, landing.reason or False, landing.forgets_expiry,
        _story(verdict, landing.state), is_orphan, landing.begins_anew,
    )  # fmt: skip


def _story(verdict: Verdict, state: str) -> str:
    if verdict.outcome == "done":
        return "clear"
    return "keep" if verdict.outcome == "released" and state != "cancelled" else "tell"
