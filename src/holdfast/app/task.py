"""A task: a function that can be called, as ever, and enqueued.

It is declared where the function is, and belongs to an app, or to a `TaskSet` until an app includes it. All that is
the same for each of its calls is worked out once, at the first of them.
"""

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, Unpack, cast, overload

from holdfast.app.call import Call
from holdfast.app.naming import task_name
from holdfast.app.options import Checked, check_call_options
from holdfast.app.terms import Terms, policy_of, terms_of
from holdfast.errors import DeclarationError, NotIncluded
from holdfast.policy.names import check_task
from holdfast.run.spec import TIMEOUT_US, Kind, TaskSpec
from holdfast.wire.parameters import Parameters

if TYPE_CHECKING:
    from holdfast.app.app import Holdfast
    from holdfast.app.handle import Job
    from holdfast.app.option_types import CallOptions

P = ParamSpec("P")
R = TypeVar("R")
V = TypeVar("V")


class Task(Generic[P, R]):
    """A function registered under a name, with its options. Call it to run it here and now; enqueue it to have it run.

    For an async function the job's result is what it returns, not the coroutine.
    """

    def __init__(self, function: Callable[P, R], given: Checked) -> None:
        self.kind: Kind = _kind_of(function)
        _copy_looks(function, self)
        self.function = function
        self.parameters = Parameters.of(function)
        self._name: str = given.get("name") or task_name(function)
        self._given = given
        self._call: Checked = {}
        self._app: Holdfast | None = None
        self._terms: Terms | None = None
        self._original: Task[P, R] = self  # of a copy: the task it was made of, which may join an app later

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    @overload
    def enqueue(self: "Task[P, Coroutine[Any, Any, V]]", *args: P.args, **kwargs: P.kwargs) -> "Job[V]": ...
    @overload
    def enqueue(self: "Task[P, R]", *args: P.args, **kwargs: P.kwargs) -> "Job[R]": ...
    def enqueue(self, *args: Any, **kwargs: Any) -> "Job[Any]":
        """Store a call as a job, durable when this returns. The arguments are checked before anything is stored."""
        return self.app.push(Call(self, args, kwargs))

    @overload
    async def aenqueue(self: "Task[P, Coroutine[Any, Any, V]]", *args: P.args, **kwargs: P.kwargs) -> "Job[V]": ...
    @overload
    async def aenqueue(self: "Task[P, R]", *args: P.args, **kwargs: P.kwargs) -> "Job[R]": ...
    async def aenqueue(self, *args: Any, **kwargs: Any) -> "Job[Any]":
        """As `enqueue`, without blocking the event loop."""
        import asyncio

        return await asyncio.to_thread(self.app.push, Call(self, args, kwargs))

    @overload
    def delay(self: "Task[P, Coroutine[Any, Any, V]]", *args: P.args, **kwargs: P.kwargs) -> "Job[V]": ...
    @overload
    def delay(self: "Task[P, R]", *args: P.args, **kwargs: P.kwargs) -> "Job[R]": ...
    def delay(self, *args: Any, **kwargs: Any) -> "Job[Any]":
        """The familiar word for `enqueue`."""
        return self.app.push(Call(self, args, kwargs))

    @overload
    def s(self: "Task[P, Coroutine[Any, Any, V]]", *args: P.args, **kwargs: P.kwargs) -> "Call[V]": ...
    @overload
    def s(self: "Task[P, R]", *args: P.args, **kwargs: P.kwargs) -> "Call[R]": ...
    def s(self, *args: Any, **kwargs: Any) -> "Call[Any]":
        """Give the call, not yet made."""
        return Call(self, args, kwargs)

    def using(self, **options: "Unpack[CallOptions]") -> "Task[P, R]":
        """Give a copy of this task whose calls have these options. They beat the task's, which beat the app's."""
        copy = cast("Task[P, R]", object.__new__(Task))
        copy.__dict__.update(self.__dict__)
        copy._call = {**self._call, **check_call_options(options)}
        terms = terms_of(self._effective(), copy._call)  # worked out now, so that a mistake is seen here
        copy._terms = terms if self._original._app else None  # the app that includes the task may have defaults
        return copy

    @property
    def name(self) -> str:
        """The name under which workers know it."""
        return self._original._name

    @property
    def app(self) -> "Holdfast":
        """The app this task belongs to."""
        app = self._original._app
        if app is None:
            raise NotIncluded(f"the task {self.name} belongs to a TaskSet that no app has included; app.include(tasks)")
        return app

    @property
    def queue(self) -> str:
        """The queue its calls go to."""
        return self.terms.queue

    @property
    def terms(self) -> Terms:
        terms = self._terms
        if terms is None:
            terms = terms_of(self._effective(), self._call)
            self._terms = terms if self._original._app else None
        return terms

    def spec(self) -> TaskSpec:
        """Describe the task to those who run it."""
        rules = self._effective()
        return TaskSpec(
            name=self.name,
            function=self.function,
            kind=self.kind,
            parameters=self.parameters,
            retry=policy_of(rules),
            timeout_us=rules.get("timeout", TIMEOUT_US),
            aliases=rules.get("aliases", ()),
            slot=rules.get("slot"),
        )

    def names_under(self, prefix: str | None) -> tuple[str, ...]:
        """Give the name and the aliases it would have in an app that takes it in, or raise if it has one already."""
        if self._app is not None:
            raise DeclarationError(f"the task {self.name} belongs to an app already; a TaskSet is included once")
        name = check_task(f"{prefix}.{self._name}") if prefix else self._name
        return name, *self._given.get("aliases", ())

    def join(self, app: "Holdfast", prefix: str | None = None) -> None:
        """Become a task of `app`, which calls this when it takes the task in."""
        self._name = self.names_under(prefix)[0]
        self._app = app

    def __repr__(self) -> str:
        return f"<Task {self.name}>"

    def _effective(self) -> Checked:
        app = self._original._app
        return self._given if app is None else {**app.defaults, **self._given}


def _kind_of(function: Callable[..., Any]) -> Kind:
    import inspect  # msgspec has loaded it already

    if not callable(function):
        raise DeclarationError(f"expected a function to make a task of, got: {function!r}")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise DeclarationError(f"{function.__qualname__} is a generator: a task returns one value; return a list")
    is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
    return "async" if is_async else "sync"


def _copy_looks(function: Callable[..., Any], task: Task[..., Any]) -> None:
    """Let documentation tools and `inspect` see the function."""
    for name in ("__module__", "__name__", "__qualname__", "__doc__"):
        if hasattr(function, name):
            setattr(task, name, getattr(function, name))
    task.__wrapped__ = function  # type: ignore[attr-defined]  # as functools.wraps does
