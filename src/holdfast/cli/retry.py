"""`holdfast retry`: run failed, cancelled or expired jobs again. The same jobs: same id, fresh budgets, history kept."""

from typing import Any

import click

from holdfast.cli.bulk import in_chunks
from holdfast.cli.output import plural, print_json, say
from holdfast.cli.picking import Wanted, filters, pick
from holdfast.cli.shared import is_json, shared
from holdfast.cli.source import opened
from holdfast.errors import InvalidInput
from holdfast.model.states import RETRIABLE
from holdfast.store.protocol import Store

_SHOWN = 10


@click.command()
@click.argument("ids", nargs=-1, metavar="[JOB]...")
@filters
@click.option("--dry-run", is_flag=True, help="Tell which jobs would be retried, and change nothing.")
@shared
def retry(ids: tuple[str, ...], dry_run: bool, **chosen: Any) -> None:
    """Run jobs again that have failed, expired or were cancelled: by id, or all that match.

    With filters but no --state, the failed ones are meant.

    \b
    Examples:
      holdfast retry 0192f3a1-7c4e-7bb2-9d5e-1f2a3b4c5d6e
      holdfast retry --state failed --task shop.mail.send --since 1h --dry-run
    """
    wanted = _checked(ids, Wanted(**chosen))
    with opened() as store:
        chosen_ids = list(dict.fromkeys(ids)) or pick(store, wanted)
        others = _others(store, chosen_ids) if ids else {}
        retriable = [job_id for job_id in chosen_ids if job_id not in others]
        retried = retriable if dry_run else _retry(store, retriable)
    left = [job_id for job_id in chosen_ids if job_id not in set(retried)]
    if is_json():
        print_json({"retried": retried, "left_alone": left, "is_dry_run": dry_run})
    else:
        _tell(retried, left, dry_run)
    if others:
        told = ", ".join(f"{job_id} ({state})" for job_id, state in others.items())
        raise InvalidInput(f"only jobs that are {', '.join(RETRIABLE)} can be retried; not so: {told}")


def _checked(ids: tuple[str, ...], wanted: Wanted) -> Wanted:
    if bool(ids) == wanted.is_anything:
        raise InvalidInput("expected job ids or filters (--state, --task, --queue, --tag, --since), one of the two")
    others = [state for state in wanted.states if state not in RETRIABLE]
    if others:
        raise InvalidInput(f"a job that is {others[0]} cannot be retried; --state takes {', '.join(RETRIABLE)}")
    return Wanted(wanted.states or ("failed",), wanted.queue, wanted.task, wanted.tag, wanted.since)


def _others(store: Store, ids: list[str]) -> dict[str, str]:
    """Give those of the jobs that cannot be retried, with their state."""
    found = {job_id: store.inspector.get(job_id) for job_id in ids}
    states = {job_id: job.state if job else "not in this store" for job_id, job in found.items()}
    return {job_id: state for job_id, state in states.items() if state not in RETRIABLE}


def _retry(store: Store, ids: list[str]) -> list[str]:
    answers = in_chunks(ids, store.operator.retry, "retrying")
    return [job_id for answer in answers for job_id in answer]


def _tell(retried: list[str], left: list[str], dry_run: bool) -> None:
    say(f"{'would retry' if dry_run else 'retried'} {plural(len(retried))}")
    if dry_run:
        for job_id in retried[:_SHOWN]:
            say(f"  {job_id}")
        if len(retried) > _SHOWN:
            say(f"  … and {len(retried) - _SHOWN:,} more")
    if left:
        say(f"left alone: {plural(len(left))}")
