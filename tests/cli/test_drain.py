"""`holdfast workers drain`: workers finish what they run, take nothing more, and go."""

import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import PretendedWorker, Shop, command, environment
from tests.cli.terminal import on_terminal
from tests.process.processes import Workers, until
from tests.process.tasks import hold, note


@pytest.fixture
def gate(workers: Workers) -> Path:
    return workers.folder / "gate"


def start(workers: Workers, gate: Path) -> tuple["subprocess.Popen[str]", str]:
    """Start a worker that runs one job, until the gate opens."""
    process = workers.start()
    job = hold.enqueue(str(gate))
    until(lambda: workers.lines("holding"), "the run")
    return process, job.id


def test_a_real_worker_ends_its_job_takes_no_other_and_exits_with_0(workers: Workers, gate: Path, store: Shop) -> None:
    process, job_id = start(workers, gate)
    answer = store.run("workers", "drain", "--all", "--yes")
    assert answer.code == 0
    assert answer.out.endswith("was asked to stop\n")
    until(lambda: "was asked to stop" in workers.output, "the worker has heard of it")
    late = note.enqueue(1).id
    assert process.poll() is None
    gate.touch()
    assert process.wait(30) == 0
    assert (store.json("show", job_id)["state"], store.json("show", late)["state"]) == ("succeeded", "ready")
    assert store.json("workers") == []


def test_wait_returns_when_they_have_gone_and_not_before(workers: Workers, gate: Path, store: Shop) -> None:
    process, _ = start(workers, gate)
    arguments = command("--url", store.url, "workers", "drain", "--all", "--yes", "--wait")
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, env=environment(), text=True) as draining:
        assert draining.stdout is not None
        assert draining.stdout.readline().endswith("was asked to stop\n")
        until(lambda: store.json("workers")[0]["is_leaving"], "the wish in the store")
        assert draining.poll() is None
        gate.touch()
        assert draining.stdout.readline().endswith("has gone\n")
        assert draining.wait(30) == 0
    assert process.wait(30) == 0


def test_json_tells_who_was_asked_who_has_gone_and_who_is_unknown(workers: Workers, gate: Path, store: Shop) -> None:
    process, _ = start(workers, gate)
    (worker,) = store.json("workers")
    gate.touch()
    answer = store.run("workers", "drain", worker["id"], "nobody", "--yes", "--wait", "--json")
    assert answer.json == {"asked": [worker["id"]], "gone": [worker["id"]], "unknown": ["nobody"]}
    assert answer.code == 1
    assert process.wait(30) == 0


def leaving(store: Shop) -> set[str]:
    return {worker["id"] for worker in store.json("workers") if worker["is_leaving"]}


@pytest.mark.parametrize("part", ["web-3", "web-3-412-9f3c21ab", "21ab"])
def test_a_part_that_fits_one_worker_only_is_enough(part: str, store: Shop, pretended: PretendedWorker) -> None:
    meant = pretended.enlist("web-3-412-9f3c21ab")
    pretended.enlist("web-4-412-00000000")
    assert store.run("workers", "drain", part, "--yes").code == 0
    assert leaving(store) == {meant}


def test_a_part_that_fits_several_is_refused_and_nobody_is_asked(
    store: Shop, pretended: PretendedWorker, form: tuple[str, ...]
) -> None:
    for number in range(4):
        pretended.enlist(f"web-{number}-a")
    answer = store.run("workers", "drain", "web-0-a", "web", "--yes", *form)
    assert (answer.code, answer.out) == (1, "")
    assert answer.err == "error: web fits 4 workers: web-0-a, web-1-a, web-2-a …; give more of it\n"
    assert leaving(store) == set()


@pytest.mark.parametrize("word", ["nobody", ""])
def test_an_unknown_one_is_an_error_and_the_others_are_asked(
    word: str, store: Shop, pretended: PretendedWorker
) -> None:
    worker = pretended.enlist()
    answer = store.run("workers", "drain", worker, word, "--yes")
    assert answer.code == 1
    assert answer.err == f"error: no live worker has this id: {word}; see `holdfast workers`\n"
    assert leaving(store) == {worker}


def test_all_of_none_is_no_error(store: Shop) -> None:
    answer = store.run("workers", "drain", "--all")
    assert (answer.code, answer.out) == (0, "no worker is live; none was asked to stop\n")


@pytest.mark.parametrize("words", [[], ["--all", "web-3"]], ids=["none", "both"])
def test_it_takes_ids_or_all_one_of_the_two(words: list[str], store: Shop) -> None:
    answer = store.run("workers", "drain", *words)
    assert (answer.code, answer.out) == (1, "")
    assert answer.err.startswith("error: expected the ids of workers")


def test_without_a_terminal_nothing_is_done_unasked(store: Shop, pretended: PretendedWorker) -> None:
    worker = pretended.enlist()
    answer = store.run("workers", "drain", worker)
    assert answer.code == 1
    assert "add --yes" in answer.err
    assert leaving(store) == set()


@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("n\n", 1)])
def test_on_a_terminal_it_asks(typed: str, code: int, store: Shop, pretended: PretendedWorker) -> None:
    worker = pretended.enlist()
    answer, seen = on_terminal("--url", store.url, "workers", "drain", worker, typed=typed)
    assert answer == code
    assert f"Let 1 worker finish and go: {worker}?" in seen
    assert leaving(store) == ({worker} if code == 0 else set())
