"""Bad input is refused with the value and the remedy, before anything is stored."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from holdfast import (
    ArgumentMismatch,
    Holdfast,
    InvalidInput,
    InvalidName,
    NotEncodable,
    PayloadTooLarge,
    UnknownOption,
)
from tests.unit.app.looking import all_jobs

LATER = datetime(2100, 1, 1, tzinfo=UTC)


def send(to: str, subject: str = "Hi", *, copies: int = 1) -> None: ...


def anything(*args: Any, **kwargs: Any) -> None: ...


@pytest.fixture
def untouched(app: Holdfast) -> Iterator[Holdfast]:
    """An app whose store must still be empty when the test has ended."""
    yield app
    assert all_jobs(app) == []
    assert app.queues.names() == []


WRONG_OPTIONS: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"retires": 3}, UnknownOption, r"has no option 'retires'; did you mean 'retries'\?"),
    ({"xyzzy": 3}, UnknownOption, r"has no option 'xyzzy'; it has: .*priority, queue, rerun, result_ttl, retries"),
    ({"retries": -1}, InvalidInput, "expected retries to be an integer of 0 or more, got: -1"),
    ({"retries": True}, InvalidInput, "expected retries to be an integer of 0 or more, got: True"),
    ({"retries": 3.0}, InvalidInput, r"got: 3\.0"),
    ({"retries": "3"}, InvalidInput, "got: '3'"),
    ({"retries": None}, InvalidInput, "got: None"),
    ({"retries": 2**31}, InvalidInput, "expected retries to be an integer from 0 to 2147483647, got: 2147483648"),
    ({"crash_budget": -1}, InvalidInput, "expected crash_budget to be an integer of 0 or more, got: -1"),
    (
        {"priority": 10**20},
        InvalidInput,
        "expected priority to be an integer from -2147483648 to 2147483647, got: 10000",
    ),
    ({"priority": -(10**20)}, InvalidInput, "expected priority to be an integer from -2147483648 to 2147483647"),
    ({"priority": True}, InvalidInput, "expected priority .* got: True"),
    ({"priority": "high"}, InvalidInput, "expected priority .* got: 'high'"),
    ({"delay": -1}, InvalidInput, "expected delay to be 0 or more seconds.* got: -1"),
    ({"delay": float("nan")}, InvalidInput, "expected delay to be 0 or more seconds.* got: nan"),
    ({"delay": float("inf")}, InvalidInput, "expected delay to be 0 or more seconds.* got: inf"),
    ({"delay": 10**400}, InvalidInput, "expected delay to be 0 or more seconds.* got: 1000"),
    ({"delay": timedelta(days=-1)}, InvalidInput, "expected delay to be 0 or more seconds"),
    ({"delay": True}, InvalidInput, "expected delay to be a number of seconds or a timedelta, got: True"),
    ({"delay": "60"}, InvalidInput, "expected delay to be a number of seconds or a timedelta, got: '60'"),
    ({"delay": datetime(2100, 1, 1)}, InvalidInput, r"without a zone: .*2100.*timezone\.utc"),
    ({"at": datetime(2100, 1, 1)}, InvalidInput, r"expected at .* without a zone: .*2100.*timezone\.utc"),
    ({"at": 60}, InvalidInput, "expected at to be an aware datetime, got: 60"),
    ({"delay": 5, "at": LATER}, InvalidInput, "expected delay or at, got both: delay=5, at=datetime"),
    ({"expires": 0}, InvalidInput, "expected expires to be more than 0 seconds, or None for never, got: 0"),
    ({"expires": -1}, InvalidInput, "expected expires to be 0 or more seconds.* got: -1"),
    ({"expires": datetime(2100, 1, 1)}, InvalidInput, "expected expires .* without a zone"),
    ({"expires": 5, "delay": 5}, InvalidInput, "got: expires=5, delay=5; such a job would never start"),
    ({"expires": LATER, "at": LATER}, InvalidInput, "got: expires=2100.*, at=2100.*; such a job would never start"),
    ({"timeout": 0}, InvalidInput, "expected timeout to be more than 0 seconds, or None for no limit, got: 0"),
    ({"timeout": -5}, InvalidInput, "expected timeout to be 0 or more seconds.* got: -5"),
    ({"timeout": "5"}, InvalidInput, "expected timeout to be a number of seconds or a timedelta, got: '5'"),
    (
        {"retry_delay": []},
        InvalidInput,
        r"expected retry_delay to be seconds, a timedelta or a list of them, got: \[\]",
    ),
    ({"retry_delay": [1, -1]}, InvalidInput, r"expected retry_delay\[1\] .* got: -1"),
    ({"retry_delay": -1}, InvalidInput, "expected retry_delay to be 0 or more seconds.* got: -1"),
    ({"retry_cap": -1}, InvalidInput, "expected retry_cap to be 0 or more seconds.* got: -1"),
    ({"result_ttl": -1}, InvalidInput, "expected result_ttl to be 0 or more seconds.* got: -1"),
    ({"keep_done": float("nan")}, InvalidInput, "expected keep_done to be 0 or more seconds.* got: nan"),
    ({"keep_dead": "1d"}, InvalidInput, "expected keep_dead to be a number of seconds or a timedelta, got: '1d'"),
    ({"tags": "order"}, InvalidInput, "expected tags to be a list of texts, got: 'order'"),
    ({"tags": ["a", 5]}, InvalidName, "expected a tag to be printable text of 1 to 128 characters, got: 5"),
    ({"tags": [""]}, InvalidName, "expected a tag .* got: ''"),
    ({"queue": ""}, InvalidName, "expected a queue name to be made of letters.* e.g. 'mail', got: ''"),
    ({"queue": "a b"}, InvalidName, "got: 'a b'"),
    ({"queue": "mail;drop table"}, InvalidName, "got: 'mail;drop table'"),
    ({"queue": "{mail}"}, InvalidName, "got: '{mail}'"),
    ({"queue": "mail\n"}, InvalidName, r"got: 'mail\\n'"),
    ({"queue": "x" * 129}, InvalidName, "at most 128"),
    ({"queue": 5}, InvalidName, "got: 5"),
    ({"id": ""}, InvalidName, "expected a job id to be made of .* leave it out to get a UUID, got: ''"),
    ({"id": "a b"}, InvalidName, "expected a job id .* got: 'a b'"),
    ({"id": 5}, InvalidName, "expected a job id .* got: 5"),
    ({"name": "other"}, UnknownOption, "'name' belongs to the task, not to one call of it"),
    ({"retry_on": OSError}, UnknownOption, "'retry_on' belongs to the task, not to one call of it"),
]


@pytest.mark.parametrize(("options", "error", "words"), WRONG_OPTIONS, ids=lambda value: str(value)[:40])
def test_a_wrong_option_of_a_call(untouched: Holdfast, options: Any, error: type[Exception], words: str) -> None:
    task = untouched.task(name="send")(send)
    with pytest.raises(error, match=words):
        task.using(**options).enqueue("ada")


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [case for case in WRONG_OPTIONS if not case[0].keys() & {"id", "name", "retry_on"}],
    ids=lambda value: str(value)[:40],
)
def test_a_wrong_option_of_a_task(untouched: Holdfast, options: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        untouched.task(name="send", **options)(send).enqueue("ada")


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"id": "x"}, UnknownOption, "a task has no option 'id'"),
        ({"name": ""}, InvalidName, "expected a task name .* got: ''"),
        ({"name": "two words"}, InvalidName, "expected a task name .* set it with name=, got: 'two words'"),
        ({"aliases": "old"}, InvalidInput, "expected aliases to be a list of task names, got: 'old'"),
        ({"aliases": ["ok", "not ok"]}, InvalidName, "got: 'not ok'"),
        ({"retry_on": ValueError("x")}, InvalidInput, "expected retry_on to be an exception class or a list of them"),
        (
            {"give_up_on": [OSError, "x"]},
            InvalidInput,
            "expected give_up_on to be an exception class or a list of them",
        ),
    ],
)
def test_a_wrong_option_that_only_tasks_have(
    untouched: Holdfast, options: Any, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        untouched.task(**options)(send)


@pytest.mark.parametrize(
    ("defaults", "words"),
    [
        ({"retires": 1}, r"Holdfast\(defaults=…\) has no option 'retires'; did you mean 'retries'\?"),
        ({"delay": 1}, "has no option 'delay'"),
        ({"name": "x"}, "has no option 'name'"),
        ({"retries": -1}, "expected retries to be an integer of 0 or more, got: -1"),
        ([("retries", 1)], r"expected Holdfast\(defaults=…\) to be given options by name"),
    ],
)
def test_wrong_defaults_of_an_app(defaults: Any, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        Holdfast("memory://", defaults=defaults)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"url": 5}, "expected url to be text, got: 5"),
        ({"tier": 5}, "expected tier to be text, got: 5"),
        ({"clock": 5}, "expected clock to be a function .* got: 5"),
        ({"namespace": "No Good"}, "expected a namespace .* got: 'No Good'"),
        ({"imports": "shop.mail"}, r"expected imports to be a list of module names, got: 'shop.mail'"),
        ({"imports": None}, "expected imports to be a list of module names, got: None"),
        ({"imports": [5]}, r"expected imports to be a list of module names, got: \[5\]"),
        ({"imports": [""]}, r"expected imports to be a list of module names, got: \[''\]"),
    ],
)
def test_wrong_settings_of_an_app(settings: Any, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        Holdfast(**settings)


@pytest.mark.parametrize("secret", [5, [5], [None], {"a": 1}, object()])
def test_a_secret_of_the_wrong_type_is_refused_and_not_shown(secret: Any) -> None:
    app = Holdfast("memory://", secret=secret)
    task = app.task(name="send")(send)
    with pytest.raises(InvalidInput, match="expected secret to be text, bytes or a list of them") as caught:
        task.enqueue("ada")
    assert repr(secret) not in str(caught.value)


@pytest.mark.parametrize(
    ("args", "kwargs", "words"),
    [
        ((), {}, r"send\(\) needs 'to', which the call does not give"),
        (("a", "b", "c"), {}, r"send\(\) takes 2 arguments by position, got 3"),
        (("a",), {"to": "b"}, r"send\(\) got 'to' twice"),
        (("a",), {"subjet": "b"}, r"send\(\) has no parameter 'subjet': did you mean 'subject'\?"),
        ((5,), {}, r"send\(\) got to=5: .*str"),
        (("a",), {"copies": "many"}, r"send\(\) got copies='many': .*int"),
        ((None,), {}, r"send\(\) got to=None"),
    ],
)
def test_arguments_that_do_not_fit(untouched: Holdfast, args: Any, kwargs: Any, words: str) -> None:
    """Trap 41: an invalid keyword argument name is refused when it is enqueued."""
    task = untouched.task(name="send")(send)
    with pytest.raises(ArgumentMismatch, match=words):
        task.enqueue(*args, **kwargs)
    with pytest.raises(ArgumentMismatch, match=words):
        untouched.enqueue_many([task.s("fine"), task.s(*args, **kwargs)])


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (object(), "argument 1 of anything.* is a object, which cannot travel"),
        (threading.Lock(), "cannot travel"),
        (lambda: 0, "code does not travel"),
        (iter([1]), r"can be read only once and only here: pass list\(…\) of it"),
        ({"a": [1, object()]}, r"argument 1 of anything\(\)\['a'\]\[1\] is a object"),
    ],
)
def test_an_argument_that_cannot_travel(untouched: Holdfast, value: Any, words: str) -> None:
    task = untouched.task(name="anything")(anything)
    with pytest.raises(NotEncodable, match=words):
        task.enqueue(value)
    with pytest.raises(NotEncodable, match="argument 'key' of anything"):
        task.enqueue(key=value)


def test_a_payload_that_is_too_large(untouched: Holdfast) -> None:
    task = untouched.task(name="send")(send)
    with pytest.raises(PayloadTooLarge, match=r"the longest is argument 'subject' of send.* 1,048,576.*reference"):
        task.enqueue("ada", "x" * 2_000_000)


def test_one_bad_call_among_many_stores_none_of_them(untouched: Holdfast) -> None:
    task = untouched.task(name="send")(send)
    with pytest.raises(ArgumentMismatch):
        untouched.enqueue_many([task.s("a")] * 2500 + [task.s(5)])  # type: ignore[arg-type]


@pytest.mark.parametrize("calls", [5, None, send])
def test_what_is_no_batch_of_calls(untouched: Holdfast, calls: Any) -> None:
    with pytest.raises(InvalidInput, match=r"expected calls, each made by task\.s\(…\), got: "):
        untouched.enqueue_many(calls)


@pytest.mark.parametrize("call", [5, "send", send, None])
def test_what_is_no_call(untouched: Holdfast, call: Any) -> None:
    with pytest.raises(InvalidInput, match=r"expected a call, made by task\.s\(…\), got: "):
        untouched.enqueue_many([call])


@pytest.mark.parametrize(
    ("method", "given", "words"),
    [
        ("worker", {"threads": 0}, "expected threads to be an integer of 1 or more, got: 0"),
        ("worker", {"threads": True}, "expected threads .* got: True"),
        ("worker", {"coroutines": -1}, "expected coroutines to be an integer of 1 or more, got: -1"),
        ("worker", {"queues": "mail"}, "expected queues to be a list of queue names, or None for all, got: 'mail'"),
        ("worker", {"queues": []}, r"expected queues to be a list of queue names, or None for all, got: \[\]"),
        ("worker", {"queues": 5}, "expected queues to be a list of queue names, or None for all, got: 5"),
        ("worker", {"queues": ["a b"]}, "expected a queue name .* got: 'a b'"),
        ("worker", {"lease": 0.5}, r"expected lease to be 1 second or more, got: 0\.5"),
        ("worker", {"lease": "10"}, "expected lease to be a number of seconds or a timedelta, got: '10'"),
        ("worker", {"grace": -1}, "expected grace to be 0 or more seconds.* got: -1"),
        ("drain", {"limit": -1}, "expected limit to be an integer of 0 or more, got: -1"),
        ("drain", {"queues": "mail"}, "expected queues to be a list of queue names"),
        ("consumer", {"queue": "a b"}, "expected a queue name .* got: 'a b'"),
        ("consumer", {"queue": "a", "lease": 0}, "expected lease to be 1 second or more, got: 0"),
        ("queue", {"name": "a b"}, "expected a queue name .* got: 'a b'"),
        ("queue", {"name": "a", "order": "random"}, "expected order to be 'fifo' or 'lifo', got: 'random'"),
        ("job", {"job_id": ""}, "expected a job id .* got: ''"),
        ("configure", {"urll": "x"}, "there is no setting 'urll'; the settings are url, secret"),
    ],
)
def test_wrong_arguments_of_the_apps_own_methods(untouched: Holdfast, method: str, given: Any, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        getattr(Holdfast("memory://") if method == "configure" else untouched, method)(**given)
