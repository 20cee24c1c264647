"""`holdfast enqueue`: arguments from the shell, options, and what is refused before anything is stored."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import APP, Answer, Shop, run


def enqueue(store: Shop, *arguments: str) -> Answer:
    return store.run("--app", APP, "enqueue", *arguments)


def test_it_prints_the_id_and_nothing_else(store: Shop) -> None:
    answer = enqueue(store, "shop.add", "1", "2")
    assert answer.code == 0
    assert [job["id"] for job in store.json("jobs")] == answer.out.split()


def test_json_tells_what_was_made(store: Shop) -> None:
    told = enqueue(store, "send", "ada", "--json").json
    assert told == {"id": told["id"], "decision": "created", "task": "shop.send", "queue": "mail"}


def test_it_makes_a_store_that_was_not_there(tmp_path: Path) -> None:
    answer = run("--url", "sqlite:///new.db", "--app", APP, "enqueue", "add", "1", "2")
    assert answer.code == 0, answer.err
    assert (tmp_path / "new.db").exists()


@pytest.mark.parametrize(
    ("words", "args", "kwargs"),
    [
        (["42"], [42], {}),
        (['"42"'], ["42"], {}),
        (["ada"], ["ada"], {}),
        (["ada@example.com"], ["ada@example.com"], {}),
        (["NaN"], ["NaN"], {}),
        (["null"], [None], {}),
        (['{"a": [1, 2.5, true]}'], [{"a": [1, 2.5, True]}], {}),
        (["value=7"], [], {"value": 7}),
        (["value=a=b"], [], {"value": "a=b"}),
        (['"value=7"'], ["value=7"], {}),
        (["--", "-3"], [-3], {}),
        (["--kwargs", '{"value": "x"}'], [], {"value": "x"}),
    ],
)
def test_arguments_are_json_where_they_can_be(
    words: list[str], args: list[Any], kwargs: dict[str, Any], store: Shop
) -> None:
    job_id = enqueue(store, "give", *words).out.strip()
    assert store.json("show", job_id)["arguments"] == {"args": args, "kwargs": kwargs, "problem": None}


def test_options_reach_the_job(store: Shop) -> None:
    answer = enqueue(
        store, "add", "1", "2", "--queue", "mail", "--priority", "7", "--delay", "1h", "--tag", "a", "--tag", "b"
    )
    (job,) = store.json("jobs")
    assert job["id"] == answer.out.strip()
    assert (job["queue"], job["priority"], job["tags"], job["state"]) == ("mail", 7, ["a", "b"], "scheduled")


def test_a_moment_reaches_the_job(store: Shop) -> None:
    enqueue(store, "add", "1", "2", "--at", "2099-01-31T09:00+01:00")
    (job,) = store.json("jobs")
    assert job["due"] == "2099-01-31T08:00:00.000000Z"


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["shop.ad"], 1, "this app has no task 'shop.ad'; did you mean shop.add?"),
        (["xyz"], 1, "this app has no task 'xyz'; it has: shop.add, shop.fail"),
        (["fail"], 1, "this app has no task 'fail'"),
        (["add", "1"], 1, "needs 'b'"),
        (["add", "1", "two"], 1, "b='two'"),
        (["add", "a=1", "a=2"], 1, "the argument 'a' is given twice; give it once"),
        (
            ["add", "--kwargs", "[1]"],
            1,
            "expected --kwargs to be a JSON object, e.g. '{\"subject\": \"Hi\"}', got: '[1]'",
        ),
        (["add", "--kwargs", "{"], 1, "expected --kwargs to be a JSON object, got '{'"),
        (["give", "[" * 100_000], 1, "expected an argument that is nested less deeply"),
        (["add", "1", "2", "--queue", "a b"], 1, "expected a queue name to be made of letters"),
        (["add", "1", "2", "--delay", "1h", "--at", "2099-01-01T00:00Z"], 1, "expected --delay or --at, got both"),
        (
            ["add", "1", "2", "--delay", "soon"],
            2,
            "expected a duration like 90 (seconds), 30s, 5m, 1h or 2d, got: 'soon'",
        ),
        (["add", "1", "2", "--delay", "99999d"], 2, "expected a duration of less than a hundred years, got: '99999d'"),
        (["add", "1", "2", "--at", "soon"], 2, "expected a moment like 2030-01-31T09:00+01:00 (ISO 8601), got: 'soon'"),
        (["add", "1", "2", "--at", "2099-01-01"], 2, "e.g. 2099-01-01T00:00Z (UTC), got: '2099-01-01'"),
        (["add", "1", "2", "--priority", "high"], 2, "'high' is not a valid integer"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_stored(words: list[str], code: int, sentence: str, store: Shop) -> None:
    answer = enqueue(store, *words)
    assert (answer.code, answer.out) == (code, "")
    assert sentence in answer.err
    assert store.json("jobs") == []


def test_without_an_app_the_remedy_is_named(store: Shop) -> None:
    answer = store.run("enqueue", "add", "1", "2")
    assert answer.code == 1
    assert "give --app MODULE:APP, or set HOLDFAST_APP" in answer.err


def test_the_example_of_a_moment_in_the_complaint_is_accepted(store: Shop) -> None:
    complaint = enqueue(store, "add", "1", "2", "--at", "2099-01-01").err
    example = complaint.split("e.g. ")[1].split(" ")[0]
    assert enqueue(store, "add", "1", "2", "--at", example).code == 0
