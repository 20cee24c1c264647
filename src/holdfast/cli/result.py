"""`holdfast result`: what a job returned, or why there is nothing to give."""

import click

from holdfast.cli.contents import as_text, plain
from holdfast.cli.output import print_json
from holdfast.cli.picking import get_job
from holdfast.cli.shared import is_json, shared
from holdfast.cli.source import opened
from holdfast.cli.times import DURATION
from holdfast.cli.trust import Trust, trust
from holdfast.errors import HoldfastError, JobFailed, ResultTimeout
from holdfast.model.job import JobRecord
from holdfast.model.states import FINAL
from holdfast.store.protocol import Store


@click.command()
@click.argument("job")
@click.option("--wait", type=DURATION, default=0.0, metavar="TIME", help="Wait up to so long for its end: 90, 5m.")
@shared
def result(job: str, wait: float) -> None:
    """Print the result of a job; exit code 1 if it has none.

    Text is printed bare, other plain values as JSON. A failed job prints its error and the worker's traceback.
    JOB is an id, or a part that no other recent id begins or ends with.

    \b
    Examples:
      holdfast result 0192f3a1-7c4e-7bb2-9d5e-1f2a3b4c5d6e
      holdfast result 1f2a3b4c5d6e --wait 30s --json
    """
    with opened() as store:
        record, now_us = _awaited(store, get_job(store, job), wait), store.now()
    value, problem = _read(record, now_us, trust())
    if is_json():
        told = problem.message if isinstance(problem, JobFailed) else problem and str(problem)
        print_json({"id": record.id, "state": record.state, "result": plain(value), "problem": told})
    elif problem is None:
        click.echo(as_text(value))
    if problem is not None:
        raise problem


def _awaited(store: Store, record: JobRecord, wait_s: float) -> JobRecord:
    if record.state in FINAL or wait_s <= 0:
        return record
    store.inspector.watch([record.id], wait_s)
    return get_job(store, record.id)


def _read(record: JobRecord, now_us: int, held: Trust) -> tuple[object, HoldfastError | None]:
    """Give the value, or why there is none."""
    from holdfast.app.outcome import value_of  # the same rule as job.result()

    if record.state not in FINAL:
        remedy = "wait for it with --wait 30s" if record.state != "parked" else "see why: holdfast show"
        return None, ResultTimeout(f"job {record.id} has not ended: it is {record.state}; {remedy}")
    try:
        return value_of(record.id, record, now_us, held.codec, held.ring), None
    except HoldfastError as error:
        return None, error
