"""`holdfast worker`: a real one, as far as the command line decides about it."""

import json
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import APP, Shop, command, environment, run, run_apart


def burst(store: Shop, *options: str, target: str = APP) -> None:
    answer = run_apart("worker", target, "--url", store.url, "--burst", *options)
    assert answer.code == 0, answer.err


def test_a_burst_ends_when_nothing_is_due(store: Shop) -> None:
    due, later = store.enqueue("shop.add", 1, 2), store.enqueue("shop.add", 1, 2, delay=3600)
    burst(store)
    assert (store.state(due), store.state(later)) == ("succeeded", "scheduled")


def test_only_the_queues_that_were_named_are_served(store: Shop) -> None:
    mail, other = store.enqueue("shop.send", "ada"), store.enqueue("shop.add", 1, 2)
    burst(store, "--queues", "mail")
    assert (store.state(mail), store.state(other)) == ("succeeded", "ready")


def test_the_url_beats_the_store_that_the_app_names_itself(store: Shop) -> None:
    job_id = store.enqueue("shop.add", 1, 2)
    burst(store, target="tests.cli.shop:own")
    assert store.state(job_id) == "succeeded"
    assert not Path("own.db").exists()


def test_the_app_may_come_from_the_environment_with_its_own_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_APP", "tests.cli.shop:own")
    answer = run_apart("worker", "--burst")
    assert answer.code == 0, answer.err
    assert Path("own.db").exists()


def test_a_namespace_reaches_the_children(store: Shop) -> None:
    burst(store, "--namespace", "second")
    assert store.run("--namespace", "second", "jobs").out == "0 jobs\n"


def test_people_are_told_what_was_started(store: Shop) -> None:
    answer = run_apart("worker", APP, "--url", store.url, "--burst", "--queues", "mail,default")
    assert answer.out == ""
    for line in (
        f"store     sqlite {store.path} (durable)",
        "tasks     5: shop.add",
        "queues    mail, default",
        "signed    no",
    ):
        assert line in answer.err


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (("--queues", "mail:4,default"), "queues    mail:4, default:1"),
        (("--queues", "mail,default", "--strict"), "queues    mail, default (strictly in this order)"),
    ],
)
def test_people_are_told_how_queues_share_the_worker(store: Shop, options: tuple[str, ...], line: str) -> None:
    assert line in run_apart("worker", APP, "--url", store.url, "--burst", *options).err


def test_json_is_one_document_about_the_start(store: Shop) -> None:
    answer = run_apart("worker", APP, "--url", store.url, "--burst", "--json")
    assert answer.json == {
        "worker": answer.json["worker"],
        "store": {"kind": "sqlite", "where": str(store.path), "tier": "durable"},
        "tasks": ["shop.add", "shop.fail", "shop.give", "shop.other.fail", "shop.send"],
        "queues": [],
        "weights": {},
        "is_strict": False,
        "processes": 1,
        "threads": 0,
        "is_signed": False,
    }


def test_told_to_stop_it_ends_in_order(store: Shop) -> None:
    arguments = command("worker", APP, "--url", store.url, "--json")
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, env=environment(), text=True) as process:
        assert process.stdout is not None
        document = ""
        while not document.endswith("}\n") or document.count("{") != document.count("}"):
            document += process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    assert json.loads(document)["worker"]


@pytest.mark.usefixtures("signed")
def test_what_nobody_has_signed_is_parked_and_never_run(store: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOLDFAST_SECRET")
    job_id = store.enqueue("shop.add", 1, 2)
    monkeypatch.setenv("HOLDFAST_SECRET", "a secret of more than sixteen characters")
    burst(store)
    told = store.json("show", job_id)
    assert (told["state"], told["result_until"], told["signature"]) == ("parked", None, "missing")


@pytest.mark.parametrize("options", [(), ("--url", "sqlite:///jobs.db")], ids=["", "url"])
@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        (
            "no.such:app",
            "no.such:app: ModuleNotFoundError: No module named 'no'; check the name and the working directory",
        ),
        ("tests.cli.shop:aap", "tests.cli.shop:aap cannot be found"),
        ("tests.cli.shop:broken", "tests.cli.shop:broken: RuntimeError: the app's own mistake"),
    ],
)
def test_an_app_that_cannot_be_loaded_is_one_sentence(target: str, sentence: str, options: tuple[str, ...]) -> None:
    answer = run_apart("worker", target, *options)
    assert (answer.code, answer.out) == (1, "")
    assert sentence in answer.err
    assert "Traceback" not in answer.err
    assert "--debug" in answer.err


def test_debug_shows_where_the_app_failed() -> None:
    answer = run_apart("worker", "tests.cli.shop:broken", "--debug")
    assert answer.code == 1
    assert "in broken" in answer.err


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        ([], 1, "no app was named: give MODULE:APP, e.g. shop.tasks:app, or set HOLDFAST_APP"),
        (["shop"], 1, "expected the app as MODULE:APP, e.g. shop.tasks:app, got: 'shop'"),
        (
            [APP, "--queues", "mail,"],
            1,
            "expected --queues to be names separated by commas, e.g. mail,default, got: 'mail,'",
        ),
        ([APP, "--queues", "a b"], 1, "expected a queue name to be made of letters"),
        ([APP, "--queues", "a:0"], 1, "expected the weight of 'a' in --queues to be an integer from 1 to 100, got: 0"),
        ([APP, "--queues", "a:2,a"], 1, "expected --queues to name each queue once, got 'a' twice"),
        ([APP, "--strict"], 1, "expected --strict to go with --queues in their order, without weights"),
        ([APP, "--strict", "--queues", "a:2,b"], 1, "expected --strict to go with --queues in their order"),
        ([APP, "--lease", "0.5"], 1, "expected lease to be 1 second or more, got: 0.5"),
        ([APP, "--grace", "long"], 2, "expected a duration like 90 (seconds), 30s, 5m, 1h or 2d, got: 'long'"),
        ([APP, "--processes", "0"], 2, "0 is not in the range"),
        ([APP, "--log-level", "loud"], 2, "'loud' is not one of"),
    ],
)
def test_what_cannot_be_meant_is_refused(words: list[str], code: int, sentence: str) -> None:
    answer = run("worker", *words)
    assert (answer.code, answer.out) == (code, "")
    assert sentence in answer.err


def test_a_store_in_memory_cannot_be_served() -> None:
    answer = run_apart("worker", APP, "--url", "memory://", "--burst")
    assert answer.code == 1
    assert "memory:// lives inside one process" in answer.err
