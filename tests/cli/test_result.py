"""`holdfast result`: a value, or why there is none."""

from typing import Any

import pytest

from tests.cli.conftest import SECRET, Shop


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        (None, "null"),
        (True, "true"),
        ("ada", "ada"),
        ("zwei\nZeilen", "zwei\nZeilen"),
        (["ä", 1, {"b": 2.5}], '["ä", 1, {"b": 2.5}]'),
        (float("inf"), "inf"),
        (b"raw", "b'raw'"),
    ],
)
def test_text_is_printed_bare_and_plain_values_as_json(value: Any, text: str, store: Shop) -> None:
    assert store.run("result", store.done("shop.give", value)).out == f"{text}\n"


def test_json_tells_the_job_and_its_value(store: Shop) -> None:
    job_id = store.done("shop.add", 1, 2)
    assert store.json("result", job_id) == {"id": job_id, "state": "succeeded", "result": 3, "problem": None}


def test_a_failed_job_gives_its_error_and_code_1(store: Shop) -> None:
    job_id = store.done("shop.fail", "no such customer")
    answer = store.run("result", job_id)
    assert (answer.code, answer.out) == (1, "")
    assert f"error: job {job_id} (shop.fail) failed: ValueError: no such customer" in answer.err
    assert "in fail" in answer.err


@pytest.mark.parametrize(
    ("state", "problem"),
    [("failed", "ValueError: it went wrong"), ("ready", "has not ended"), ("cancelled", "cancelled")],
)
def test_json_tells_why_there_is_no_result(state: str, problem: str, store: Shop) -> None:
    job_id = store.enqueue("shop.fail")
    if state == "failed":
        store.drain()
    if state == "cancelled":
        store.run("cancel", job_id)
    answer = store.run("result", job_id, "--json")
    assert answer.code == 1
    assert (answer.json["id"], answer.json["state"], answer.json["result"]) == (job_id, state, None)
    assert problem in answer.json["problem"]
    assert "\n" not in answer.json["problem"]


def test_a_job_that_has_not_ended_is_waited_for_as_long_as_was_asked(store: Shop) -> None:
    answer = store.run("result", store.enqueue("shop.add", 1, 2), "--wait", "0.05")
    assert answer.code == 1
    assert "has not ended: it is ready; wait for it with --wait 30s" in answer.err


def test_waiting_for_a_job_that_is_over_takes_no_time(store: Shop) -> None:
    assert store.run("result", store.done("shop.add", 1, 2), "--wait", "1h").out == "3\n"


def test_an_unknown_job_is_an_error(store: Shop, form: tuple[str, ...]) -> None:
    answer = store.run("result", "no-such-job", *form)
    assert (answer.code, answer.out) == (1, "")
    assert "no job no-such-job is in this store" in answer.err


@pytest.mark.usefixtures("signed")
def test_a_result_that_was_changed_is_not_believed(store: Shop, form: tuple[str, ...]) -> None:
    job_id = store.done("shop.give", "pay 10")
    store.change(
        "update holdfast_job set result = cast(substr(result, 1, length(result) - 1) || x'39' as blob) where id = ?",
        job_id,
    )
    answer = store.run("result", job_id, *form)
    assert answer.code == 1
    assert "what it stands for was changed" in answer.err
    assert "pay 19" not in answer.out


def test_a_signed_result_is_read_with_the_secret_though_the_app_is_broken(
    store: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_SECRET", SECRET)
    job_id = store.done("shop.add", 1, 2)
    monkeypatch.setenv("HOLDFAST_APP", "tests.cli.shop:broken")
    answer = store.run("result", job_id)
    assert (answer.code, answer.out) == (0, "3\n")
    assert answer.err.count("note: ") == 1
