"""Traps that others' schedulers fell into (`research/seeds.md`, 9.2), as a user of an app would meet them."""

import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from holdfast import Holdfast, Job, Task
from holdfast.testing.contract.virtual_clock import VirtualClock


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def app(clock: VirtualClock) -> Iterator[Holdfast]:
    with Holdfast("memory://", clock=clock) as made:
        yield made


class Diary:
    """A task that writes down what it was given."""

    def __init__(self, app: Holdfast, **options: Any) -> None:
        self.read: list[Any] = []
        self.task: Task[..., None] = app.task(name="write", **options)(self.write)

    def write(self, word: str) -> None:
        self.read.append(word)


def test_1_a_ready_job_that_is_put_again_with_a_higher_priority_and_a_later_time_goes_first(app: Holdfast) -> None:
    diary = Diary(app, key=lambda word: word)
    for word, priority in (("one", 1), ("two", 2), ("three", 3)):
        diary.task.using(priority=priority).enqueue(word)
    assert diary.task.using(priority=99, delay=3600).enqueue("one").decision == "merged"
    app.drain()
    assert diary.read == ["one", "three", "two"]


def test_2_to_raise_a_priority_among_a_hundred_thousand_takes_no_time(app: Holdfast) -> None:
    diary = Diary(app, key=lambda word: word)
    app.enqueue_many(diary.task.s(str(number)) for number in range(100_000))
    raised = [diary.task.using(priority=1 + number) for number in range(200)]
    calls = [task.s(str(50_000 + number)) for number, task in enumerate(raised)]
    took_s: list[float] = []
    for call in calls:
        began = time.perf_counter()
        assert call.enqueue().decision == "merged"
        took_s.append(time.perf_counter() - began)
    assert sorted(took_s)[len(took_s) // 2] < 0.001, (
        "44 ms it was; `python -m benchmarks --only bump` measures it exactly"
    )
    app.drain(limit=1)
    assert diary.read == ["50199"]


def test_4_a_call_made_while_its_job_runs_is_answered_and_carried_out_if_asked(app: Holdfast) -> None:
    answers: list[Job[Any]] = []

    def work(word: str) -> None:
        if word == "first":
            answers.append(task.enqueue("ignored"))
            answers.append(task.using(rerun=True).enqueue("second"))

    task = app.task(name="work", key="k")(work)
    first = task.enqueue("first")
    app.drain()
    assert [(job.decision, job.id == first.id) for job in answers] == [("duplicate", True), ("created", False)]
    assert all(job.reason for job in answers)
    assert answers[1].state() == "succeeded"


@pytest.mark.parametrize("limit", ["rate", "lane_rate"])
def test_5_a_queue_that_is_stopped_yields_nothing_not_even_what_it_had_saved_up(app: Holdfast, limit: Any) -> None:
    diary = Diary(app, queue="crawl", lane="a")
    queue = app.queue("crawl", rate="10/s", burst=10)
    app.enqueue_many(diary.task.s(str(number)) for number in range(5))
    queue.set(**{limit: "0/s"})
    assert app.drain() == 0
    queue.unset()
    assert app.drain() == 5


def test_8_how_long_a_result_is_fresh_has_no_effect_on_retries(app: Holdfast, clock: VirtualClock) -> None:
    def fail(word: str) -> None:
        raise ValueError(word)

    job = app.task(name="fail", key="k", fresh_for=0, retries=3, retry_delay=60)(fail).enqueue("x")
    for _ in range(10):
        app.drain()
        clock.advance(3600)
    assert (job.state(), len(job.history())) == ("failed", 4)
    assert Diary(app, key="k", fresh_for=None).task.enqueue("y").decision == "created"


@pytest.mark.parametrize("of", ["queues", "lanes"])
def test_9_twenty_that_are_busy_all_get_on_each_round(app: Holdfast, of: str) -> None:
    diary = Diary(app)
    names = [f"project{number:02}" for number in range(20)]
    for name in names:
        task = diary.task.using(queue=name) if of == "queues" else diary.task.using(lane=name)
        app.enqueue_many(task.s(name) for _ in range(10))
    for served in range(1, 4):
        app.drain(limit=20)
        assert Counter(diary.read) == dict.fromkeys(names, served)


def test_43_two_projects_may_use_the_same_keys_and_lanes(app: Holdfast) -> None:
    diary = Diary(app, key="on_start", lane="a.org")
    app.queue("one", lane_max_running=1, lane_rate="1/h")
    jobs = app.enqueue_many(diary.task.using(queue=name, priority=9).s(name) for name in ("one", "two"))
    assert [job.decision for job in jobs] == ["created", "created"]
    app.queues["one"].pause(lane="a.org")
    app.drain()
    assert diary.read == ["two"]
