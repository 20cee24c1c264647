"""What a store does: the one seam between Holdfast and the places where jobs are kept.

The job path is `push`, `claim`, `settle`, `wait`. It takes batches, and reports what did not happen. Everything
else has its own door: `queues`, `operator`, `inspector`.

**Steps.** Each operation is one atomic step per queue: on SQL stores one transaction, on Redis one script over the
keys of one queue. A batch that spans queues may be several steps where a store cannot commit across them; it is
then in the order given, and every step is idempotent, so a caller that lost the answer may send the batch again.

**If the caller dies.** Before a step: nothing happened. After it: all of it did. A caller that does not know (the
connection broke inside the step) repeats it: `push` is idempotent by job id (I3), `settle` by token (I10), and a
`claim` whose answer was lost is a claim of a worker that never acts on it: its lease brings the jobs back.

**Tokens.** A claim's token is made of the job's delivery number and a random part. It is compared for equality, is
never issued twice, not even for two jobs of one batch, and is void as soon as the job leaves `running`. A write with a
void token changes nothing and comes back as `Lost` (I8-I10).

**Leases.** A worker enlists, then beats. `claim` refuses, in the same step, a worker whose lease has ended. `rescue`
takes the jobs of workers whose lease has ended, lands each as crashed, and marks the worker dead for ever, so that
a worker which wakes up late finds every door shut. Redelivery hangs on this and on nothing else: no job has a timer.

**Time.** What decides anything is the store's clock, read when its locks are held. `now_us` is for tests with a
virtual clock; a store opened with a `clock` uses that one throughout.

**Order.** In one lane (jobs without a lane are a lane too): higher priority first; then by the time the job became (or
becomes) due, then by order of arrival. A LIFO queue turns the last two around; in one whose priorities age, each `ageing_us`
that a job has been due counts as a point of priority (`policy.ageing`). Lanes take turns, job by job, by their
weights; see `policy.flow`. `claim` serves the queues in the order in which they are given.

**Limits.** A job starts if its queue and its lane let it: `policy.flow` says when. They are charged in the step that hands
the job out, and told how it ended in the step that settles it; so they hold for all workers together. A lane that is held
back is passed over at no cost.

Errors of drivers never pass this seam: they arrive as `StoreError`, with the driver's error as the cause.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from holdfast.model.claim import Claim, Progress
from holdfast.model.finding import Finding
from holdfast.model.job import JobRecord, NewJob, Pushed
from holdfast.model.query import Query, StoreInfo, Tidied
from holdfast.model.queue import Drained, LaneRecord, QueueOverlay, QueuePolicy, QueueRecord
from holdfast.model.run import Run
from holdfast.model.seen import SeenRecord, Sketch
from holdfast.model.verdict import Lost, Verdict
from holdfast.model.worker import Beat, Rescued, WorkerRecord, WorkerReport

Clock = Callable[[], int]
"""Gives the present moment in microseconds since 1970."""

PROMOTE_LIMIT = 1000
"""How many due jobs one claim makes ready at most: a bound on the step, not on the backlog."""


class Store(Protocol):
    """A place where jobs are kept. Safe to use from many threads; opened anew after a fork."""

    @property
    def queues(self) -> "Queues": ...
    @property
    def operator(self) -> "Operator": ...
    @property
    def inspector(self) -> "Inspector": ...
    @property
    def seen(self) -> "Seen": ...
    @property
    def guest(self) -> "Guest | None":
        """Pushes that join a transaction of the caller's; None where there is no such thing."""
        ...

    # --- the job path -----------------------------------------------------------------------------------

    def push(self, jobs: Sequence[NewJob], now_us: int | None = None) -> list[Pushed]:
        """Store the jobs, durable to the store's tier when this returns. A known id is left alone: `duplicate`.

        The queue a job names comes into being with its first job. Answers are in the order of `jobs`. What a key or the
        bound of the queue decides (`policy.identity`, `policy.bounds`) is decided in the step that stores the job; a job
        later in the batch sees the earlier ones.
        """
        ...

    def claim(
        self, worker: str, queues: Sequence[str], limit: int, now_us: int | None = None, *, ahead: int = 0
    ) -> list[Claim]:
        """Hand the worker up to `limit` of the best claimable jobs, serving `queues` in the order given, each once.

        `ahead` is how many more it would take from queues without limits, to have them at hand; each claim tells whether its
        queue has limits. Due jobs become ready
        here; expired ones end here; jobs parked for an unknown task that the worker knows come back here. The delivery is
        charged and durable before this returns. Paused and unknown queues give nothing.
        Raises LeaseLost, having changed nothing, if the worker holds no live lease.
        """
        ...

    def settle(self, verdicts: Sequence[Verdict], now_us: int | None = None) -> list[Lost]:
        """Carry out the verdicts, each in one step: new state, run record, result. Return the refused ones."""
        ...

    def exchange(
        self,
        verdicts: Sequence[Verdict],
        worker: str,
        queues: Sequence[str],
        limit: int,
        now_us: int | None = None,
        *,
        ahead: int = 0,
    ) -> tuple[list[Lost], list[Claim]]:
        """Settle, then claim, in one commit where the store can. A lost lease refuses the claim, not the verdicts:
        it then returns no claims, and the next `beat` or `claim` says why.
        """
        ...

    def wait(self, queues: Sequence[str] | None, timeout_s: float) -> None:
        """Sleep until something may be claimable in these queues (None: in any), or `timeout_s` has passed.

        Woken at once by a push, by a settle or an operator that makes something claimable, by `wake`, and at the
        moment the earliest scheduled job is due. May return early; never polls hard.
        """
        ...

    def wake(self) -> None:
        """End every `wait` and `watch` that is under way in this process, and the next one if none is."""
        ...

    def wait_for_room(self, queue: str, timeout_s: float) -> bool:
        """Sleep until there is room in the queue (see `policy.bounds`), or `timeout_s` has passed. Return whether there is.

        Woken at once by what makes room. Several producers may be told of the same room; the push decides who gets it.
        """
        ...

    def note(self, notes: Sequence[Progress], now_us: int | None = None) -> list[Lost]:
        """Record the progress of running jobs. Fenced by token."""
        ...

    # --- leases -----------------------------------------------------------------------------------------

    def enlist(self, worker: WorkerRecord, now_us: int | None = None) -> None:
        """Begin a lease. An id can enlist once; a second time raises LeaseLost."""
        ...

    def beat(self, worker: str, now_us: int | None = None, report: WorkerReport | None = None) -> Beat:
        """Renew the lease, and learn what people want of this worker. Never brings an ended lease back.

        A report that is given is kept, for people to see, as long as the lease lives.
        """
        ...

    def leave(self, worker: str, now_us: int | None = None) -> None:
        """End the lease at once. Jobs still held are handed back, uncharged."""
        ...

    def rescue(self, now_us: int | None = None) -> list[Rescued]:
        """Take the jobs of every worker whose lease has ended, charge each a crash, and make them claimable."""
        ...

    # --- the house --------------------------------------------------------------------------------------

    def tidy(self, now_us: int | None = None) -> Tidied:
        """Do one slice of upkeep: end expired jobs, drop what is past its retention. Any process may, at any time."""
        ...

    def now(self) -> int:
        """Tell the store's time."""
        ...

    def describe(self) -> StoreInfo:
        """Tell where jobs are kept and what that promises."""
        ...

    def close(self) -> None:
        """Give up all resources. Waiters return. Closing twice is allowed."""
        ...


