"""`holdfast workers`: who works, in which processes, on what."""

import pytest

from holdfast.model.worker import ChildReport, WorkerReport
from tests.cli.conftest import PretendedWorker, Shop, run
from tests.cli.shop import ESCAPES
from tests.cli.test_terminal import is_harmless
from tests.process.processes import Workers, children_of, until
from tests.process.tasks import hold, told

KEYS = {
    "id", "host", "pid", "queues", "tasks", "lease_s", "started", "is_leaving", "children", "running",
}  # fmt: skip
JOB_KEYS = {
    "id", "task", "queue", "worker", "claimed", "for_s", "progress", "progress_note", "cancel_asked", "child",
}  # fmt: skip


def test_without_a_worker_people_learn_how_to_start_one(store: Shop) -> None:
    answer = store.run("workers")
    assert (answer.code, answer.out) == (0, "no worker is live; start one with: holdfast worker MODULE:APP\n")
    assert store.json("workers") == []


def test_a_real_worker_is_told_with_its_processes_and_what_they_run(workers: Workers, store: Shop) -> None:
    process = workers.start("--processes", "2", "--lease", "1", "--queues", "default,mail")
    job = told.enqueue(4, str(workers.folder / "gate"))
    until(lambda: any(c["running"] for w in store.json("workers") for c in w["children"]), "a report of the run")
    until(lambda: store.json("show", job.id)["progress"] == 1.0, "the last note")
    until(lambda: all(c["rss_bytes"] > 2**20 for w in store.json("workers") for c in w["children"]), "all have started")
    (worker,) = store.json("workers")
    assert worker.keys() == KEYS
    assert (worker["pid"], worker["queues"], worker["is_leaving"]) == (process.pid, ["default", "mail"], False)
    assert {child["pid"] for child in worker["children"]} <= set(children_of(process.pid))
    (running,) = worker["running"]
    assert running.keys() == JOB_KEYS
    assert (running["id"], running["task"], running["progress"]) == (job.id, "tests.process.tasks.told", 1.0)
    assert running["child"] in {child["pid"] for child in worker["children"] if child["running"] == [job.id]}


def test_people_see_the_same(workers: Workers, store: Shop) -> None:
    process = workers.start("--lease", "1")
    job = hold.enqueue(str(workers.folder / "gate"))
    until(lambda: "1 running" in store.run("workers").out, "a report of the run")
    shown = store.run("workers").out
    (child,) = children_of(process.pid)
    for text in (f"pid {process.pid}", "serves all queues", f"child {child}: ", " MiB, 0 runs ended", job.id):
        assert text in shown
    assert f"runs tests.process.tasks.hold {job.id}  for " in shown


def test_one_that_was_asked_to_go_is_said_to_be_leaving(store: Shop, pretended: PretendedWorker) -> None:
    worker = pretended.enlist()
    pretended.store.operator.dismiss([worker])
    assert f"{worker}  is leaving\n" in store.run("workers").out
    assert store.json("workers")[0]["is_leaving"] is True


def test_the_jobs_of_a_worker_are_told_longest_first(store: Shop, pretended: PretendedWorker) -> None:
    worker = pretended.enlist()
    ids = []
    for _ in range(3):
        store.enqueue("shop.add", 1, 2)
        ids += pretended.claim(worker)
    assert [job["id"] for job in store.json("workers")[0]["running"]] == ids


def test_a_job_belongs_to_the_worker_that_holds_it(store: Shop, pretended: PretendedWorker) -> None:
    first, second = pretended.enlist("web-1-1-a"), pretended.enlist("web-2-2-b")
    mail, other = store.enqueue("shop.send", "ada"), store.enqueue("shop.add", 1, 2)
    pretended.claim(first, "mail")
    pretended.claim(second, "default")
    held = {worker["id"]: [job["id"] for job in worker["running"]] for worker in store.json("workers")}
    assert held == {first: [mail], second: [other]}


def test_of_many_running_jobs_people_see_twenty_and_programs_all(store: Shop, pretended: PretendedWorker) -> None:
    with store.app as app:
        app.enqueue_many(app.tasks["shop.add"].s(number, 1) for number in range(25))
    pretended.claim(pretended.enlist())
    shown = store.run("workers").out
    assert shown.count("  runs shop.add ") == 20
    assert "… and 5 running jobs more: see --json" in shown
    assert len(store.json("workers")[0]["running"]) == 25


def test_nothing_that_a_worker_or_a_job_says_steers_the_terminal(
    store: Shop, pretended: PretendedWorker, form: tuple[str, ...]
) -> None:
    worker = pretended.enlist(report=WorkerReport((ChildReport(5, 2**20, 1, (ESCAPES,)),)), queues=("mail", ESCAPES))
    job_id = store.enqueue("shop.add", 1, 2)
    pretended.claim(worker)
    pretended.note(job_id, 0.5, ESCAPES)
    store.change("update holdfast_worker set host = ?", ESCAPES)
    answer = store.run("workers", *form)
    assert answer.code == 0
    assert is_harmless(answer.out)


@pytest.mark.parametrize("words", [["--url", "sqlite:///none.db", "workers"], ["workers"]], ids=" ".join)
def test_a_store_that_is_not_there_is_an_error(words: list[str], store: Shop) -> None:
    answer = run(*words)
    assert (answer.code, answer.out) == (1, "")
    assert answer.err.startswith("error: ")
