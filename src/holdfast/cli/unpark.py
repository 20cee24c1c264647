"""`holdfast unpark`: take up jobs that were set aside, once the cause is gone.

A job is parked when no worker here knows its task (it comes back by itself when one does), or when its signature does not
hold. The second kind would only be parked again, unless `--reseal` signs it anew. Signing says: *I vouch for this job*. So
`--all --reseal` asks first, and an envelope that stands in another job's row is never signed.
"""

import click

from holdfast.cli.bulk import in_chunks
from holdfast.cli.consent import ask, yes_option
from holdfast.cli.output import plural, print_json, say
from holdfast.cli.picking import Wanted, pick
from holdfast.cli.shared import is_json, shared
from holdfast.cli.source import opened
from holdfast.cli.trust import trust
from holdfast.errors import HoldfastError, InvalidInput, SealBroken
from holdfast.model.job import JobRecord
from holdfast.store.protocol import Store
from holdfast.wire.keyring import KeyRing
from holdfast.wire.seal import check_job, seal_job, verify_job


@click.command()
@click.argument("ids", nargs=-1, metavar="[JOB]...")
@click.option("--all", "everything", is_flag=True, help="All parked jobs.")
@click.option("--reseal", is_flag=True, help="Sign those whose signature does not hold, with the newest key.")
@yes_option
@shared
def unpark(ids: tuple[str, ...], everything: bool, reseal: bool, yes: bool) -> None:
    """Make parked jobs ready again.

    A job is parked when no worker knows its task (it comes back by itself when one does), or when its signature is
    missing or wrong; such a job is parked again unless --reseal signs it. Look at it with `holdfast show` first.

    \b
    Examples:
      holdfast unpark 0192f3a1-7c4e-7bb2-9d5e-1f2a3b4c5d6e
      HOLDFAST_SECRET=… holdfast unpark --all --reseal
    """
    if bool(ids) == everything:
        raise InvalidInput("expected the ids of parked jobs, or --all for every one of them")
    with opened() as store:
        ring = _ring() if reseal else None
        chosen = pick(store, Wanted(states=("parked",))) if everything else list(dict.fromkeys(ids))
        if reseal and everything and chosen:
            ask(f"Sign what does not verify of {plural(len(chosen), 'parked job')}, and let it run?", yes=yes)
        refused: dict[str, str] = {}
        answers = in_chunks(chosen, lambda chunk: _unpark(store, chunk, ring, refused), "unparking")
    _report(chosen, [job_id for answer in answers for job_id in answer], refused, is_by_id=bool(ids))


def _ring() -> KeyRing:
    ring = trust().ring
    if ring is None:
        raise InvalidInput("there is no key to sign with; set HOLDFAST_SECRET, or name an app that has one with --app")
    return ring


def _unpark(store: Store, ids: list[str], ring: KeyRing | None, refused: dict[str, str]) -> list[str]:
    seals: dict[str, bytes | None] = {}
    for job_id in ids:
        job = None if ring is None else store.inspector.get(job_id)
        try:
            seals[job_id] = None if ring is None or job is None else _seal(job, ring)
        except HoldfastError as error:
            refused[job_id] = str(error)
    return store.operator.unpark(seals)


def _seal(job: JobRecord, ring: KeyRing) -> bytes | None:
    """Give a new seal for a job whose own does not hold; None to leave a good one. Refuse what cannot be this job's."""
    try:
        verify_job(ring, job.id, job.envelope, job.seal)
        return None
    except SealBroken:
        check_job(None, job.id, job.queue, job.envelope, None)
        return seal_job(ring, job.id, job.envelope)


def _report(chosen: list[str], unparked: list[str], refused: dict[str, str], *, is_by_id: bool) -> None:
    left = [job_id for job_id in chosen if job_id not in set(unparked) and job_id not in refused]
    if is_json():
        print_json({"unparked": unparked, "left_alone": left, "refused": refused})
    else:
        say(f"unparked {plural(len(unparked))}")
        for job_id, why in refused.items():
            say(f"refused {job_id}: {why}")
    if refused:
        raise InvalidInput(
            f"{plural(len(refused))} could not be signed; cancel what should not run, and enqueue anew what should"
        )
    if is_by_id and left:
        raise InvalidInput(f"not parked, or not in this store: {', '.join(left)}; see `holdfast jobs --state parked`")
