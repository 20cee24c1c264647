"""Declaring tasks: their names, what they are as functions, and the sets that libraries make of them."""

import asyncio
import functools
import inspect
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from holdfast import (
    DeclarationError,
    DuplicateTask,
    Holdfast,
    InvalidInput,
    InvalidName,
    NotIncluded,
    Task,
    TaskSet,
    UnknownOption,
    UnknownTask,
)

HERE = "tests.unit.app.test_tasks"


def send(to: str, subject: str = "Hi") -> str:
    """Send a mail."""
    return f"{subject}, {to}"


async def fetch(url: str) -> str:
    return url


def test_a_task_is_called_after_its_module(app: Holdfast) -> None:
    assert app.task(send).name == f"{HERE}.send"
    assert list(app.tasks) == [f"{HERE}.send"]


def test_a_task_is_still_a_function(app: Holdfast) -> None:
    task = app.task(send)
    assert task("ada") == "Hi, ada"
    assert (task.__name__, task.__doc__, task.__module__) == ("send", "Send a mail.", HERE)
    assert str(inspect.signature(task)) == "(to: str, subject: str = 'Hi') -> str"
    assert asyncio.run(app.task(fetch)("x")) == "x"


def test_a_task_can_be_declared_with_and_without_options(app: Holdfast) -> None:
    assert isinstance(app.task(send), Task)
    assert isinstance(app.task(name="other")(send), Task)
    assert isinstance(app.task()(fetch), Task)


def test_a_name_and_aliases_of_its_own(app: Holdfast) -> None:
    task = app.task(name="mail.send", aliases=["old.send", "older.send"])(send)
    assert task.name == "mail.send"
    for name in ("mail.send", "old.send", "older.send"):
        assert app.enqueue(name, "ada").record().task == "mail.send"
    assert list(app.tasks) == ["mail.send"]


def test_a_job_under_an_old_name_runs_as_the_renamed_task(app: Holdfast) -> None:
    """A rename: enqueued by the program before, run by the program after."""
    former = Holdfast("memory://")
    former.attach(app.store)
    job = former.task(name="old.send")(send).enqueue("ada")
    app.task(name="mail.send", aliases=["old.send"])(send)
    assert app.drain() == 1
    assert app.job(job.id).result(0) == "Hi, ada"


@pytest.mark.parametrize("second", [{"name": "a"}, {"name": "b"}, {"name": "c", "aliases": ["a"]}])
def test_a_name_that_is_taken_is_refused_and_both_places_are_named(app: Holdfast, second: dict[str, Any]) -> None:
    app.task(name="a", aliases=["b"])(send)
    with pytest.raises(
        DuplicateTask, match=r"two tasks are called '[ab]': .*test_tasks.py:\d+ and .*test_tasks.py:\d+"
    ):
        app.task(**second)(fetch)
    assert list(app.tasks) == ["a"]


def test_a_function_is_declared_once(app: Holdfast) -> None:
    app.task(send)
    with pytest.raises(DuplicateTask, match="give one of them another name"):
        app.task(send)


def test_a_function_inside_a_function_needs_a_name(app: Holdfast) -> None:
    def inner() -> None: ...

    with pytest.raises(
        DeclarationError, match=r"inside a function.*@app\.task\(name='tests\.unit\.app\.test_tasks\.inner'"
    ):
        app.task(inner)
    assert app.task(name="inner")(inner).name == "inner"


def test_a_lambda_needs_a_name(app: Holdfast) -> None:
    with pytest.raises(DeclarationError, match="is defined inside a function"):
        app.task(lambda: None)
    with pytest.raises(InvalidName, match=r"set it with name=, got: 'tests\.unit\.app\.test_tasks\.<lambda>'"):
        app.task(_LAMBDA)


_LAMBDA = lambda: None  # noqa: E731 - a lambda at the top of a module is what is tested


def test_what_has_no_name_needs_one(app: Holdfast) -> None:
    with pytest.raises(DeclarationError, match="has no name of its own"):
        app.task(functools.partial(send, "ada"))
    task = app.task(name="partial")(functools.partial(send, "ada"))
    job = task.enqueue()
    app.drain()
    assert job.result(0) == "Hi, ada"


@pytest.mark.parametrize("thing", [5, "send", None, object()])
def test_what_is_no_function_is_refused(app: Holdfast, thing: Any) -> None:
    with pytest.raises(DeclarationError, match="expected a function to make a task of, got: "):
        app.task(name="x")(thing)


def test_a_generator_is_refused(app: Holdfast) -> None:
    def numbers() -> Iterator[int]:
        yield 1

    async def anumbers() -> AsyncIterator[int]:
        yield 1

    for function in (numbers, anumbers):
        with pytest.raises(DeclarationError, match="is a generator: a task returns one value"):
            app.task(name="x")(function)


class Greeter:
    async def __call__(self, name: str) -> str:
        return f"Hi, {name}"


def test_an_object_with_an_async_call_is_an_async_task(app: Holdfast) -> None:
    task = app.task(name="greet")(Greeter())
    assert task.kind == "async"
    job = task.enqueue("ada")
    app.drain()
    assert job.result(0) == "Hi, ada"


# --- sets ---------------------------------------------------------------------------------------------------


