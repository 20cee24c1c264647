"""`holdfast show`: everything that is known of one job."""

import click

from holdfast.cli.contents import Arguments, arguments_of
from holdfast.cli.documents import job_document, run_document
from holdfast.cli.output import cell, console, print_json, table
from holdfast.cli.picking import get_job
from holdfast.cli.progress import how_far
from holdfast.cli.shared import is_json, shared
from holdfast.cli.source import opened
from holdfast.cli.times import relative, span
from holdfast.cli.trust import trust
from holdfast.errors import HoldfastError
from holdfast.model.job import JobRecord
from holdfast.model.run import Run
from holdfast.policy.moments import SECOND, shown_moment
from holdfast.run.evidence import visible
from holdfast.wire.keyring import KeyRing
from holdfast.wire.seal import check_job

_MOMENTS = {
    "created": "created_us",
    "due": "due_us",
    "last claimed": "claimed_us",
    "finished": "finished_us",
    "expires": "expires_us",
    "result kept until": "result_until_us",
    "record kept until": "keep_until_us",
}

_SIGNATURES = {
    "missing": "no",
    "unchecked": "yes, unchecked: no secret is set here",
    "valid": "yes",
    "broken": "yes, and the signature does not hold",
}


@click.command()
@click.argument("job")
@shared
def show(job: str) -> None:
    """Show all of one job.

    State, arguments, counters, times, progress, error with traceback, and the last runs.
    JOB is an id, or a part that no other recent id begins or ends with.

    \b
    Examples:
      holdfast show 0192f3a1-7c4e-7bb2-9d5e-1f2a3b4c5d6e
      holdfast show 1f2a3b4c5d6e --json
    """
    with opened() as store:
        found = get_job(store, job)
        runs, now_us = store.inspector.history(found.id), store.now()
    held = trust()
    arguments, signature = arguments_of(found, held.codec), _signature(found, held.ring)
    if is_json():
        more = {"signature": signature, "arguments": arguments.document(), "runs": [run_document(run) for run in runs]}
        print_json(job_document(found) | more)
    else:
        _draw(found, _facts(found, arguments) | {"signed": _SIGNATURES[signature]}, runs, now_us)


def _signature(job: JobRecord, ring: KeyRing | None) -> str:
    """Tell whether the job's signature holds, for this row and by the keys that are known here."""
    if job.seal is None or ring is None:
        return "missing" if job.seal is None else "unchecked"
    try:
        check_job(ring, job.id, job.queue, job.envelope, job.seal)
        return "valid"
    except HoldfastError:
        return "broken"


def _draw(job: JobRecord, facts: dict[str, str | None], runs: list[Run], now_us: int) -> None:
    screen = console()
    sheet = table("job", job.id, whole=("job", job.id))
    for name, value in facts.items():
        if value:
            sheet.add_row(name, cell(value))
    for name, field in _MOMENTS.items():
        if (moment := getattr(job, field)) is not None:
            sheet.add_row(name, cell(f"{relative(moment, now_us)}  ({shown_moment(moment)})"))
    screen.print(sheet)
    if runs:
        screen.print()
        screen.print(_runs(runs, now_us))
    if job.error:
        screen.print()
        screen.print(f"error: {visible(job.error)}", style="red")
    if job.traceback:
        screen.print(visible(job.traceback))


def _facts(job: JobRecord, arguments: Arguments) -> dict[str, str | None]:
    return {
        "state": job.state,
        "asked": "to cancel" if job.cancel_asked else None,
        "reason": job.reason,
        "task": job.task,
        "arguments": str(arguments),
        "queue": job.queue,
        "lane": job.lane,
        "key": job.key,
        "version": job.version,
        "priority": str(job.priority) if job.priority else None,
        "tags": ", ".join(job.tags),
        "progress": how_far(job),
        "runs": _counters(job),
        "worker": job.worker,
    }


def _counters(job: JobRecord) -> str:
    parts = [f"{job.deliveries} started", f"{job.failures} failed", f"{job.crashes} of {job.crash_budget} crashes"]
    return ", ".join(parts) + (f" (generation {job.generation})" if job.generation > 1 else "")


def _runs(runs: list[Run], now_us: int) -> object:
    drawn = table("run", "outcome", "took", "ended", "worker", "why", right=("run", "took"))
    for run in runs:
        took = span(run.took_us / SECOND)
        why = next(iter((run.error or run.reason or "").splitlines()), "")
        drawn.add_row(*map(cell, (run.number, run.outcome, took, relative(run.ended_us, now_us), run.worker, why)))
    return drawn
