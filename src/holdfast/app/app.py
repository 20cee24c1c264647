"""Holdfast: the one object a program makes.

Making it and declaring tasks and queues on it does nothing but remember. The first use opens the store, once per
process. An app may be used from any number of threads and event loops.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar, Unpack, overload

from holdfast.app import patience
from holdfast.app.arguments import grace_s, lease_s, module_names, queue_names, queue_shares
from holdfast.app.blocking import refuse_inside_a_loop
from holdfast.app.call import Call
from holdfast.app.clerk import Clerk
from holdfast.app.connection import Connection, Connector
from holdfast.app.declarations import Declarations
from holdfast.app.handle import Job
from holdfast.app.hooks import Hooks
from holdfast.app.options import check_defaults, check_task_options, whole_number
from holdfast.app.queues import Queue, QueueBoard
from holdfast.app.roster import Roster
from holdfast.app.settings import Secret, Settings
from holdfast.app.task import Task
from holdfast.app.taskset import TaskSet
from holdfast.errors import DeclarationError, DuplicateJob, InvalidInput, QueueFull
from holdfast.model.job import NewJob, Pushed
from holdfast.model.queue import QueuePolicy
from holdfast.policy.bounds import FULL
from holdfast.policy.names import check_job_id, check_queue, check_task
from holdfast.store.protocol import Clock, Store
from holdfast.wire.codec import Codec

if TYPE_CHECKING:
    from holdfast.app.consumer import Consumer
    from holdfast.app.flow_options import QueueOptions
    from holdfast.app.option_types import DefaultOptions, TaskOptions
    from holdfast.app.seen import SeenSet
    from holdfast.app.worker import InProcessWorker
    from holdfast.model.why import Why
    from holdfast.run.bench import Bench

P = ParamSpec("P")
R = TypeVar("R")

_BATCH: Final = 1000


class Holdfast:
    """A job queue, on the store that `url` names.

    Settings come by argument, else from HOLDFAST_URL, HOLDFAST_SECRET and HOLDFAST_NAMESPACE, else by default:
    `sqlite:///holdfast.db` in the working directory, unsigned.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        secret: Secret | None = None,
        namespace: str | None = None,
        tier: str | None = None,
        defaults: "DefaultOptions | None" = None,
        imports: Sequence[str] = (),
        clock: Clock | None = None,
        revoked: Secret | None = None,
    ) -> None:
        self._connector = Connector(Settings(url, secret, namespace, tier, clock, revoked))
        self._roster = Roster()
        self._declarations = Declarations()
        self._hooks = Hooks()
        self._imports = module_names(imports)
        self.defaults = check_defaults(defaults or {})
        self.queues = QueueBoard(self)

    # --- declaring ----------------------------------------------------------------------------------------

    @overload
    def task(self, function: Callable[P, R], /) -> Task[P, R]: ...
    @overload
    def task(
        self, function: None = None, /, **options: "Unpack[TaskOptions]"
    ) -> Callable[[Callable[P, R]], Task[P, R]]: ...
    def task(self, function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
        """Make a task of a function: `@app.task` or `@app.task(queue="mail", retries=5)`."""
        given = check_task_options(options)

        def declare(function: Callable[..., Any]) -> Task[..., Any]:
            task: Task[..., Any] = Task(function, given)
            self._take_in([task])
            return task

        return declare if function is None else declare(function)

    def include(self, tasks: TaskSet, prefix: str | None = None) -> None:
        """Take in the tasks of a set, all or none, with `prefix` before their names if one is given."""
        if not isinstance(tasks, TaskSet):
            raise InvalidInput(f"expected a TaskSet to include, got: {tasks!r}")
        if prefix is not None:
            check_task(prefix)
        self._take_in(list(tasks), prefix)

    def queue(self, name: str, *, on_drained: Call[Any] | None = None, **options: "Unpack[QueueOptions]") -> Queue:
        """Declare a queue's policy. Written before this app's first push to it, and when a worker starts.

        `order`: `fifo` or `lifo`. `ageing`: in what time a job that is due gains a point of priority. Limits of the whole
        queue, for all workers together: `rate` ("100/m") with `burst`, `max_running`, `breaker`; of each of its lanes: the
        same names after `lane_`. `weights`: the shares of lanes. `max_size`: how many jobs may wait to start; `on_full`:
        `reject`, `block` (for `block_timeout`) or `spill` (for `spill_ttl`). `on_drained`: a call, made by `task.s(…)`, that
        workers of this app enqueue each time it has drained.
        """
        from holdfast.app.flow_options import policy_of  # only for those who declare a queue

        if on_drained is not None:
            self._hooks.check(self, check_queue(name), on_drained)
        self._declarations.add(check_queue(name), policy_of(options, tells_drained=on_drained is not None))
        if on_drained is not None:
            self._hooks.add(name, on_drained)
        return self.queues[name]

    def seen(self, queue: str, *, capacity: int | None = None, error: float | None = None) -> "SeenSet":
        """Give the seen-set of a queue: the keys that came there before, by `once=True` or by `add`.

        It is exact. With `capacity` it is approximate, of a fixed size: while it holds no more keys than
        that, one new key in a thousand (or what `error` says) at most is taken for one that was seen. It takes on that shape
        with its first use, or with the first push that asks it; both raise ShapeMismatch if it is there otherwise.
        """
        from holdfast.app.seen import SeenSet, shape_of  # only for those who use one

        shape = shape_of(capacity, error)
        if shape is not None:
            self._declarations.shape(check_queue(queue), shape)
        return SeenSet(self, queue, shape)

    def register(self, *types: type) -> None:
        """Let values of these types travel that no task's signature names (those of signatures are known already)."""
        self._roster.register(*types)

    @property
    def tasks(self) -> Mapping[str, Task[..., Any]]:
        """The tasks of this app, by name."""
        return self._roster.tasks

    # --- enqueueing ---------------------------------------------------------------------------------------

    def push(self, call: Call[R]) -> Job[R]:
        """Store one call as a job. Raises DuplicateJob or QueueFull if the store refuses it."""
        connection = self.connection()
        job = Clerk(self, connection.store, connection.ring).write(call)
        self.declare_queues_of([job])
        return self._accepted(patience.push(connection.store, [job])[0])

    @overload
    def enqueue(self, task: Task[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Job[R]: ...
    @overload
    def enqueue(self, task: str, /, *args: Any, **kwargs: Any) -> Job[Any]: ...
    def enqueue(self, task: Task[..., Any] | str, /, *args: Any, **kwargs: Any) -> Job[Any]:
        """Enqueue a task, given as such or by name."""
        return self.push(Call(self._find(task), args, kwargs))

    async def aenqueue(self, task: Task[..., Any] | str, /, *args: Any, **kwargs: Any) -> Job[Any]:
        """As `enqueue`, without blocking the event loop."""
        import asyncio

        return await asyncio.to_thread(self.push, Call(self._find(task), args, kwargs))

    def enqueue_many(self, calls: Iterable[Call[Any]]) -> list[Job[Any]]:
        """Store many calls, a thousand to a commit, and give their handles in order; refused ones are marked.

        All calls are checked before the first is stored. If the program dies in between, whole thousands are stored.
        """
        connection = self.connection()
        jobs = Clerk(self, connection.store, connection.ring).write_all(calls)
        self.declare_queues_of(jobs)
        pushed: list[Pushed] = []
        for batch in _batches(jobs):
            pushed += patience.push(connection.store, batch)
        return self._handles(pushed)

    async def aenqueue_many(self, calls: Iterable[Call[Any]]) -> list[Job[Any]]:
        """As `enqueue_many`, without blocking the event loop."""
        import asyncio

        return await asyncio.to_thread(self.enqueue_many, calls)

    def enqueue_in(self, connection: Any, call: Call[R]) -> Job[R]:
        """Store a call in a transaction of yours: the job is there if and only if you commit it.

        `connection` is one of psycopg, sqlite3 or SQLAlchemy, to the database where jobs are kept. Raises DuplicateJob or
        QueueFull if the store refuses it; your transaction goes on.
        """
        from holdfast.app.joining import push_in  # for those who have a database of their own

        return self._accepted(push_in(self, connection, [call])[0])

    def enqueue_many_in(self, connection: Any, calls: Iterable[Call[Any]]) -> list[Job[Any]]:
        """As `enqueue_in`, for many calls; refused ones are marked."""
        from holdfast.app.joining import push_in

        return self._handles(push_in(self, connection, calls))

    async def aenqueue_in(self, connection: Any, call: Call[R]) -> Job[R]:
        """As `enqueue_in`, on an async connection of psycopg or SQLAlchemy."""
        from holdfast.app.joining import apush_in

        return self._accepted((await apush_in(self, connection, [call]))[0])

    async def aenqueue_many_in(self, connection: Any, calls: Iterable[Call[Any]]) -> list[Job[Any]]:
        """As `aenqueue_in`, for many calls."""
        from holdfast.app.joining import apush_in

        return self._handles(await apush_in(self, connection, calls))

    def job(self, job_id: str) -> Job[Any]:
        """Give the handle of a job back. Whether there is such a job is known when it is asked something."""
        return Job(self, check_job_id(job_id))

    def why(self, job_id: str) -> "Why":
        """Tell why a job does not run now, and from when on it may, if that is known. Raises JobNotFound."""
        from holdfast.app.why import explain  # for people who look into a store

        return explain(self.store, check_job_id(job_id))

    async def awhy(self, job_id: str) -> "Why":
        """As `why`, without blocking the event loop."""
        import asyncio

        return await asyncio.to_thread(self.why, job_id)

    # --- running ------------------------------------------------------------------------------------------

    def drain(self, queues: Sequence[str] | None = None, *, limit: int | None = None) -> int:
        """Run what is due in this thread, until nothing is. Return how many runs there were.

        Jobs that are due later are not waited for.
        """
        from holdfast.run.drain import drain  # enqueueing programs do not run

        refuse_inside_a_loop("drain()", "await app.adrain()")
        names = queue_names(queues)
        most = None if limit is None else whole_number(limit, "limit")
        self.load_imports()
        self.declare_queues()
        return drain(self.store, self.bench(), names, most)

    async def adrain(self, queues: Sequence[str] | None = None, *, limit: int | None = None) -> int:
        """As `drain`, in a thread of its own."""
        import asyncio

        return await asyncio.to_thread(self.drain, queues, limit=limit)

    async def await_drained(self, queue: str | None = None, timeout: Any = None, *, lane: str | None = None) -> bool:
        """As `wait_drained`, without blocking the event loop."""
        from holdfast.app.draining import Stretch, await_drained  # only for those who wait

        return await await_drained(self, Stretch.of(queue, lane), timeout)

    def wait_drained(self, queue: str | None = None, timeout: Any = None, *, lane: str | None = None) -> bool:
        """Wait until no job of the queue (None: of any) is ready, scheduled, running, waiting or spilled.

        With `lane`, none of this lane of the queue; '' is that of the jobs without one. Return whether that came before the
        timeout. This only waits: something else has to run the jobs.
        """
        from holdfast.app.draining import Stretch, wait_drained

        what = Stretch.of(queue, lane)
        return wait_drained(self.store, what, timeout)

    def worker(
        self,
        *,
        threads: int = 4,
        coroutines: int = 100,
        queues: Sequence[str] | Mapping[str, int] | None = None,
        strict: bool = False,
        lease: Any = 10,
        grace: Any = 25,
    ) -> "InProcessWorker":
        """Run jobs in the background of this program: `with app.worker(threads=4): …`, or `async with`.

        Queues take turns; given with weights (`{"critical": 4, "bulk": 1}`) they share the worker by these, and with
        `strict` an earlier one always goes first.
        """
        from holdfast.app.worker import InProcessWorker  # enqueueing programs do not run
        from holdfast.run.pump import Plan

        plan = Plan(
            whole_number(threads, "threads", 1),
            whole_number(coroutines, "coroutines", 1),
            *queue_shares(queues, strict),
            lease_s=lease_s(lease),
            grace_s=grace_s(grace),
        )
        return InProcessWorker(self, plan)

    def consumer(self, queue: str, *, lease: Any = 10) -> "Consumer":
        """Take jobs of one queue by hand: `with app.consumer("crawl") as consumer: …`."""
        from holdfast.app.consumer import Consumer  # enqueueing programs do not run

        return Consumer(self, check_queue(queue), lease_s(lease))

    def bench(self, **given: Any) -> "Bench":
        """Give what running this app's jobs takes: tasks, codec, keys. For workers; `given` are fields of Bench."""
        from holdfast.run.bench import Bench

        given.setdefault("now_us", self._now_us)
        given.setdefault("hooks", self._hooks.writers(self))
        return Bench(self._roster.registry, self.codec(), self._connector.ring(), **given)

    def load_imports(self) -> None:
        """Import the modules given as `imports`, which declare tasks. Workers call this."""
        import importlib

        for name in self._imports:
            importlib.import_module(name)

    def declare_queues(self) -> None:
        """Write the declared queues, those that have changed. Workers call this."""
        self.check_hooks()
        self._declarations.write(self.connection())

    def check_hooks(self) -> None:
        """Raise if the call of a hook cannot be stored. Workers call this, before they open the store."""
        self._hooks.check_arguments(self)

    def declare_queues_of(self, jobs: Sequence[NewJob]) -> None:
        """Write what was declared of the queues that these jobs go to, if that has changed. Each push begins with it."""
        self._declarations.write(self.connection(), (job.queue for job in jobs))
        self._declarations.settle(self.connection(), jobs)

    @property
    def declared_queues(self) -> Mapping[str, QueuePolicy]:
        """The queues declared on this app."""
        return self._declarations.all()

    # --- the store ----------------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        return self._connector.settings.url

    @property
    def tier(self) -> str | None:
        return self._connector.settings.tier

    @property
    def namespace(self) -> str:
        return self._connector.settings.namespace

    @property
    def clock(self) -> Clock | None:
        """The clock that the store was given, for tests; None for the store's own."""
        return self._connector.settings.clock

    @property
    def is_signed(self) -> bool:
        return self._connector.ring() is not None

    @property
    def store(self) -> Store:
        """The open store of this process."""
        return self._connector.open().store

    def connection(self) -> Connection:
        return self._connector.open()

    def codec(self) -> Codec:
        """The codec that knows the types of this app's tasks."""
        return self._roster.codec()

    def configure(self, **settings: Any) -> None:
        """Change url, secret, revoked, namespace, tier or clock, until the store is opened."""
        if self._connector.is_open:
            raise DeclarationError("configure() came too late: the store is open. Configure first, or close() the app")
        self._connector = Connector(self._connector.settings.changed(settings))

    @contextmanager
    def override(self, url: str = "memory://", **settings: Any) -> "Iterator[Holdfast]":
        """Use another store for a while, in all threads: `with app.override(url="memory://"): …`, in tests."""
        former = self._connector
        changes = {"tier": None, "clock": None, **settings, "url": url}
        self._connector = Connector(former.settings.changed(changes))
        try:
            yield self
        finally:
            overriding, self._connector = self._connector, former
            overriding.close()

    def attach(self, store: Store) -> None:
        """Use this store, in this process, instead of opening one. Whoever attaches it closes it."""
        self._connector.attach(store)

    def close(self) -> None:
        """Close the store. The next use opens it again."""
        self._connector.close()

    async def aclose(self) -> None:
        import asyncio

        await asyncio.to_thread(self.close)

    def __enter__(self) -> "Holdfast":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> "Holdfast":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        from holdfast.store.connect import describe_url

        try:
            return f"<Holdfast on {describe_url(self.url)}>"
        except InvalidInput:  # a wrong URL: using it says what is wrong, a repr never raises
            return "<Holdfast on an invalid URL>"

    # --- inside -------------------------------------------------------------------------------------------

    def _now_us(self) -> int:
        return self.store.now()  # asked late: a worker's child has no store until it needs one

    def _take_in(self, tasks: Sequence[Task[..., Any]], prefix: str | None = None) -> None:
        self._roster.check(tasks, prefix)
        for task in tasks:
            task.join(self, prefix)
            self._roster.add(task)

    def _find(self, task: Task[..., Any] | str) -> Task[..., Any]:
        if isinstance(task, Task):
            return task
        if self._roster.find(task) is None:
            self.load_imports()
        return self._roster.need(task)

    def _handles(self, pushed: Iterable[Pushed]) -> list[Job[Any]]:
        return [Job(self, one.id, one.decision, one.reason) for one in pushed]

    def _accepted(self, pushed: Pushed) -> Job[Any]:
        if pushed.decision == "refused":
            if pushed.reason == FULL:
                raise QueueFull(
                    f"job {pushed.id} was refused: its queue is full. Nothing was stored. Try again later, or give the "
                    "queue another max_size or on_full."
                )
            raise DuplicateJob(f"job {pushed.id} was refused: {pushed.reason}. Nothing was stored.")
        return Job(self, pushed.id, pushed.decision, pushed.reason)


def _batches(jobs: list[NewJob]) -> Iterator[list[NewJob]]:
    rest = iter(jobs)
    while batch := list(islice(rest, _BATCH)):
        yield batch
