"""`holdfast workers drain`: let workers finish what they run, and go.

The wish is kept in the store; a worker learns of it with its next beat, which is at once on the machine of the store's
file. It then does what SIGTERM would have made it do. If this command is killed, the wish stands.
"""

import time
from collections.abc import Callable
from typing import Final

import click

from holdfast.cli.consent import ask, yes_option
from holdfast.cli.output import plural, print_json, say
from holdfast.cli.shared import is_json, shared
from holdfast.cli.source import opened
from holdfast.cli.staff import find_workers
from holdfast.errors import InvalidInput
from holdfast.store.protocol import Store

_LOOK_S: Final = 0.2
"""How often to look whether workers have gone: nothing tells of that, and a look costs a fraction of a millisecond."""


@click.command()
@click.argument("ids", nargs=-1, metavar="[WORKER]...")
@click.option("--all", "everyone", is_flag=True, help="All live workers.")
@click.option("--wait", is_flag=True, help="Return when they have gone.")
@yes_option
@shared
def drain(ids: tuple[str, ...], everyone: bool, wait: bool, yes: bool) -> None:
    """Ask workers to stop in order, as SIGTERM does.

    They take no more jobs, let running ones end (up to the --grace they were started with), and exit.
    WORKER is an id, or a part that no other live worker's id begins or ends with. Exit code 1 if one is unknown;
    the others are asked all the same.

    \b
    Examples:
      holdfast workers drain web-3-412-9f3c21ab --wait
      holdfast workers drain --all --yes
    """
    if bool(ids) == everyone:
        raise InvalidInput("expected the ids of workers, as `holdfast workers` lists them, or --all for every one")
    with opened() as store:
        live = store.inspector.workers()
        wanted, unknown = ([record.id for record in live], []) if everyone else find_workers(live, ids)
        if wanted:
            ask(f"Let {plural(len(wanted), 'worker')} finish and go: {', '.join(wanted)}?", yes=yes)
        asked = store.operator.dismiss(wanted) if wanted else []
        gone = [worker for worker in wanted if worker not in asked]
        _tell_asked(asked, is_explained=bool(unknown))
        gone += _see_off(store, asked, _tell_gone) if wait else []
    if is_json():
        print_json({"asked": asked, "gone": gone, "unknown": unknown})
    if unknown:
        raise InvalidInput(f"no live worker has this id: {', '.join(unknown)}; see `holdfast workers`")


def _see_off(store: Store, workers: list[str], tell: Callable[[str], None]) -> list[str]:
    """Wait until the workers hold no lease any more, and tell of each. A worker that is killed counts as gone."""
    left = list(workers)
    gone: list[str] = []
    while left:
        live = {record.id for record in store.inspector.workers()}
        for worker in [worker for worker in left if worker not in live]:
            left.remove(worker)
            gone.append(worker)
            tell(worker)
        if left:
            time.sleep(_LOOK_S)
    return gone


def _tell_asked(asked: list[str], *, is_explained: bool) -> None:
    if is_json():
        return
    for worker in asked:
        say(f"worker {worker} was asked to stop")
    if not asked and not is_explained:
        say("no worker is live; none was asked to stop")


def _tell_gone(worker: str) -> None:
    if not is_json():
        say(f"worker {worker} has gone")
