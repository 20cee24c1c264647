"""A push in two steps: the house gives each id its stamp and queue, then each queue stores its jobs.

Between the two the process may die, and leave a stamp that stands for nothing. The next push of that id finds the
stamp:

- for the same queue, it stores the job under it. A stamp is stored once, so whoever comes late changes nothing;
- for another queue, it first makes sure that the stamp can never be used there (`void.lua`), and then begins anew;
- of a job that was just dropped, and whose id is about to be freed, it frees the id itself and begins anew.

On a cluster the house may lose what it wrote last, when a replica takes over that had not heard of it. An id whose job is
there then gets a second stamp with its next push. The queue knows the ids that came recently and answers with the first
stamp: the push is a duplicate, and the house is told (`adopt.lua`). A push of that id for *another* queue is not found out.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from holdfast.errors import StoreError
from holdfast.model.job import NewJob, Pushed
from holdfast.store.redis import rows
from holdfast.store.redis.link import Call, Link
from holdfast.store.redis.relay import forget

SLICE: Final = 500
"""How many jobs one script takes: a bound on how long the server does nothing else."""
_ROUNDS: Final = 5
_CREATED, _GONE = 1, -1


class Reserved(NamedTuple):
    """A job with its stamp, and the queue that holds its id."""

    place: int
    job: NewJob
    stamp: str
    queue: str
    is_fresh: bool


def push(link: Link, jobs: Sequence[NewJob], now_us: int | None) -> list[Pushed]:
    """Store the jobs. Give the answers in their order."""
    answers: dict[int, Pushed] = {}
    for chunk in _chunks(enumerate(jobs)):
        pending = chunk
        for _ in range(_ROUNDS):
            pending = _round(link, pending, answers, now_us)
            if not pending:
                break
        else:
            raise StoreError(
                f"job {pending[0][1].id} is being pushed and deleted by others all the time; push it again"
            )
    return [answers[place] for place in range(len(jobs))]


def _round(
    link: Link, pending: list[tuple[int, NewJob]], answers: dict[int, Pushed], now_us: int | None
) -> list[tuple[int, NewJob]]:
    """Push what can be pushed now. Give what has to begin anew."""
    reserved = _reserve(link, pending, now_us)
    home = [one for one in reserved if one.queue == one.job.queue]
    away = [one for one in reserved if one.queue != one.job.queue]
    gone = _store(link, home, answers, now_us) + _check(link, away, answers, now_us)
    forget(link, [(one.job.id, one.stamp) for one in gone])
    return sorted(((one.place, one.job) for one in gone), key=lambda pair: pair[0])


def _reserve(link: Link, pending: list[tuple[int, NewJob]], now_us: int | None) -> list[Reserved]:
    pairs = rows.pack([(job.id, job.queue) for _, job in pending])
    found = link.call("reserve", None, pairs, now_us=now_us)
    return [_reserved(place, job, answer.decode()) for (place, job), answer in zip(pending, found, strict=True)]


def _reserved(place: int, job: NewJob, answer: str) -> Reserved:
    stamp, _, queue = answer.removeprefix("+").partition(" ")
    return Reserved(place, job, stamp, queue, answer.startswith("+"))


def _store(link: Link, home: list[Reserved], answers: dict[int, Pushed], now_us: int | None) -> list[Reserved]:
    """Store jobs in the queues that hold their ids. Give those whose stamp is of a job that is gone."""
    groups = _by_queue(home)
    is_apart = "1" if link.wiring.is_cluster else ""
    calls = [
        Call("push", queue, (rows.pack([rows.new_row(one.stamp, one.job, one.is_fresh) for one in group]), is_apart))
        for queue, group in groups.items()
    ]
    gone: list[Reserved] = []
    stand: list[tuple[str, str, str]] = []
    for group, decisions in zip(groups.values(), link.run(calls, now_us), strict=True):
        for one, decision in zip(group, decisions, strict=True):
            if decision == _GONE:
                gone.append(one)
                continue
            if isinstance(decision, bytes):
                stand.append((one.job.id, one.stamp, f"{decision.decode()} {one.queue}"))
            answers[one.place] = _answer(one.job, decision == _CREATED)
    if stand:
        link.call("adopt", None, rows.pack(stand), now_us=now_us)
    return gone


def _check(link: Link, away: list[Reserved], answers: dict[int, Pushed], now_us: int | None) -> list[Reserved]:
    """Answer for jobs whose id another queue holds. Give those that turn out not to be there."""
    groups = _by_queue(away)
    calls = [
        Call("void", queue, (rows.pack([(one.stamp, one.job.id) for one in group]),)) for queue, group in groups.items()
    ]
    gone: list[Reserved] = []
    for group, found in zip(groups.values(), link.run(calls, now_us), strict=True):
        for one, is_there in zip(group, found, strict=True):
            if is_there:
                answers[one.place] = _answer(one.job, False)
            else:
                gone.append(one)
    return gone


def _answer(job: NewJob, is_created: bool) -> Pushed:
    if is_created:
        return Pushed(job.id, "created")
    return Pushed(job.id, "duplicate", f"job {job.id} is there already")


def _by_queue(reserved: Iterable[Reserved]) -> dict[str, list[Reserved]]:
    groups: dict[str, list[Reserved]] = {}
    for one in reserved:
        groups.setdefault(one.queue, []).append(one)
    return groups


def _chunks(jobs: Iterator[tuple[int, NewJob]]) -> Iterator[list[tuple[int, NewJob]]]:
    while chunk := list(islice(jobs, SLICE)):
        yield chunk
