"""Queues: declared by the app, seen and acted upon by anyone."""

import pytest

from holdfast import DeclarationError, Holdfast, InvalidName
from holdfast.store.memory.store import MemoryStore
from holdfast.testing.contract.virtual_clock import VirtualClock


def noop(number: int = 0) -> int:
    return number


def test_a_queue_comes_into_being_with_its_first_job(app: Holdfast) -> None:
    mail = app.queues["mail"]
    assert (mail.size(), mail.counts(), mail.is_paused()) == (0, {}, False)
    assert "mail" not in app.queues
    app.task(name="noop", queue="mail")(noop).enqueue()
    assert (mail.size(), "mail" in app.queues, app.queues.names()) == (1, True, ["mail"])
    assert [queue.name for queue in app.queues] == ["mail"]


def test_a_size_counts_what_has_yet_to_start(app: Holdfast) -> None:
    task = app.task(name="noop")(noop)
    app.enqueue_many([task.s(), task.s(), task.using(delay=60).s()])
    app.drain(limit=1)
    queue = app.queues["default"]
    assert queue.size() == 2
    assert {state: count for state, count in queue.counts().items() if count} == {
        "succeeded": 1,
        "ready": 1,
        "scheduled": 1,
    }


def test_a_paused_queue_hands_out_nothing_until_it_is_resumed(app: Holdfast) -> None:
    app.task(name="noop")(noop).enqueue()
    queue = app.queues["default"]
    assert (queue.pause(), queue.pause(), queue.is_paused()) == (True, False, True)
    assert app.drain() == 0
    assert (queue.resume(), queue.resume(), queue.is_paused()) == (True, False, False)
    assert app.drain() == 1


def test_purging_deletes_what_has_yet_to_start(app: Holdfast) -> None:
    task = app.task(name="noop")(noop)
    job = task.enqueue()
    app.drain()
    app.enqueue_many([task.s(), task.using(delay=60).s()])
    assert app.queues["default"].purge() == 2
    assert (app.queues["default"].size(), job.state()) == (0, "succeeded")


def test_a_declared_order_is_written_before_the_first_push(app: Holdfast) -> None:
    ran: list[int] = []
    queue = app.queue("stack", order="lifo")
    task = app.task(name="note", queue="stack")(ran.append)
    assert app.queues.names() == []
    app.enqueue_many([task.s(1), task.s(2)])
    assert queue.record().policy.order == "lifo"
    app.drain()
    assert ran == [2, 1]


def test_declared_queues_are_written_when_running_starts(app: Holdfast) -> None:
    app.queue("a")
    app.queue("b", order="lifo")
    app.drain()
    assert app.queues.names() == ["a", "b"]
    assert {name: policy.order for name, policy in app.declared_queues.items()} == {"a": "fifo", "b": "lifo"}


def test_a_declaration_is_written_once_per_connection(clock: VirtualClock) -> None:
    writes: list[str] = []

    class Watched(MemoryStore):
        def __init__(self) -> None:
            super().__init__(clock)
            real = self.queues.set_policy
            self.queues.set_policy = lambda name, policy: writes.append(name) or real(name, policy)  # type: ignore[method-assign,func-returns-value]

    app = Holdfast("memory://")
    app.attach(Watched())
    app.queue("a", order="lifo")
    task = app.task(name="noop", queue="a")(noop)
    for _ in range(3):
        task.enqueue()
    app.enqueue_many([task.s(), task.using(queue="other").s()])
    app.drain()
    assert writes == ["a"]


def test_a_queue_is_declared_in_one_way(app: Holdfast) -> None:
    app.queue("a", order="lifo")
    app.queue("a", order="lifo")
    with pytest.raises(DeclarationError, match="the queue 'a' is declared twice, in different ways"):
        app.queue("a")


def test_an_odd_name_is_no_queue(app: Holdfast) -> None:
    with pytest.raises(InvalidName, match="got: 'a b'"):
        app.queues["a b"]
