"""`holdfast why`: why one job does not run now, and when it may."""

import click

from holdfast.app.why import explain
from holdfast.cli.documents import why_document
from holdfast.cli.output import cell, console, print_json, say, table
from holdfast.cli.picking import get_job
from holdfast.cli.shared import is_json, shared
from holdfast.cli.source import opened
from holdfast.cli.times import relative
from holdfast.model.job import JobRecord
from holdfast.model.why import Reason, Why
from holdfast.policy.moments import shown_moment
from holdfast.policy.why import HARMLESS


@click.command()
@click.argument("job")
@shared
def why(job: str) -> None:
    """Tell why a job does not run now, and when it may.

    Whatever holds it back is told: its time, its queue, its lane, limits, breakers, pauses, a job of the same key, or
    that no worker is there for it. JOB is an id, or a part that no other recent id begins or ends with.

    \b
    Examples:
      holdfast why 0192f3a1-7c4e-7bb2-9d5e-1f2a3b4c5d6e
      holdfast why 1f2a3b4c5d6e --json
    """
    with opened() as store:
        found = get_job(store, job)
        answer = explain(store, found.id)
    print_json(why_document(found, answer)) if is_json() else _draw(found, answer)


def _draw(job: JobRecord, answer: Why) -> None:
    lane = f", lane {job.lane}" if job.lane is not None else ""
    say(f"job {job.id} of {job.task}, in queue {job.queue}{lane}, is {answer.state}{_start(answer)}")
    say("")
    drawn = table("why", "what", "until", whole=("why", "until"))
    for reason in answer.reasons:
        style = "green" if reason.kind in HARMLESS or reason.kind in ("running", "succeeded") else "yellow"
        until = "" if reason.until_us is None else relative(reason.until_us, answer.now_us)
        drawn.add_row(cell(reason.kind.replace("_", " "), style), cell(_words(reason)), cell(until))
    console().print(drawn)


def _start(answer: Why) -> str:
    if answer.starts_us is None:
        return ""
    if answer.starts_us <= answer.now_us:
        return ", and may start now"
    return f", and may start {relative(answer.starts_us, answer.now_us)} ({shown_moment(answer.starts_us)})"


def _words(reason: Reason) -> str:
    return reason.sentence if reason.remedy is None else f"{reason.sentence}\n→ {reason.remedy}"