class Guest(Protocol):
    """Pushes inside a transaction of the caller's own: there if and only if it commits (I4).

    `connection` is the driver's, or SQLAlchemy's (see `guest`). Nothing is committed or rolled back here. One that is held
    open blocks no other producer and no worker, but on SQLite, which has one writer at a time.
    """

    def push(self, connection: Any, jobs: Sequence[NewJob]) -> list[Pushed]: ...

    async def apush(self, connection: Any, jobs: Sequence[NewJob]) -> list[Pushed]: ...


class Queues(Protocol):
    """Queues and their policies. What is set here takes effect with the next claim, everywhere."""

    def names(self) -> list[str]:
        """List all queues, by name."""
        ...

    def set_policy(self, name: str, policy: QueuePolicy) -> bool:
        """Set a queue's declared policy, making the queue if need be. Return whether that changed anything.

        The policy in force is that under the overlay. It takes effect at once: what is held back under an old limit is
        looked at again by the next claims, some thousand lanes at a time.
        """
        ...

    def set_overlay(self, name: str, overlay: QueueOverlay) -> bool:
        """Set what goes before the declared policy, making the queue if need be. Return whether that changed anything."""
        ...

    def get(self, name: str, now_us: int | None = None) -> QueueRecord | None: ...

    def pause(self, name: str, lane: str | None = None) -> bool:
        """Hand out nothing from this queue, or from this lane of it, until `resume`. What runs, runs on.

        Return whether that changed anything.
        """
        ...

    def resume(self, name: str, lane: str | None = None) -> bool:
        """End the pause of this queue, or of this lane of it, and whatever a breaker or `RateLimited` holds against it."""
        ...

    def lanes(self, name: str, now_us: int | None = None) -> list[LaneRecord]:
        """List, by name, the lanes that hold ready or running jobs or are held back. Jobs without one are in the lane ''."""
        ...

    def find_drained(self, names: Iterable[str]) -> list[Drained]:
        """Look at these queues, each in one step, and tell which have drained without anybody having acted on it.

        Only of queues whose policy `tells_drained`; `policy.flow` says when one has. Each is told with the number of its
        last drain, again and again, until `tell_drained`. If the caller dies in between, the next one is told the same.
        """
        ...

    def tell_drained(self, name: str, number: int) -> None:
        """Note that this drain of a queue, and so each before it, has been acted on."""
        ...

    def purge(self, name: str, now_us: int | None = None) -> int:
        """Delete, with their history, all jobs of the queue that are not running and not final. Return how many."""
        ...


