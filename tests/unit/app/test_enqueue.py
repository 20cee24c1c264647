"""Enqueueing: one and many, by task and by name, from threads and from event loops."""

import asyncio
import dataclasses
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from holdfast import Call, DuplicateJob, Holdfast, Job
from holdfast.app.ids import IdMaker, new_id
from tests.unit.app.looking import all_jobs


def add(a: int, b: int = 0) -> int:
    return a + b


async def aadd(a: int, b: int = 0) -> int:
    await asyncio.sleep(0)
    return a + b


def results(app: Holdfast, jobs: list[Job[int]]) -> list[int]:
    app.drain()
    return [job.result(0) for job in jobs]


def test_every_way_to_enqueue_makes_one_job(app: Holdfast) -> None:
    task = app.task(name="add")(add)
    jobs: list[Job[int]] = [
        task.enqueue(1, b=2),
        task.delay(1, b=2),
        task.s(1, b=2).enqueue(),
        task.using(priority=1).enqueue(1, b=2),
        app.enqueue(task, 1, b=2),
        app.enqueue("add", 1, b=2),
        app.push(task.s(1, b=2)),
        *app.enqueue_many([task.s(1, b=2)]),
    ]
    assert len({job.id for job in jobs}) == len(all_jobs(app)) == 8
    assert [job.decision for job in jobs] == ["created"] * 8
    assert results(app, jobs) == [3] * 8


def test_every_awaited_way_to_enqueue_makes_one_job(app: Holdfast) -> None:
    task = app.task(name="aadd")(aadd)

    async def enqueue() -> list[Job[Any]]:
        return [
            await task.aenqueue(1, b=2),
            await task.s(1, b=2).aenqueue(),
            await task.using(priority=1).aenqueue(1, b=2),
            await app.aenqueue(task, 1, b=2),
            await app.aenqueue("aadd", 1, b=2),
            *await app.aenqueue_many([task.s(1, b=2)]),
        ]

    assert results(app, asyncio.run(enqueue())) == [3] * 6


def test_many_are_stored_in_order(app: Holdfast) -> None:
    task = app.task(name="add")(add)
    jobs = app.enqueue_many(task.s(number) for number in range(2500))
    assert results(app, jobs) == list(range(2500))
    assert app.enqueue_many([]) == []


def test_a_call_may_be_changed_until_it_is_made(app: Holdfast) -> None:
    call: Call[int] = app.task(name="add")(add).s(1)
    call.kwargs["b"] = 5
    first, second = call.enqueue(), call.enqueue()
    assert first != second
    assert results(app, [first, second]) == [6, 6]


def test_an_id_that_is_known_adds_no_job(app: Holdfast) -> None:
    """I3; trap 40: also when the first one has long been done."""
    ran: list[int] = []
    task = app.task(name="note")(ran.append)
    first = task.using(id="order:17").enqueue(1)
    second = task.using(id="order:17").enqueue(2)
    app.drain()
    third = task.using(id="order:17").enqueue(3)
    assert app.drain() == 0
    assert ran == [1]
    assert [job.decision for job in (first, second, third)] == ["created", "duplicate", "duplicate"]
    assert second.reason
    assert first == second == third
    assert len({first, second}) == 1


def test_many_may_hold_an_id_twice(app: Holdfast) -> None:
    task = app.task(name="add")(add).using(id="x")
    assert [job.decision for job in app.enqueue_many([task.s(1), task.s(2)])] == ["created", "duplicate"]


def test_a_refusal_is_raised_by_one_and_marked_among_many(app: Holdfast) -> None:
    task = app.task(name="add", key="k", on_conflict="reject")(add)
    task.enqueue(1)
    with pytest.raises(DuplicateJob, match="has the key 'k' and has yet to start"):
        task.enqueue(2)
    (job,) = app.enqueue_many([task.s(3)])
    assert (job.decision, app.queues["default"].size()) == ("refused", 1)


def test_threads_share_an_app(app: Holdfast) -> None:
    task = app.task(name="add")(add)
    with ThreadPoolExecutor(8) as pool:
        jobs = list(pool.map(task.enqueue, range(400)))
    assert len({job.id for job in jobs}) == 400
    assert results(app, jobs) == list(range(400))


def test_a_first_use_by_many_threads_opens_one_store() -> None:
    for _ in range(20):
        app = Holdfast("memory://")
        with ThreadPoolExecutor(8) as pool:
            stores = set(pool.map(lambda _: id(app.store), range(8)))  # noqa: B023 - used up within the round
        assert len(stores) == 1
        app.close()


def test_loops_share_an_app(app: Holdfast) -> None:
    task = app.task(name="add")(add)

    async def enqueue() -> list[Job[int]]:
        return await asyncio.gather(*(task.aenqueue(number) for number in range(20)))

    with ThreadPoolExecutor(3) as pool:
        batches = list(pool.map(lambda _: asyncio.run(enqueue()), range(3)))
    assert len({job.id for batch in batches for job in batch}) == 60
    app.drain()


@dataclasses.dataclass
class Order:
    number: int
    lines: list[str]


@dataclasses.dataclass
class Extra:
    text: str


def pay(order: Order, extra: Any = None) -> Order:
    assert isinstance(order, Order)
    return Order(order.number + 1, [*order.lines, type(extra).__name__])


def test_values_arrive_as_the_annotated_types(app: Holdfast) -> None:
    """I2"""
    job = app.task(name="pay")(pay).enqueue(Order(7, ["a"]))
    app.drain()
    assert job.result(0) == Order(8, ["a", "NoneType"])


def test_a_type_that_no_signature_names_can_be_registered(app: Holdfast) -> None:
    app.register(Extra)
    job = app.task(name="pay")(pay).enqueue(Order(7, []), Extra("x"))
    app.drain()
    assert job.result(0) == Order(8, ["Extra"])


def test_a_task_declared_after_the_first_push_is_known(app: Holdfast) -> None:
    app.task(name="add")(add).enqueue(1)
    job = app.task(name="pay")(pay).enqueue(Order(1, []))
    app.drain()
    assert job.result(0).number == 2


# --- ids ----------------------------------------------------------------------------------------------------


def test_ids_are_uuids_in_order() -> None:
    import uuid

    ids = [new_id() for _ in range(10_000)]
    assert ids == sorted(set(ids))
    assert {uuid.UUID(one).version for one in ids[:100]} == {7}
    assert {uuid.UUID(one).variant for one in ids[:100]} == {uuid.RFC_4122}


def test_ids_stay_in_order_when_the_clock_is_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    maker = IdMaker()
    now = time.time_ns()
    moments = iter([now, now, now - 10**12, now + 10**6])
    monkeypatch.setattr(time, "time_ns", lambda: next(moments))
    ids = [maker.make() for _ in range(4)]
    assert ids == sorted(set(ids))


def test_threads_never_get_an_id_twice() -> None:
    with ThreadPoolExecutor(8) as pool:
        batches = list(pool.map(lambda _: [new_id() for _ in range(2000)], range(8)))
    assert len({one for batch in batches for one in batch}) == 16_000
