"""A fork in a program that used its app: the child opens a store of its own, and the parent's goes on."""

import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast import Holdfast
from holdfast.app.ids import new_id
from tests.unit.app.looking import all_jobs


def double(number: int) -> int:
    return number * 2


def in_a_child(act: Callable[[], Any]) -> Any:
    """Fork, do it in the child, and give what it returned."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            answer: tuple[Any, str | None] = (act(), None)
        except BaseException as error:  # noqa: BLE001 - told to the parent, which fails
            answer = (None, repr(error))
        os.write(write, pickle.dumps(answer))
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        value, error = pickle.loads(pipe.read())
    os.waitpid(pid, 0)
    assert error is None, error
    return value


@pytest.fixture
def app(tmp_path: Path) -> Any:
    with Holdfast(f"sqlite:///{tmp_path}/jobs.db?tier=fast") as made:
        yield made


def test_a_child_opens_its_own_store(app: Holdfast) -> None:
    task = app.task(name="double")(double)
    before = task.enqueue(1)
    parents = id(app.store)

    def act() -> tuple[bool, str, int]:
        mine = task.enqueue(2)
        ran = app.drain()
        own = id(app.store) != parents
        app.close()
        return own, mine.id, ran

    own, job_id, ran = in_a_child(act)
    assert (own, ran) == (True, 2)
    assert before.result(5) == 2
    assert app.job(job_id).result(5) == 4
    assert id(app.store) == parents
    assert task.enqueue(3).state() == "ready"


def test_a_child_can_run_a_worker_of_its_own(app: Holdfast) -> None:
    task = app.task(name="double")(double)
    task.enqueue(0)
    app.drain()

    def act() -> list[int]:
        with app.worker(threads=2):
            return [task.enqueue(number).result(10) for number in range(5)]

    assert in_a_child(act) == [0, 2, 4, 6, 8]


def test_a_child_of_an_app_in_memory_has_a_memory_of_its_own() -> None:
    with Holdfast("memory://") as app:
        task = app.task(name="double")(double)
        task.enqueue(1)
        assert in_a_child(lambda: len(all_jobs(app))) == 0
        assert len(all_jobs(app)) == 1


def test_parent_and_child_never_make_the_same_id() -> None:
    new_id()
    theirs = in_a_child(lambda: [new_id() for _ in range(1000)])
    ours = [new_id() for _ in range(1000)]
    assert not {one[-16:] for one in theirs} & {one[-16:] for one in ours}
