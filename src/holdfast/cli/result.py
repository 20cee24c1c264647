"""`holdfast result`: what a job returned, or why there is nothing to give."""

import click

from holdfast.cli.contents import as_text, plain
from holdfast.cli.output import print_json
from holdfast.cli.picking import get_job
from holdfast.cli.shared import is_json, shared
from holdfast.cli.source import opened
from holdfast.cli.times import DURATION
from holdfast.cli.trust import codec, key_ring
from holdfast.errors import ResultTimeout
from holdfast.model.job import JobRecord
from holdfast.model.states import FINAL
from holdfast.store.protocol import Store


@click.command()
@click.argument("job")
@click.option("--wait", type=DURATION, default=0.0, metavar="TIME", help="Wait up to so long for its end: 90, 5m.")
@shared
def result(job: str, wait: float) -> None:
    """Print the result of a job; exit code 1 if it has none.

    Text is printed as it is, other plain values as JSON. A failed job prints its error and the worker's traceback.

    \b
    Examples:
      holdfast result 0192f3a1-7c4e-7bb2-9d5e-1f2a3b4c5d6e
      holdfast result 1f2a3b4c5d6e --wait 30s --json
    """
    from holdfast.app.outcome import value_of  # the same rule as job.result()

    with opened() as store:
        record = _awaited(store, get_job(store, job), wait)
        value = value_of(record.id, record, store.now(), codec(), key_ring())
    if is_json():
        print_json({"id": record.id, "state": record.state, "result": plain(value)})
    else:
        click.echo(as_text(value))


def _awaited(store: Store, record: JobRecord, wait_s: float) -> JobRecord:
    if record.state not in FINAL and wait_s > 0:
        store.inspector.watch([record.id], wait_s)
        record = get_job(store, record.id)
    if record.state not in FINAL:
        raise ResultTimeout(f"job {record.id} has not ended: it is {record.state}; wait for it with --wait 30s")
    return record
