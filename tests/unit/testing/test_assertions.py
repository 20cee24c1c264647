"""Assertions about what was enqueued, and what they say when they fail."""

from datetime import date, timedelta
from typing import Any
from unittest.mock import ANY

import pytest

from holdfast import ArgumentMismatch, Holdfast, InvalidInput, Task
from holdfast.testing import VirtualClock, assert_enqueued, assert_not_enqueued, drain, enqueued

from .conftest import NOON


@pytest.fixture
def send(app: Holdfast) -> Task[..., Any]:
    @app.task(name="shop.send", queue="mail")
    def send(to: str, subject: str = "Hi", *, day: date | None = None, **more: int) -> None:
        if to == "nobody":
            raise ValueError(to)

    return send


@pytest.fixture
def tidy(app: Holdfast) -> Task[..., Any]:
    @app.task(name="shop.tidy", retries=3, timeout=60)
    def tidy() -> None: ...

    return tidy


def test_enqueued_lists_waiting_jobs_in_order_with_their_arguments(
    app: Holdfast, send: Task[..., Any], tidy: Task[..., Any]
) -> None:
    first = send.using(priority=-1).enqueue("ada", day=date(2030, 1, 2), extra=5)
    second = tidy.using(delay=60).enqueue()
    one, two = enqueued(app)
    assert (one.job, one.task, one.queue, one.state, one.priority) == (first, "shop.send", "mail", "ready", -1)
    assert (one.args, one.kwargs) == (("ada",), {"day": date(2030, 1, 2), "extra": 5})
    assert one.arguments == {"to": "ada", "subject": "Hi", "day": date(2030, 1, 2), "extra": 5}
    assert (two.job, two.state, two.due) == (second, "scheduled", NOON + timedelta(minutes=1))
    assert [found.job for found in enqueued(app, tidy)] == [second]
    assert [found.job for found in enqueued(app, "shop.send")] == [first]


def test_enqueued_has_no_limit(app: Holdfast, tidy: Task[..., Any]) -> None:
    jobs = app.enqueue_many(tidy.s() for _ in range(2500))
    assert [found.job for found in enqueued(app)] == jobs


def test_jobs_that_have_run_are_not_enqueued_and_those_to_be_retried_are(app: Holdfast, send: Task[..., Any]) -> None:
    send.enqueue("ada")
    retried = send.using(retries=1, retry_delay=60).enqueue("nobody")
    drain(app, until=1)
    assert [found.job for found in enqueued(app)] == [retried]
    assert_not_enqueued(send, "ada")
    assert_enqueued(send, "nobody")


