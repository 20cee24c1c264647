"""`holdfast wait`: until jobs are over, as a shell script or a person wants to know it.

Waiting is the store's `watch`, which sleeps until a job ends. To follow, it is asked in slices, and what the jobs have
told of themselves is read between them. Nothing is written: if this command is killed, nothing is different.
"""

import time
from typing import TYPE_CHECKING, Final

import click
import msgspec

from holdfast.cli.documents import Document, job_document
from holdfast.cli.ending import tidy_when_told_to_stop
from holdfast.cli.front import Complaint
from holdfast.cli.output import plural, print_json
from holdfast.cli.picking import get_job
from holdfast.cli.shared import is_json, shared
from holdfast.cli.source import opened
from holdfast.cli.times import DURATION, span
from holdfast.model.job import JobRecord
from holdfast.model.states import FINAL
from holdfast.store.protocol import Store

if TYPE_CHECKING:
    from holdfast.cli.wait_screen import Screen

TIMED_OUT: Final = 124
"""The exit code of a wait whose time is over: the one that timeout(1) uses."""

_FOLLOW_S: Final = 0.25
"""How often progress is read."""
_SLICE_S: Final = 3600.0
_NAMED: Final = 3


class TimeOver(Complaint):
    """The jobs had not ended by the time that was given."""

    exit_code = TIMED_OUT


class Awaited(msgspec.Struct, frozen=True):
    """A job that is waited for. One that is `gone` was deleted, or is past its retention: nobody knows how it ended."""

    job: JobRecord
    is_gone: bool = False

    @property
    def state(self) -> str:
        return "gone" if self.is_gone else self.job.state

    @property
    def is_over(self) -> bool:
        return self.is_gone or self.job.state in FINAL

    def document(self) -> Document:
        return job_document(self.job) | {"state": self.state}


@click.command()
@click.argument("ids", nargs=-1, required=True, metavar="JOB...")
@click.option("--timeout", type=DURATION, metavar="TIME", help="Wait no longer than this: 90, 5m. Default: for ever.")
@click.option("--follow", is_flag=True, help="Show the progress of each job: bars on a terminal, else a line a change.")
@shared
def wait(ids: tuple[str, ...], timeout: float | None, follow: bool) -> None:
    """Wait until jobs are over.

    JOB is an id, or a part that no other recent id begins or ends with.
    Exit codes: 0 all have succeeded, 1 one has failed, expired, or was cancelled, 124 the time is over.

    \b
    Examples:
      holdfast wait 0192f3a1-7c4e-7bb2-9d5e-1f2a3b4c5d6e --follow
      holdfast wait $(holdfast --app shop.tasks:app enqueue report) --timeout 10m && echo done
    """
    from holdfast.cli.wait_screen import screen  # loads rich if it draws

    until = None if timeout is None else time.monotonic() + timeout
    with opened() as store, tidy_when_told_to_stop():
        awaited = {job.id: Awaited(job) for job in (get_job(store, part) for part in ids)}
        with screen(follows=follow, quiet=is_json()) as shown:
            _attend(store, awaited, shown, until=until, follows=follow)
    if is_json():
        is_over = all(one.is_over for one in awaited.values())
        print_json({"is_over": is_over, "jobs": [one.document() for one in awaited.values()]})
    _judge(list(awaited.values()), timeout)


def _attend(store: Store, awaited: dict[str, Awaited], shown: "Screen", *, until: float | None, follows: bool) -> None:
    """Keep `awaited` up to date, and shown, until all are over or the time is."""
    look_s = _FOLLOW_S if follows else _SLICE_S
    for one in awaited.values():
        shown.show(one)
    while pending := [job_id for job_id, one in awaited.items() if not one.is_over]:
        left_s = look_s if until is None else until - time.monotonic()
        if left_s <= 0:
            return
        ended = store.inspector.watch(pending, min(left_s, look_s))
        for job_id in pending if follows else ended:
            awaited[job_id] = _again(store, awaited[job_id])
            shown.show(awaited[job_id])


def _again(store: Store, one: Awaited) -> Awaited:
    job = store.inspector.get(one.job.id)
    return Awaited(one.job, is_gone=True) if job is None else Awaited(job)


def _judge(awaited: list[Awaited], timeout_s: float | None) -> None:
    pending = [one for one in awaited if not one.is_over]
    if pending:
        number = f"{len(pending)} of {plural(len(awaited))}"
        raise TimeOver(f"not over after {span(timeout_s or 0)}: {number}: {_named(pending)}")
    bad = [one for one in awaited if one.state != "succeeded"]
    if bad:
        raise Complaint(f"{len(bad)} of {plural(len(awaited))} did not succeed: {_named(bad)}; see `holdfast show`")


def _named(awaited: list[Awaited]) -> str:
    more = " …" if len(awaited) > _NAMED else ""
    return ", ".join(f"{one.job.id} is {one.state}" for one in awaited[:_NAMED]) + more