def test_a_set_is_included_with_its_options_and_a_prefix(app: Holdfast) -> None:
    tasks = TaskSet(queue="mail", retries=2)
    one = tasks.task(name="one")(send)
    two = tasks.task(name="two", queue="other")(send)
    app.include(tasks, prefix="lib")
    assert [one.name, two.name] == ["lib.one", "lib.two"] == list(app.tasks)
    assert [one.queue, two.queue] == ["mail", "other"]
    assert one.enqueue("ada").record().queue == "mail"
    assert one.spec().retry.retries == 2
    assert (len(tasks), list(tasks)) == (2, [one, two])


def test_the_apps_defaults_reach_a_set_and_the_sets_beat_them() -> None:
    app = Holdfast("memory://", defaults={"queue": "app", "retries": 1})
    tasks = TaskSet(retries=2)
    task = tasks.task(name="one")(send)
    app.include(tasks)
    assert (task.queue, task.spec().retry.retries) == ("app", 2)


@pytest.mark.parametrize("act", [
    lambda app, task: task.enqueue("ada"),
    lambda app, task: task.delay("ada"),
    lambda app, task: task.s("ada").enqueue(),
    lambda app, task: task.using(priority=3).enqueue("ada"),
    lambda app, task: app.enqueue(task, "ada"),
    lambda app, task: app.enqueue_many([task.s("ada")]),
    lambda app, task: asyncio.run(task.aenqueue("ada")),
])  # fmt: skip
def test_a_set_that_no_app_has_included_cannot_be_enqueued(app: Holdfast, act: Any) -> None:
    task = TaskSet().task(name="one")(send)
    with pytest.raises(NotIncluded, match=r"the task one belongs to a TaskSet that no app has included; app\.include"):
        act(app, task)
    assert app.queues.names() == []


def test_a_copy_made_before_the_set_was_included_belongs_to_the_app_too() -> None:
    """A library says `urgent = send.using(priority=9)` beside its tasks."""
    tasks = TaskSet()
    task = tasks.task(name="one")(send)
    urgent = task.using(priority=9)
    assert urgent.queue == "default"
    app = Holdfast("memory://", defaults={"queue": "app"})
    app.include(tasks, prefix="lib")
    found = urgent.enqueue("ada").record()
    assert (found.task, found.queue, found.priority) == ("lib.one", "app", 9)
    app.close()


def test_a_set_is_included_once(app: Holdfast) -> None:
    tasks = TaskSet()
    tasks.task(name="one")(send)
    app.include(tasks)
    with pytest.raises(DeclarationError, match="belongs to an app already"):
        Holdfast("memory://").include(tasks)


def test_a_set_is_included_whole_or_not_at_all(app: Holdfast) -> None:
    app.task(name="two")(send)
    tasks = TaskSet()
    one = tasks.task(name="one")(send)
    tasks.task(name="two")(send)
    with pytest.raises(DuplicateTask, match="'two'"):
        app.include(tasks)
    assert list(app.tasks) == ["two"]
    app.include(tasks, prefix="lib")
    assert one.name == "lib.one"


def test_two_tasks_of_one_name_in_a_set_are_refused(app: Holdfast) -> None:
    tasks = TaskSet()
    tasks.task(name="one")(send)
    tasks.task(name="two", aliases=["one"])(send)
    with pytest.raises(DuplicateTask, match="'one'"):
        app.include(tasks)
    assert list(app.tasks) == []


def test_what_cannot_be_included_is_refused(app: Holdfast) -> None:
    with pytest.raises(InvalidInput, match="expected a TaskSet to include, got: "):
        app.include([send])  # type: ignore[arg-type]
    tasks = TaskSet()
    tasks.task(name="a" * 200)(send)
    for prefix in ("", "9", "a b", "b" * 100):
        with pytest.raises(InvalidName):
            app.include(tasks, prefix=prefix)


def test_a_set_refuses_options_it_does_not_have() -> None:
    with pytest.raises(UnknownOption, match=r"TaskSet\(…\) has no option 'retrys'; did you mean 'retries'\?"):
        TaskSet(retrys=3)  # type: ignore[call-arg]


# --- finding ------------------------------------------------------------------------------------------------


def test_an_unknown_task_is_refused_with_the_nearest_name(app: Holdfast) -> None:
    app.task(name="shop.send")(send)
    with pytest.raises(UnknownTask, match=r"this app has no task 'shop\.sent'; did you mean 'shop\.send'\?"):
        app.enqueue("shop.sent", "ada")
    with pytest.raises(UnknownTask, match="name it in imports="):
        app.enqueue("entirely.different")
    assert app.queues.names() == []


@pytest.mark.parametrize("name", [5, None, ["shop.send"], {}])
def test_what_is_no_name_is_no_task(app: Holdfast, name: Any) -> None:
    with pytest.raises(UnknownTask, match="this app has no task"):
        app.enqueue(name)


def test_a_task_of_another_app_is_not_stored_here(app: Holdfast) -> None:
    other = Holdfast("memory://").task(name="x")(send)
    with pytest.raises(DeclarationError, match="the task x belongs to another app"):
        app.enqueue(other, "ada")
    with pytest.raises(DeclarationError, match="the task x belongs to another app"):
        app.enqueue_many([other.s("ada")])
    assert app.queues.names() == []


def test_reprs_name_things(app: Holdfast) -> None:
    task = app.task(name="mail.send")(send)
    assert repr(task) == "<Task mail.send>"
    assert repr(task.s("ada", subject="Hi")) == "mail.send('ada', subject='Hi')"
    assert repr(TaskSet()) == "<TaskSet of 0>"
    assert repr(app.job("id-1")) == "<Job id-1>"
    assert repr(app.queues["mail"]) == "<Queue mail>"
    assert repr(app) == "<Holdfast on memory://>"