def test_an_assertion_gives_the_oldest_job_it_is_met_by(send: Task[..., Any]) -> None:
    send.enqueue("bob")
    job = send.enqueue("ada", "Hello")
    send.enqueue("ada", "Bye")
    assert assert_enqueued(send, "ada").job == job
    assert assert_enqueued(send, subject="Bye").arguments["to"] == "ada"


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((), {}),
        (("ada",), {}),
        (("ada", "Hi"), {}),
        ((), {"to": "ada", "subject": "Hi"}),
        ((), {"day": None}),
        ((), {"extra": 5}),
        ((ANY,), {"subject": ANY}),
    ],
)
def test_arguments_are_compared_by_name_and_those_left_out_are_not(
    send: Task[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    send.enqueue(to="ada", extra=5)
    assert_enqueued(send, *args, **kwargs)
    with pytest.raises(AssertionError):
        assert_not_enqueued(send, *args, **kwargs)


@pytest.mark.parametrize(
    ("args", "kwargs"), [(("bob",), {}), ((), {"subject": "Bye"}), ((), {"extra": 6}), ((), {"other": 5})]
)
def test_an_argument_that_differs_is_noticed(
    send: Task[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    send.enqueue("ada", extra=5)
    assert_not_enqueued(send, *args, **kwargs)
    with pytest.raises(AssertionError):
        assert_enqueued(send, *args, **kwargs)


def test_an_argument_that_the_task_does_not_take_is_an_error(tidy: Task[..., Any]) -> None:
    with pytest.raises(ArgumentMismatch, match="unexpected keyword argument 'deep'"):
        assert_not_enqueued(tidy, deep=True)


SAME: list[dict[str, Any]] = [
    {"queue": "attic"},
    {"priority": 5},
    {"priority": 0},
    {"delay": 60},
    {"delay": timedelta(minutes=1), "queue": "attic"},
    {"at": NOON + timedelta(hours=1)},
    {"expires": 600},
    {"expires": None},
    {"expires": NOON + timedelta(hours=2)},
    {"tags": ["order:17", "vip"]},
    {"retries": 3},
    {"retries": 7},
    {"retry_delay": 5},
    {"retry_delay": [1, 5]},
    {"retry_cap": 90},
    {"timeout": 60},
    {"timeout": None},
    {"timeout": 5},
    {"crash_budget": 1},
    {"id": "0192e4a0-0000-7000-8000-000000000001"},
]


@pytest.mark.parametrize("options", SAME, ids=str)
def test_options_given_by_using_are_compared(tidy: Task[..., Any], options: dict[str, Any]) -> None:
    job = tidy.using(**options).enqueue()
    assert assert_enqueued(tidy.using(**options)).job == job
    assert assert_enqueued(tidy).job == job, "options left out are not compared"


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ({"queue": "attic"}, {"queue": "cellar"}),
        ({"priority": 5}, {"priority": 0}),
        ({"delay": 60}, {"delay": 0}),
        ({"delay": 60}, {"at": NOON + timedelta(minutes=1)}),
        ({"at": NOON}, {"delay": 0}),
        ({"expires": 600}, {"expires": None}),
        ({"expires": 600}, {"expires": 700}),
        ({}, {"expires": 600}),
        ({"tags": ["vip"]}, {"tags": ["order:17"]}),
        ({"retries": 7}, {"retries": 3}),
        ({}, {"retries": 7}),
        ({"retry_delay": 5}, {"retry_delay": 10}),
        ({"retry_delay": [1, 5]}, {"retry_delay": 10}),
        ({"retry_delay": 1}, {"retry_delay": [1]}),
        ({"retry_cap": 90}, {"retry_cap": 91}),
        ({"timeout": None}, {"timeout": 60}),
        ({}, {"timeout": 5}),
        ({"crash_budget": 1}, {"crash_budget": 3}),
        ({}, {"id": "0192e4a0-0000-7000-8000-000000000001"}),
    ],
    ids=str,
)
def test_an_option_that_differs_is_noticed(tidy: Task[..., Any], given: dict[str, Any], asked: dict[str, Any]) -> None:
    tidy.using(**given).enqueue()
    assert_not_enqueued(tidy.using(**asked))
    with pytest.raises(AssertionError):
        assert_enqueued(tidy.using(**asked))


def test_an_option_that_no_waiting_job_shows_is_refused(tidy: Task[..., Any]) -> None:
    with pytest.raises(InvalidInput, match="result_ttl cannot be compared"):
        assert_enqueued(tidy.using(result_ttl=5))


def test_something_that_is_not_a_task_is_refused() -> None:
    with pytest.raises(InvalidInput, match="expected a task"):
        assert_enqueued("shop.send")  # type: ignore[arg-type]


def test_a_failure_says_what_waits_and_what_has_run_instead(
    app: Holdfast, send: Task[..., Any], tidy: Task[..., Any]
) -> None:
    send.enqueue("nobody")
    drain(app, raise_errors=False)
    send.using(delay=90, priority=2).enqueue("bob", day=date(2030, 1, 2))
    tidy.enqueue()
    with pytest.raises(AssertionError) as failed:
        assert_enqueued(send.using(delay=60, queue="post"), "ada", subject="Hi")
    assert str(failed.value).splitlines() == [
        "expected shop.send('ada', subject='Hi') using queue='post', delay=60 to be enqueued; waiting:",
        "  shop.send('bob', day=datetime.date(2030, 1, 2)) in mail, priority 2, due 90 s after it was enqueued",
        "  shop.tidy() in default, due at once",
        "not waiting any more:",
        "  shop.send('nobody') in mail, failed: ValueError",
    ]


def test_a_failure_with_nothing_in_the_store_says_so(tidy: Task[..., Any]) -> None:
    with pytest.raises(AssertionError, match=r"^expected shop.tidy to be enqueued; waiting: nothing$"):
        assert_enqueued(tidy)


def test_a_failure_does_not_list_thousands(app: Holdfast, send: Task[..., Any], tidy: Task[..., Any]) -> None:
    app.enqueue_many(tidy.s() for _ in range(1200))
    with pytest.raises(AssertionError) as failed:
        assert_enqueued(send)
    assert len(str(failed.value).splitlines()) == 22
    assert str(failed.value).endswith("… and 1,180 more")


def test_an_unwanted_job_is_shown(send: Task[..., Any], clock: VirtualClock) -> None:
    send.enqueue("ada")
    send.enqueue("bob")
    clock.advance(5)
    with pytest.raises(AssertionError) as failed:
        assert_not_enqueued(send, "ada")
    assert str(failed.value).splitlines() == [
        "expected shop.send('ada') not to be enqueued; waiting:",
        "  shop.send('ada') in mail, due at once",
    ]
