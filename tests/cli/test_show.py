"""`holdfast show`: all of one job."""

from datetime import date

import pytest

from tests.cli.conftest import APP, SECRET, PretendedWorker, Shop, run_apart
from tests.cli.test_jobs import KEYS


def test_json_tells_the_job_its_arguments_and_its_runs(store: Shop) -> None:
    job_id = store.done("shop.fail", "no such customer")
    told = store.json("show", job_id)
    assert told.keys() == KEYS | {"arguments", "runs", "signature"}
    assert told["arguments"] == {"args": ["no such customer"], "kwargs": {}, "problem": None}
    (run,) = told["runs"]
    assert run.keys() == {
        "number", "generation", "outcome", "worker", "claimed", "ended", "took_s", "reason", "error", "traceback",
    }  # fmt: skip
    assert (run["number"], run["outcome"], run["error"]) == (1, "failed", "ValueError: no such customer")
    assert "in fail" in told["traceback"]


def test_people_see_the_same(store: Shop) -> None:
    job_id = store.done("shop.fail", "no such customer", tags=["order:17"])
    shown = store.run("show", job_id).out
    for text in (job_id, "failed", "shop.fail", "('no such customer')", "order:17", "1 started, 1 failed", "in fail"):
        assert text in shown


@pytest.mark.parametrize("part", [slice(None, 20), slice(-12, None)], ids=["beginning", "end"])
def test_a_part_of_an_id_that_fits_one_job_only_is_enough(part: slice, store: Shop) -> None:
    job_id = store.enqueue("shop.add", 1, 2)
    assert store.json("show", job_id[part])["id"] == job_id


def test_a_part_that_fits_several_jobs_is_refused_with_their_ids(store: Shop, form: tuple[str, ...]) -> None:
    ids = [store.enqueue("shop.add", 1, 2, id=f"import-{number}") for number in range(4)]
    answer = store.run("show", "import", *form)
    assert answer.code == 1
    assert "import fits 4 jobs: import-3, import-2, import-1 …; give more of it" in answer.err
    assert ids[0] not in answer.err


@pytest.mark.parametrize("word", ["nope", "no-such-job", "%", ""])
def test_an_unknown_id_is_an_error(word: str, store: Shop, form: tuple[str, ...]) -> None:
    store.enqueue("shop.add", 1, 2)
    answer = store.run("show", word, *form)
    assert (answer.code, answer.out) == (1, "")
    assert f"no job {word} is in this store: it was never enqueued here, or is past its retention" in answer.err


def test_without_an_app_plain_arguments_are_shown_and_others_described(store: Shop) -> None:
    job_id = store.enqueue("shop.give", date(2030, 1, 31))
    assert store.json("show", job_id)["arguments"]["args"] == ["datetime.date(2030, 1, 31)"]


def test_an_app_of_the_environment_that_is_broken_is_a_note(store: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    job_id = store.enqueue("shop.add", 1, 2)
    monkeypatch.setenv("HOLDFAST_APP", "tests.cli.shop:broken")
    answer = store.run("show", job_id)
    assert answer.code == 0
    assert answer.err.startswith("note: HOLDFAST_APP could not be loaded")


def test_an_app_that_was_asked_for_and_is_broken_is_an_error(store: Shop) -> None:
    job_id = store.enqueue("shop.add", 1, 2)
    assert store.run("--app", "tests.cli.shop:broken", "show", job_id).code == 1


def test_arguments_that_cannot_be_read_are_described(store: Shop, form: tuple[str, ...]) -> None:
    job_id = store.enqueue("shop.add", 1, 2)
    store.change("update holdfast_job set envelope = ? where id = ?", b"\x00nonsense\x1b[2J", job_id)
    answer = store.run("show", job_id, *form)
    assert answer.code == 0
    assert "cannot be shown" in answer.out or answer.json["arguments"]["problem"]


def test_a_moment_that_is_no_moment_is_shown_all_the_same(store: Shop, form: tuple[str, ...]) -> None:
    job_id = store.enqueue("shop.add", 1, 2, delay=3600)
    store.change("update holdfast_job set due_us = ? where id = ?", 2**62, job_id)
    answer = store.run("show", job_id, *form)
    assert answer.code == 0
    assert str(2**62) in answer.out
    assert store.run("jobs", *form).code == 0


class TestSignature:
    def test_an_unsigned_job_has_none(self, store: Shop) -> None:
        assert store.json("show", store.enqueue("shop.add", 1, 2))["signature"] == "missing"

    @pytest.mark.usefixtures("signed")
    def test_a_signed_one_is_checked_by_the_secret_of_the_environment(self, store: Shop) -> None:
        job_id = store.enqueue("shop.add", 1, 2)
        assert store.json("show", job_id)["signature"] == "valid"
        assert store.json("--app", APP, "show", job_id)["signature"] == "valid"

    def test_a_signed_one_is_unchecked_where_no_secret_is_set(
        self, store: Shop, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HOLDFAST_SECRET", SECRET)
        job_id = store.enqueue("shop.add", 1, 2)
        monkeypatch.delenv("HOLDFAST_SECRET")
        assert store.json("show", job_id)["signature"] == "unchecked"
        assert "yes, unchecked: no secret is set here" in store.run("show", job_id).out

    @pytest.mark.usefixtures("signed")
    def test_a_signature_moved_to_another_queue_does_not_hold(self, store: Shop) -> None:
        job_id = store.enqueue("shop.add", 1, 2)
        store.change("update holdfast_job set queue = 'mail' where id = ?", job_id)
        assert store.json("show", job_id)["signature"] == "broken"


class TestProgress:
    @pytest.mark.parametrize(
        ("fraction", "words", "shown"),
        [
            (0.42, "step 3\nof 7", "━━━━━━━━──────────── 42%  step 3 of 7"),
            (0.0, None, "────────────────────  0%"),
            (0.999, None, "━━━━━━━━━━━━━━━━━━━─ 99%"),
            (1.0, None, "━━━━━━━━━━━━━━━━━━━━ 100%"),
            (None, "reading", "reading"),
        ],
    )
    def test_a_running_job_shows_a_bar_and_the_tasks_words(
        self, fraction: float | None, words: str | None, shown: str, store: Shop, pretended: PretendedWorker
    ) -> None:
        job_id = store.enqueue("shop.add", 1, 2)
        pretended.claim(pretended.enlist())
        pretended.note(job_id, fraction, words)
        (line,) = [line for line in store.run("show", job_id).out.splitlines() if line.startswith("progress")]
        assert line.removeprefix("progress").strip() == shown

    def test_where_only_ascii_can_be_written_so_is_the_bar(
        self, store: Shop, pretended: PretendedWorker, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        job_id = store.enqueue("shop.add", 1, 2)
        pretended.claim(pretended.enlist())
        pretended.note(job_id, 0.5)
        monkeypatch.setenv("PYTHONIOENCODING", "ascii")
        assert "##########---------- 50%" in run_apart("--url", store.url, "show", job_id).out

    def test_a_job_that_told_nothing_shows_nothing(self, store: Shop) -> None:
        assert "progress" not in store.run("show", store.enqueue("shop.add", 1, 2)).out
