"""Where a job lands when a run ends: the rule that every store carries out inside `settle` and `rescue`.

| verdict   | lands in                         | charged  | place in the queue         |
|-----------|----------------------------------|----------|----------------------------|
| done      | succeeded                        | nothing  |                            |
| failed    | failed                           | failure  |                            |
| retry     | scheduled for now + delay        | failure  | by its new due time        |
| snoozed   | scheduled for now + delay        | nothing  | by its new due time        |
| released  | ready                            | nothing  | the one it had             |
| crashed   | ready, or failed when the budget is used up | crash | the one it had     |
| cancelled | cancelled                        | nothing  |                            |
| parked    | parked                           | nothing  | the one it had             |

A job that recurs (`again_us`) does not end by `done` or `failed`: it opens its next generation, with fresh budgets, and is
scheduled for now + again. A crash too many ends it all the same: somebody should look.
A job that someone asked to cancel while it ran is cancelled by any verdict that would have brought it back.
A job that has truly started cannot expire any more: `retry`, `snoozed` and `crashed` forget its `expires`.
Each run is remembered, the last `KEEP_RUNS` of a job; a claim that was handed back unstarted is no run.
"""

from typing import Final

import msgspec

from holdfast.model.states import State
from holdfast.model.verdict import CRASHED, Verdict

KEEP_RUNS: Final = 10
"""How many finished runs of a job are kept."""


class Landing(msgspec.Struct, frozen=True):
    """The values a job takes on when its run ends."""

    state: State
    due_us: int
    failures: int
    crashes: int
    reason: str | None
    forgets_expiry: bool
    begins_anew: bool = False
    """Whether it opens its next generation."""


def land(
    verdict: Verdict,
    *,
    due_us: int,
    failures: int,
    crashes: int,
    crash_budget: int,
    cancel_asked: bool,
    now_us: int,
) -> Landing:
    """Decide where `verdict` brings a running job that has these values."""
    state: State
    outcome = verdict.outcome
    reason = verdict.reason
    if verdict.again_us and outcome in ("done", "failed") and not cancel_asked:
        return Landing("scheduled", now_us + verdict.again_us, 0, 0, reason, True, begins_anew=True)
    if outcome == "done":
        return Landing("succeeded", due_us, failures, crashes, reason, False)
    if outcome == "failed":
        return Landing("failed", due_us, failures + 1, crashes, reason, False)
    if outcome == "cancelled":
        return Landing("cancelled", due_us, failures, crashes, reason, False)
    if outcome == "parked":
        state = "parked"
    elif outcome == "released":
        state = "ready"
    elif outcome == "crashed":
        crashes += 1
        state, reason = ("failed", CRASHED) if is_poison(crashes, crash_budget) else ("ready", reason)
    else:
        failures += outcome == "retry"
        due_us = now_us + verdict.delay_us
        state = "scheduled" if verdict.delay_us > 0 else "ready"
    if cancel_asked and state != "failed":
        state, reason = "cancelled", "cancelled while it ran"
    return Landing(state, due_us, failures, crashes, reason, outcome in ("retry", "snoozed", "crashed"))


def is_poison(crashes: int, crash_budget: int) -> bool:
    """Tell whether a job has crashed often enough: at the budget's last crash, and at the first if it is 0."""
    return crashes >= max(crash_budget, 1)


Story = tuple[str | None, str | None, str | None]
"""What a job's record says of its last run: reason, error, traceback."""


def story(verdict: Verdict, landing: Landing, former: Story) -> Story:
    """Choose what the job's record says of its last run. A success clears it, a release leaves it as it was."""
    if verdict.outcome == "done":
        return None, None, None
    if verdict.outcome == "released" and landing.state == "ready":
        return former
    return landing.reason, verdict.error, verdict.traceback


def why_refused(verdict: Verdict, state: str | None, worker: str | None) -> str:
    """Say why a verdict's token is void, by the state of its job (None: there is none) and by who holds it now."""
    if state is None:
        return f"there is no job {verdict.id}"
    if state != "running":
        return f"job {verdict.id} is not running any more: it is {state}"
    return f"job {verdict.id} was claimed again by worker {worker}"
