"""`holdfast top`: one picture, for a pipe, a file or a program."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from holdfast.cli.snapshot import Lookout
from holdfast.cli.top import pace
from holdfast.cli.top_frame import shares
from holdfast.model.worker import ChildReport, WorkerReport
from tests.cli.conftest import PretendedWorker, Shop, run, run_apart
from tests.cli.shop import ESCAPES
from tests.cli.test_terminal import is_harmless
from tests.cli.test_workers import JOB_KEYS
from tests.process.processes import Workers, until
from tests.process.tasks import fail, note, told

ONCE = ("top", "--once", "--every", "0.1")


def test_json_tells_queues_rates_running_jobs_failures_and_workers(workers: Workers, store: Shop) -> None:
    workers.start("--lease", "1")
    failed, job = fail.enqueue(), told.enqueue(4, str(workers.folder / "gate"))
    until(lambda: store.json(*ONCE)["running"][:1] and store.json("show", job.id)["progress"] == 1.0, "the run")
    seen = store.json(*ONCE)
    assert seen.keys() == {"at", "rates", "queues", "running", "failing", "workers"}
    assert seen["rates"].keys() == {"over_s", "runs", "succeeded", "failed"}
    assert [queue["name"] for queue in seen["queues"]] == ["default", "mail"]
    assert seen["queues"][0]["counts"] == {"failed": 1, "running": 1}
    (running,) = seen["running"]
    assert running.keys() == JOB_KEYS - {"child"}
    assert (running["id"], running["progress"], running["progress_note"]) == (job.id, 1.0, "step 4")
    assert [job["id"] for job in seen["failing"]] == [failed.id]
    assert [worker["is_leaving"] for worker in seen["workers"]] == [False]


def test_people_see_the_same(store: Shop, pretended: PretendedWorker) -> None:
    store.done("shop.fail", "no such customer")
    worker = pretended.enlist(report=WorkerReport((ChildReport(5, 80 * 2**20, 1204),)))
    job_id = store.enqueue("shop.add", 1, 2)
    pretended.claim(worker)
    pretended.note(job_id, 0.42, "step 3")
    store.enqueue("shop.send", "ada")
    store.enqueue("shop.send", "ada", delay=3600)
    shown = store.run(*ONCE).out
    for text in (
        "1 worker, 80.0 MiB", "0.0 failed/s", "running 1", job_id[-12:], "━━━━━━━━──────────── 42%", "step 3",
        "failed lately", "ValueError: no such customer", worker, "1,204",
    ):  # fmt: skip
        assert text in shown
    (mail,) = [line.split() for line in shown.splitlines() if line.startswith("mail")]
    assert mail[:6] == ["mail", "open", "1", "1", "–", "–"]


def test_rates_are_what_ended_between_the_two_looks(store: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0
    look = Lookout.look

    def work_before_the_second(self: Lookout) -> object:
        nonlocal looks
        looks += 1
        if looks == 2:
            store.done("shop.add", 1, 2)
            store.done("shop.fail")
        return look(self)

    monkeypatch.setattr(Lookout, "look", work_before_the_second)
    rates = store.json(*ONCE)["rates"]
    assert rates["succeeded"] == {"default": pytest.approx(1 / rates["over_s"]), "mail": 0}
    assert rates["failed"] == {"default": pytest.approx(1 / rates["over_s"]), "mail": 0}


def test_without_a_terminal_there_is_one_picture(store: Shop) -> None:
    answer = run_apart("--url", store.url, "top", "--every", "0.1")
    assert answer.code == 0
    assert answer.out.startswith("holdfast top  ")
    assert "\x1b" not in answer.out


def test_an_empty_store_is_a_picture_too(store: Shop, form: tuple[str, ...]) -> None:
    answer = store.run(*ONCE, *form)
    assert answer.code == 0
    assert "default" in answer.out


def test_the_slowest_job_stands_first(store: Shop, pretended: PretendedWorker) -> None:
    worker = pretended.enlist()
    ids = []
    for _ in range(3):
        store.enqueue("shop.add", 1, 2)
        ids += pretended.claim(worker)
    assert [job["id"] for job in store.json(*ONCE)["running"]] == ids


def test_it_never_waits_for_the_write_lock(store: Shop, form: tuple[str, ...]) -> None:
    store.done("shop.fail")
    with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
        other.execute("pragma wal_autocheckpoint=0")
        other.execute("begin immediate")
        answer = store.run(*ONCE, *form)
        other.execute("rollback")
    assert answer.code == 0
    assert "shop.fail" in answer.out


def test_it_changes_nothing_in_the_file(store: Shop) -> None:
    store.done("shop.fail")
    with closing(sqlite3.connect(store.path)) as other:
        before = other.execute("pragma data_version").fetchone()
        assert store.run(*ONCE).code == 0
        assert other.execute("pragma data_version").fetchone() == before


def test_it_makes_no_store(tmp_path: Path, form: tuple[str, ...]) -> None:
    answer = run("--url", "sqlite:///none.db", *ONCE, *form)
    assert (answer.code, answer.out) == (1, "")
    assert "there is no file" in answer.err
    assert list(tmp_path.iterdir()) == []


def test_failures_are_read_again_only_when_their_number_has_changed(
    store: Shop, pretended: PretendedWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    find = pretended.store.inspector.find
    monkeypatch.setattr(pretended.store.inspector, "find", lambda query: (asked.append(query.states), find(query))[1])
    lookout = Lookout(pretended.store)
    first = store.done("shop.fail")
    assert [job.id for job in lookout.look().failing] == [first]
    assert [job.id for job in lookout.look().failing] == [first]
    assert asked == [("failed",)]
    second = store.done("shop.fail")
    assert [job.id for job in lookout.look().failing] == [second, first]
    assert asked == [("failed",), ("failed",)]


def test_nothing_that_a_job_says_steers_the_terminal(
    store: Shop, pretended: PretendedWorker, form: tuple[str, ...]
) -> None:
    store.done("shop.fail", ESCAPES)
    job_id = store.enqueue("shop.add", 1, 2)
    pretended.claim(pretended.enlist())
    pretended.note(job_id, 0.5, ESCAPES)
    store.change("update holdfast_queue set name = ? where name = 'mail'", ESCAPES)
    store.change("update holdfast_job set task = ? where id = ?", ESCAPES, job_id)
    answer = store.run(*ONCE, *form)
    assert answer.code == 0
    assert is_harmless(answer.out)


def test_neither_does_the_name_of_the_file(tmp_path: Path) -> None:
    folder = tmp_path / "\x1b[31mred"
    folder.mkdir()
    made = Shop(folder)
    made.done("shop.add", 1, 2)
    answer = made.run(*ONCE)
    assert answer.code == 0
    assert is_harmless(answer.out)
    assert "\\x1b[31mred" in answer.out


@pytest.mark.parametrize(
    ("every", "code", "sentence"),
    [
        ("0", 1, "expected --every to be 0.1 seconds or more, got: 0"),
        ("0.05", 1, "expected --every to be 0.1 seconds or more, got: 0.05"),
        ("often", 2, "expected a duration like 90 (seconds), 30s, 5m, 1h or 2d, got: 'often'"),
    ],
)
def test_a_pace_that_cannot_be_meant_is_refused(every: str, code: int, sentence: str, store: Shop) -> None:
    answer = store.run("top", "--every", every)
    assert (answer.code, answer.out) == (code, "")
    assert sentence in answer.err


@pytest.mark.parametrize(("took_s", "next_s"), [(0.01, 1.0), (0.1, 1.0), (0.15, 1.5), (2.0, 20.0)])
def test_looking_takes_a_tenth_of_the_time_at_most(took_s: float, next_s: float) -> None:
    assert pace(1.0, took_s) == pytest.approx(next_s)


class TestShares:
    @pytest.mark.parametrize("height", range(5, 60, 5))
    @pytest.mark.parametrize("wanted", [[3, 40, 100, 2], [1, 1, 1, 1], [80], [0, 0, 5]], ids=str)
    def test_a_picture_never_outgrows_the_screen(self, wanted: list[int], height: int) -> None:
        given = shares(wanted, height)
        assert 2 + sum(rows + 3 for rows in given if rows) <= height
        assert all(rows <= number for rows, number in zip(given, wanted, strict=True))

    def test_what_one_section_does_not_need_others_get(self) -> None:
        assert shares([2, 100, 100], 2 + 3 * 3 + 22) == [2, 10, 10]

    def test_on_a_low_screen_the_first_sections_go_first(self) -> None:
        assert shares([5, 5, 5], 2 + 2 * 4) == [1, 1, 0]

    def test_without_a_screen_twenty_rows_of_each_are_enough(self) -> None:
        assert shares([3, 50], None) == [3, 20]


def test_what_a_real_worker_has_done_is_counted(workers: Workers, store: Shop) -> None:
    workers.start()
    for number in range(5):
        note.enqueue(number)
    until(lambda: len(workers.lines("note")) == 5, "the work")
    until(lambda: store.json("queues")[0]["counts"] == {"succeeded": 5}, "the ends")
    assert store.json(*ONCE)["queues"][0]["counts"] == {"succeeded": 5}
