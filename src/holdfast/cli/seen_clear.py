"""`holdfast seen clear`: forget all keys of a queue."""

import click

from holdfast.cli.consent import ask, yes_option
from holdfast.cli.output import plural, print_json, say
from holdfast.cli.picking import get_queue
from holdfast.cli.shared import is_json, shared
from holdfast.cli.source import opened


@click.command()
@click.argument("queue")
@yes_option
@shared
def clear(queue: str, yes: bool) -> None:
    """Forget all keys of a queue, and the shape of an approximate set: it is exact again.

    \b
    Examples:
      holdfast seen clear crawl
      holdfast seen clear crawl --yes --json
    """
    with opened() as store:
        get_queue(store, queue)
        record = store.seen.get(queue)
        if record.count:
            ask(f"Forget the seen-set of queue {queue} ({plural(record.count, 'key')}) for good?", yes=yes)
        cleared = store.seen.clear(queue)
    if is_json():
        print_json({"queue": queue, "cleared": cleared})
    else:
        say(f"forgot {plural(cleared, 'key')} of the seen-set of queue {queue}")
