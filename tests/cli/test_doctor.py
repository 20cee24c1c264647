"""`holdfast doctor`: what is right, what is not, and what to do about it."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import APP, Answer, Shop, run


def findings(answer: Answer, what: str) -> list[dict[str, Any]]:
    return [finding for finding in answer.json["findings"] if finding["what"] == what]


def test_a_healthy_store_has_no_failure(store: Shop) -> None:
    answer = store.run("doctor", "--json")
    assert answer.code == 0
    assert answer.json.keys() == {"version", "is_healthy", "findings"}
    assert answer.json["is_healthy"] is True
    told = {finding["what"]: finding["level"] for finding in answer.json["findings"]}
    for what in ("versions", "sqlite", "permissions", "log", "disk", "store", "schema", "tier", "workers", "parked"):
        assert told[what] == "ok"


def test_people_read_a_line_per_finding_and_remedies(store: Shop) -> None:
    shown = store.run("doctor").out
    assert "ok    schema       is the one this version reads and writes" in shown
    assert "→ set HOLDFAST_SECRET" in shown


def test_what_is_not_ok_comes_with_a_remedy(store: Shop) -> None:
    store.enqueue("shop.add", 1, 2)
    store.run("queue", "pause", "mail")
    store.path.chmod(0o666)
    answer = store.run("--app", "tests.cli.shop:broken", "doctor", "--json")
    for finding in answer.json["findings"] + store.run("doctor", "--json").json["findings"]:
        assert finding.keys() == {"level", "what", "detail", "remedy"}
        assert finding["level"] == "ok" or finding["remedy"]


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda path: None, "there is no file"),
        (
            lambda path: path.write_text("some notes of mine, longer than the head of a database is " * 3),
            "is not a SQLite",
        ),
        (lambda path: path.touch(), "holds no jobs of Holdfast"),
        (lambda path: path.mkdir(), "it is a folder"),
    ],
    ids=["missing", "no database", "empty", "folder"],
)
def test_a_file_that_is_no_store_is_a_failure(make: Any, sentence: str, tmp_path: Path, form: tuple[str, ...]) -> None:
    make(tmp_path / "other.db")
    answer = run("--url", "sqlite:///other.db", "doctor", *form)
    assert answer.code == 1
    assert sentence in answer.out
    assert not form or answer.json["is_healthy"] is False


def test_a_newer_schema_is_a_failure(store: Shop, form: tuple[str, ...]) -> None:
    store.change("update holdfast_meta set schema = 999")
    answer = store.run("doctor", *form)
    assert answer.code == 1
    assert "has schema 999, and this version of Holdfast reads up to" in answer.out
    assert "upgrade Holdfast here" in answer.out


def test_a_newer_schema_stops_other_commands_too(store: Shop, form: tuple[str, ...]) -> None:
    store.change("update holdfast_meta set schema = 999")
    answer = store.run("jobs", *form)
    assert (answer.code, answer.out) == (1, "")
    assert "has schema 999" in answer.err


@pytest.mark.parametrize(("mode", "level"), [(0o600, "ok"), (0o640, "warn"), (0o666, "FAIL")])
def test_who_may_touch_the_file_is_told(mode: int, level: str, store: Shop) -> None:
    store.path.chmod(mode)
    answer = store.run("doctor", "--json")
    assert findings(answer, "permissions")[0]["level"] == level
    assert answer.code == (1 if level == "FAIL" else 0)


def test_ready_jobs_without_a_worker_are_a_warning(store: Shop) -> None:
    store.enqueue("shop.add", 1, 2)
    (finding,) = findings(store.run("doctor", "--json"), "workers")
    assert (finding["level"], finding["detail"]) == ("warn", "none is running, and 1 job could run")


def test_a_live_worker_and_a_queue_that_nobody_serves_are_told(store: Shop) -> None:
    store.enqueue("shop.send", "ada")
    with store.app as app, app.worker(threads=1, queues=["default"]):
        answer = store.run("doctor", "--json")
    assert "1 live worker" in findings(answer, "workers")[0]["detail"]
    assert "queue mail holds 1 job, and no live worker serves it" in findings(answer, "queues")[0]["detail"]


def test_a_paused_queue_and_parked_jobs_are_warnings(store: Shop) -> None:
    store.run("queue", "pause", "mail")
    store.enqueue("shop.add", 1, 2)
    with type(store.app)(store.url) as stranger:
        stranger.drain()
    answer = store.run("doctor", "--json")
    assert findings(answer, "queues")[0]["remedy"] == "holdfast queue resume mail"
    assert findings(answer, "parked")[0]["detail"] == "1 job set aside"
    assert answer.code == 0


class TestAppAndSecret:
    def test_an_app_is_told_with_its_tasks(self, store: Shop) -> None:
        answer = store.run("--app", APP, "doctor", "--json")
        assert findings(answer, "app")[0]["detail"] == f"{APP} has 5 tasks"

    def test_an_app_that_cannot_be_loaded_is_one_failure(self, form: tuple[str, ...]) -> None:
        answer = run("--app", "tests.cli.shop:broken", "doctor", *form)
        assert answer.code == 1
        assert answer.out.count("the app's own mistake") == 1

    @pytest.mark.usefixtures("signed")
    def test_a_secret_is_told_and_never_shown(self, store: Shop, form: tuple[str, ...]) -> None:
        answer = store.run("doctor", *form)
        assert "set: jobs are signed" in answer.out
        assert "a secret of more" not in answer.out

    def test_a_secret_that_is_too_short_is_a_failure(self, store: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOLDFAST_SECRET", "short")
        answer = store.run("doctor", "--json")
        assert answer.code == 1
        (finding,) = findings(answer, "secret")
        assert finding["level"] == "FAIL"
        assert "expected a secret of 16 characters or more" in finding["remedy"]