class Seen(Protocol):
    """The seen-sets: each queue has one, of digests of keys (`policy.seen`), empty and exact until someone adds to it.

    A push that asks for it looks and marks in its own step; this is the door for all else. Each answer is in the order of
    `digests`; a later one of a batch sees the earlier ones.
    """

    def add(
        self, name: str, digests: Sequence[bytes], ttl_us: int | None = None, now_us: int | None = None
    ) -> list[bool]:
        """Mark keys as seen, for ever or for a time. Tell of each whether it was new. One that is there keeps its term.

        Makes the queue if need be. An approximate set keeps its keys for ever.
        """
        ...

    def has(self, name: str, digests: Sequence[bytes], now_us: int | None = None) -> list[bool]:
        """Tell of each key whether it was seen."""
        ...

    def discard(self, name: str, digests: Sequence[bytes], now_us: int | None = None) -> list[bool]:
        """Forget keys. Tell of each whether it was there. An approximate set forgets nothing."""
        ...

    def clear(self, name: str) -> int:
        """Forget all keys, slice by slice, and then the shape: the set is exact again. Return how many keys there were."""
        ...

    def shape(self, name: str, sketch: Sketch | None = None) -> Sketch | None:
        """Give the shape of the set; None: it is exact. A set that is exact and empty takes on the one that is given."""
        ...

    def get(self, name: str, now_us: int | None = None) -> SeenRecord:
        """Tell how many keys the set holds. Keys past their term do not count. For people: it may take a walk."""
        ...


class Operator(Protocol):
    """What people (and programs that act for them) do to jobs. Each answers with the ids it took effect on."""

    def cancel(self, ids: Iterable[str], now_us: int | None = None) -> dict[str, str]:
        """Cancel jobs. Per id: `cancelled` (it had not started), `asked` (it runs; it is told), `final`, `unknown`."""
        ...

    def retry(self, ids: Iterable[str], now_us: int | None = None) -> list[str]:
        """Open the next generation of failed, cancelled or expired jobs: same id, fresh budgets, ready now."""
        ...

    def unpark(self, seals: dict[str, bytes | None], now_us: int | None = None) -> list[str]:
        """Make parked jobs ready. A seal that is given replaces the job's; None leaves it as it is."""
        ...

    def delete(self, ids: Iterable[str], now_us: int | None = None) -> list[str]:
        """Delete jobs that are not running, with their history."""
        ...

    def dismiss(self, workers: Iterable[str], now_us: int | None = None) -> list[str]:
        """Ask workers to stop in order; each learns of it with its next beat. Return those that hold a live lease."""
        ...


class Inspector(Protocol):
    """Reading for people and tools. Never on the job path; never decides a write."""

    def get(self, job_id: str, now_us: int | None = None) -> JobRecord | None: ...

    def find(self, query: Query, now_us: int | None = None) -> list[JobRecord]:
        """Find jobs, newest first."""
        ...

    def count(self, query: Query, now_us: int | None = None) -> int:
        """Count the jobs that `find` would find without a limit."""
        ...

    def history(self, job_id: str) -> list[Run]:
        """List the finished runs that are kept of a job, oldest first."""
        ...

    def next_due(self, queues: Sequence[str] | None = None) -> int | None:
        """Tell when the earliest job of these queues (None: of all) is due, if any is scheduled or ready.

        A ready job counts with the time it became due. Paused queues do not count.
        """
        ...

    def watch(self, ids: Sequence[str], timeout_s: float) -> list[str]:
        """Sleep until at least one of the jobs is final or gone, or `timeout_s` has passed. Return those that are."""
        ...

    def workers(self, now_us: int | None = None) -> list[WorkerRecord]:
        """List the workers that hold a live lease."""
        ...

    def examine(self) -> list[Finding]:
        """Tell what a doctor should know: version, sizes, settings. What is not well comes with its remedy."""
        ...
