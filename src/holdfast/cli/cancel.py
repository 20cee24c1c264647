"""`holdfast cancel`: end jobs that have not started, and ask those that run to stop."""

from collections import Counter
from typing import Any

import click

from holdfast.cli.bulk import in_chunks
from holdfast.cli.consent import ask, yes_option
from holdfast.cli.output import plural, print_json, say
from holdfast.cli.picking import Wanted, filters, pick
from holdfast.cli.shared import is_json, shared
from holdfast.cli.source import opened
from holdfast.errors import InvalidInput, JobNotFound
from holdfast.model.states import UNFINISHED
from holdfast.store.protocol import Store

_TOLD = {
    "cancelled": "cancelled",
    "asked": "running, and asked to stop",
    "final": "over already",
    "unknown": "not in this store",
}


@click.command()
@click.argument("ids", nargs=-1, metavar="[JOB]...")
@filters
@yes_option
@shared
def cancel(ids: tuple[str, ...], yes: bool, **chosen: Any) -> None:
    """Cancel jobs by id, or all unfinished ones that match.

    A job that runs is asked to stop; it ends as cancelled with its run.

    \b
    Examples:
      holdfast cancel 0192f3a1-7c4e-7bb2-9d5e-1f2a3b4c5d6e
      holdfast cancel --tag order:17 --state scheduled --yes
    """
    wanted = _checked(ids, Wanted(**chosen))
    with opened() as store:
        chosen_ids = list(dict.fromkeys(ids)) or _agreed(pick(store, wanted), yes)
        answers = _cancel(store, chosen_ids)
    print_json(answers) if is_json() else _tell(answers)
    if ids and "unknown" in answers.values():
        missing = ", ".join(job for job, answer in answers.items() if answer == "unknown")
        raise JobNotFound(f"not in this store: {missing}; give whole ids, as `holdfast jobs` shows them")


def _checked(ids: tuple[str, ...], wanted: Wanted) -> Wanted:
    if bool(ids) == wanted.is_anything:
        raise InvalidInput("expected job ids or filters (--tag, --queue, --task, --state, --since), one of the two")
    finals = [state for state in wanted.states if state not in UNFINISHED]
    if finals:
        raise InvalidInput(f"a job that is {finals[0]} cannot be cancelled; --state takes {', '.join(UNFINISHED)}")
    return Wanted(wanted.states or UNFINISHED, wanted.queue, wanted.task, wanted.tag, wanted.since)


def _agreed(ids: list[str], yes: bool) -> list[str]:
    if ids:
        ask(f"Cancel {plural(len(ids))}?", yes=yes)
    return ids


def _cancel(store: Store, ids: list[str]) -> dict[str, str]:
    answers: dict[str, str] = {}
    for answer in in_chunks(ids, store.operator.cancel, "cancelling"):
        answers |= answer
    return answers


def _tell(answers: dict[str, str]) -> None:
    for answer, number in Counter(answers.values()).items():
        say(f"{plural(number)} {_TOLD[answer]}")
    if not answers:
        say("no job matches; nothing was cancelled")
