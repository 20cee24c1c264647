"""How a run ends on its shelf: the token is compared, the job lands, the run joins the history. One step.

Each function is called with the shelf's lock held.
"""

from holdfast.model.claim import Progress
from holdfast.model.run import Run
from holdfast.model.states import FINAL
from holdfast.model.verdict import CRASHED, Lost, Outcome, Verdict
from holdfast.policy.flow import result_of
from holdfast.policy.landing import KEEP_RUNS, Landing, land
from holdfast.policy.moments import SECOND
from holdfast.store.memory.entry import Entry, finish
from holdfast.store.memory.shelf import Shelf


def settle(shelf: Shelf, verdict: Verdict, now_us: int) -> Lost | None:
    """Carry out one verdict, or say why its token is void."""
    if lost := _void(shelf, verdict):
        return lost
    _carry_out(shelf, shelf.entries[verdict.id], verdict, now_us)
    return None


def note(shelf: Shelf, progress: Progress) -> Lost | None:
    """Record how far a run has come, or say why its token is void."""
    if lost := _void(shelf, progress):
        return lost
    entry = shelf.entries[progress.id]
    entry.progress, entry.progress_note = progress.fraction, progress.note
    return None


def give_back(shelf: Shelf, worker: str, now_us: int) -> None:
    """End a lease by the worker's own wish: what it still holds is released."""
    shelf.leases.end(worker)
    for entry in shelf.held_by(worker):
        _carry_out(shelf, entry, _verdict(entry, "released"), now_us)


def take_back(shelf: Shelf, worker: str, now_us: int) -> list[str]:
    """End a dead worker's lease: each job it held has crashed. Return their ids."""
    shelf.leases.end(worker)
    error = f"worker {worker} fell silent: its lease ended"
    held = shelf.held_by(worker)
    for entry in held:
        _carry_out(shelf, entry, _verdict(entry, "crashed", CRASHED, error), now_us)
    return [entry.id for entry in held]


def _void(shelf: Shelf, write: Verdict | Progress) -> Lost | None:
    entry = shelf.entries.get(write.id)
    if entry is None:
        return Lost(write.id, write.token, "no such job")
    if entry.state != "running":
        return Lost(write.id, write.token, f"job {write.id} is not running any more: it is {entry.state}")
    if entry.token != write.token:
        return Lost(write.id, write.token, f"job {write.id} was claimed again, by worker {entry.worker}")
    return None


def _verdict(entry: Entry, outcome: Outcome, reason: str | None = None, error: str | None = None) -> Verdict:
    assert entry.token is not None, "a running job has a token"
    return Verdict(entry.id, entry.token, entry.new.queue, outcome, reason=reason, error=error)


def _carry_out(shelf: Shelf, entry: Entry, verdict: Verdict, now_us: int) -> None:
    landing = land(
        verdict,
        due_us=entry.due_us,
        failures=entry.failures,
        crashes=entry.crashes,
        crash_budget=entry.new.crash_budget,
        cancel_asked=entry.cancel_asked,
        now_us=now_us,
    )
    shelf.lift(entry)
    _tell_round(shelf, entry, verdict, now_us)
    if verdict.is_of_a_run:
        _remember(entry, verdict, now_us)
    if verdict.outcome == "done":
        shelf.keys.succeed(entry.new, now_us)
    _touch_down(entry, landing)
    _explain(entry, verdict, landing, now_us)
    if landing.state in FINAL:
        finish(entry, now_us, is_success=landing.state == "succeeded")
    shelf.lay(entry, landing.state)


def _tell_round(shelf: Shelf, entry: Entry, verdict: Verdict, now_us: int) -> None:
    lane = shelf.lane_of(entry)
    shelf.round.end(lane, result_of(verdict.outcome), now_us)
    if verdict.slows_us:
        shelf.round.slow(lane, now_us + verdict.slows_us)


def _remember(entry: Entry, verdict: Verdict, now_us: int) -> None:
    assert entry.worker is not None, "a running job has a worker"
    assert entry.claimed_us is not None, "a running job was claimed"
    run = Run(
        job_id=entry.id,
        number=entry.deliveries,
        generation=entry.generation,
        worker=entry.worker,
        token=verdict.token,
        claimed_us=entry.claimed_us,
        ended_us=now_us,
        took_us=verdict.took_us,
        outcome=verdict.outcome,
        reason=verdict.reason,
        error=verdict.error,
        traceback=verdict.traceback,
    )
    entry.runs = [*entry.runs, run][-KEEP_RUNS:]


def _touch_down(entry: Entry, landing: Landing) -> None:
    entry.worker = entry.token = entry.claimed_us = None
    entry.due_us = landing.due_us
    entry.generation += landing.begins_anew
    entry.failures = landing.failures
    entry.crashes = landing.crashes
    if landing.forgets_expiry:
        entry.expires_us = None


def _explain(entry: Entry, verdict: Verdict, landing: Landing, now_us: int) -> None:
    """Say why the job is where it is now. A job that was merely handed back keeps the story it had."""
    if landing.state == "succeeded":
        entry.result = verdict.result
        entry.result_until_us = now_us + entry.new.result_ttl_s * SECOND
    if verdict.outcome == "done":
        entry.reason = entry.error = entry.traceback = None
    elif verdict.outcome != "released" or landing.state == "cancelled":
        entry.reason = landing.reason
        entry.error = verdict.error
        entry.traceback = verdict.traceback
