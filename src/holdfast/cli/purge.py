"""`holdfast queue purge`: empty a queue."""

import click

from holdfast.cli.consent import ask, yes_option
from holdfast.cli.output import plural, print_json, say
from holdfast.cli.picking import get_queue
from holdfast.cli.shared import is_json, shared
from holdfast.cli.source import opened


@click.command()
@click.argument("name")
@yes_option
@shared
def purge(name: str, yes: bool) -> None:
    """Delete all jobs of a queue that have not started; running and finished ones stay.

    \b
    Examples:
      holdfast queue purge mail
      holdfast queue purge mail --yes --json
    """
    with opened() as store:
        waiting = get_queue(store, name)
        number = waiting.size + waiting.counts.get("parked", 0) + waiting.counts.get("spilled", 0)
        if number:
            ask(f"Delete {plural(number)} of queue {name} for good?", yes=yes)
        purged = store.queues.purge(name)
    print_json({"queue": name, "purged": purged}) if is_json() else say(f"deleted {plural(purged)} of queue {name}")
