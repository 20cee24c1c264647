"""Which jobs or which queue a command is about: by id or name, or by what jobs have in common."""

from collections.abc import Callable, Iterator
from difflib import get_close_matches
from typing import Any, Final, TypeVar

import click
import msgspec

from holdfast.cli.times import DURATION
from holdfast.errors import InvalidInput, JobNotFound
from holdfast.model.job import JobRecord
from holdfast.model.query import Query
from holdfast.model.queue import QueueRecord
from holdfast.model.states import STATES, State
from holdfast.policy.moments import duration_us
from holdfast.run.evidence import visible
from holdfast.store.protocol import Store

CHUNK: Final = 500
"""How many jobs one step of a bulk command changes: it must not hold up the workers."""

_LOOKED_AT: Final = 1000
_SHORTEST: Final = 4
_Decorated = TypeVar("_Decorated", bound=Callable[..., Any])
_Item = TypeVar("_Item")


def filters(function: _Decorated) -> _Decorated:
    """Add the options that choose jobs by what they have in common."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


_OPTIONS: Final = (
    click.option("--state", "states", multiple=True, type=click.Choice(STATES), help="In this state. May be repeated."),
    click.option("--queue", metavar="NAME", help="In this queue."),
    click.option("--lane", metavar="NAME", help="In this lane; '' is that of the jobs without one."),
    click.option("--key", metavar="KEY", help="With this key."),
    click.option("--task", metavar="NAME", help="Of this task, by its whole name."),
    click.option("--tag", metavar="TAG", help="With this tag."),
    click.option(
        "--since", type=DURATION, metavar="AGE", help="Ended (or else made) within this time: 90, 5m, 1h, 2d."
    ),
)


class Wanted(msgspec.Struct, frozen=True):
    """The values of the filter options."""

    states: tuple[State, ...] = ()
    queue: str | None = None
    task: str | None = None
    tag: str | None = None
    since: float | None = None
    lane: str | None = None
    key: str | None = None

    @property
    def is_anything(self) -> bool:
        """Tell whether any filter was given: a bulk command without one is a mistake."""
        return self != Wanted()

    def query(self, store: Store, limit: int = CHUNK, after: str | None = None) -> Query:
        """Give the question, with `since` on the store's clock. A queue that is not there is remarked upon."""
        if self.queue is not None and self.queue not in (known := store.queues.names()):
            there_are = ", ".join(known) or "none yet"
            click.echo(
                visible(f"note: there is no queue {self.queue!r} in this store; there are: {there_are}"), err=True
            )
        since_us = None if self.since is None else store.now() - duration_us(self.since, "--since")
        return Query(self.states, self.queue, self.task, self.tag, since_us, limit, after, self.lane, self.key)


def pick(store: Store, wanted: Wanted) -> list[str]:
    """List the ids of all jobs that match now. Those that come to match while we act are left for the next time."""
    query = wanted.query(store)
    ids: list[str] = []
    while page := store.inspector.find(query):
        ids += [job.id for job in page]
        query = msgspec.structs.replace(query, after=ids[-1])
    return ids


def chunks(items: list[_Item]) -> Iterator[list[_Item]]:
    """Cut a list into steps."""
    return (items[start : start + CHUNK] for start in range(0, len(items), CHUNK))


def get_job(store: Store, job_id: str) -> JobRecord:
    """Give a job by its id, or by a part of it that no other of the newest thousand jobs begins or ends with.

    (Ids begin with the time they were made at, so jobs made together differ in their last characters only.)
    """
    found = store.inspector.get(job_id)
    if found is not None:
        return found
    alike = _alike(store, job_id) if len(job_id) >= _SHORTEST else []
    if len(alike) == 1:
        return alike[0]
    if alike:
        shown = ", ".join(job.id for job in alike[:3])
        raise JobNotFound(f"{job_id} fits {len(alike)} jobs: {shown}{' …' if len(alike) > 3 else ''}; give more of it")
    raise JobNotFound(
        f"no job {job_id} is in this store: it was never enqueued here, or is past its retention; one that was merged "
        "goes by the id of the job of its key. `holdfast jobs` lists those that are there"
    )


def get_queue(store: Store, name: str) -> QueueRecord:
    """Give a queue by its name, or say which one may have been meant."""
    record = store.queues.get(name)
    if record is not None:
        return record
    known = store.queues.names()
    near = get_close_matches(name, known, 1)
    hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(known) or 'none yet'}"
    raise InvalidInput(f"there is no queue {name!r} in this store; {hint}")


def _alike(store: Store, part: str) -> list[JobRecord]:
    newest = store.inspector.find(Query(limit=_LOOKED_AT))
    return [job for job in newest if job.id.startswith(part) or job.id.endswith(part)]
