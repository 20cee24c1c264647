"""A push in two steps: the house gives each id its stamp and queue, then each queue stores its jobs.

Between the two the process may die, and leave a stamp that stands for nothing. The next push of that id finds the
stamp:

- for the same queue, it stores the job under it. A stamp is stored once, so whoever comes late changes nothing;
- for another queue, it first makes sure that the stamp can never be used there (`void.lua`), and then begins anew;
- of a job that was just dropped, and whose id is about to be freed, it frees the id itself and begins anew.

A job that its key, the seen-set or the queue's bound keeps out leaves the same mark behind as one that was dropped, and its
id is freed.

On a cluster the house may lose what it wrote last, when a replica takes over that had not heard of it. An id whose job is
there then gets a second stamp with its next push. The queue knows the ids that came recently and answers with the first
stamp: the push is a duplicate, and the house is told (`adopt.lua`). A push of that id for *another* queue is not found out.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

from holdfast.errors import StoreError
from holdfast.model.job import NewJob, Pushed
from holdfast.model.queue import QueuePolicy
from holdfast.policy.bounds import refused, spilled
from holdfast.policy.identity import seen
from holdfast.store.redis import rows
from holdfast.store.redis.identities import ruling
from holdfast.store.redis.link import Call, Link
from holdfast.store.redis.relay import forget, rouse

SLICE: Final = 500
"""How many jobs one script takes: a bound on how long the server does nothing else."""
_ROUNDS: Final = 5
_CREATED, _THERE, _GONE, _FULL, _SEEN = 1, 0, -1, -2, -3


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
    stored = _store(link, home, answers, now_us)
    gone = stored.gone + _check(link, away, answers, now_us)
    forget(link, [(one.job.id, one.stamp) for one in gone + stored.kept_out])
    return sorted(((one.place, one.job) for one in gone), key=lambda pair: pair[0])


def _reserve(link: Link, pending: list[tuple[int, NewJob]], now_us: int | None) -> list[Reserved]:
    pairs = rows.pack([(job.id, job.queue) for _, job in pending])
    found = link.call("reserve", None, pairs, now_us=now_us)
    return [_reserved(place, job, answer.decode()) for (place, job), answer in zip(pending, found, strict=True)]


def _reserved(place: int, job: NewJob, answer: str) -> Reserved:
    stamp, _, queue = answer.removeprefix("+").partition(" ")
    return Reserved(place, job, stamp, queue, answer.startswith("+"))


def _store(link: Link, home: list[Reserved], answers: dict[int, Pushed], now_us: int | None) -> "_Stored":
    """Store jobs in the queues that hold their ids."""
    groups = _by_queue(home)
    is_apart = "1" if link.wiring.is_cluster else ""
    calls = [
        Call("push", queue, (rows.pack([rows.new_row(one.stamp, one.job, one.is_fresh) for one in group]), is_apart))
        for queue, group in groups.items()
    ]
    stored = _Stored()
    for group, decisions in zip(groups.values(), link.run(calls, now_us), strict=True):
        for one, decision in zip(group, decisions, strict=True):
            if answer := stored.read(one, decision):
                answers[one.place] = answer
    if stored.stand:
        link.call("adopt", None, rows.pack(stored.stand), now_us=now_us)
    if stored.has_asked:
        rouse(link)
    return stored


class _Stored:
    """What the answers of `push.lua` tell, beside what became of each job."""

    def __init__(self) -> None:
        self.gone: list[Reserved] = []
        """Those whose stamp is of a job that is gone."""
        self.stand: list[tuple[str, str, str]] = []
        """Id, stamp, and stamp and queue under which the job is there: the house had lost it."""
        self.has_asked = False
        """Whether a running job was asked to stop."""
        self.kept_out: list[Reserved] = []
        """Those that were not stored, and whose ids are to be freed."""

    def read(self, one: Reserved, decision: Any) -> Pushed | None:
        """Give what became of a job, or None: it has to begin anew."""
        if decision == _GONE:
            self.gone.append(one)
            return None
        if isinstance(decision, bytes):
            self.stand.append((one.job.id, one.stamp, f"{decision.decode()} {one.queue}"))
            return _answer(one.job, False)
        answer = self._decided(one.job, decision)
        if decision != _THERE and answer.decision not in ("created", "spilled"):
            self.kept_out.append(one)
        return answer

    def _decided(self, job: NewJob, decision: Any) -> Pushed:
        if decision == _FULL:
            return refused(job.id)
        if decision == _SEEN:
            return seen(job.id)
        if isinstance(decision, int):
            return _answer(job, decision == _CREATED)
        kind, value = decision
        if kind == b"spilled":
            return spilled(job.id, QueuePolicy(max_size=value))
        ruled = ruling(job, value)
        self.has_asked |= ruled.act == "follow" and ruled.target is not None
        return ruled.answer


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
