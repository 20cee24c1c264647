"""`holdfast migrate`: make the store, or bring it up to date for good."""

import click

from holdfast.cli.output import plural, print_json, say
from holdfast.cli.shared import is_json, shared
from holdfast.cli.source import source


@click.command()
@shared
def migrate() -> None:
    """Make the store's tables, or finish an upgrade of them.

    Every program that opens the store adds what its version needs, and leaves what older versions need: upgrade one
    worker after the other. When the last one is upgraded, this command takes away what is left of the old version;
    programs of that version are refused from then on. It may be run at any time, by several at once, again and again.

    \b
    Examples:
      holdfast migrate --url postgresql://owner@host/database
      holdfast migrate --app shop.tasks:app --json
    """
    from holdfast.store.connect import backend_of, describe_url  # imports a backend

    found = source()
    steps = backend_of(found.url).migrate(found.url, found.namespace)
    where = describe_url(found.url)
    if is_json():
        print_json({"where": where, "namespace": found.namespace, "steps": steps})
    elif steps:
        say(f"{where} is up to date: {plural(len(steps), 'migration')} finished ({', '.join(steps)})")
    else:
        say(f"{where} is up to date; there was nothing to do")
