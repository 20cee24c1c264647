"""`holdfast queue set` and `unset`: what an operator sets goes before what the program declares, until it is unset."""

from typing import Any

import pytest

from holdfast.model.queue import Breaker, Limits, QueuePolicy, Rate
from holdfast.policy.moments import SECOND
from holdfast.testing.contract.sample_jobs import jobs
from tests.cli.conftest import PretendedWorker, Shop, run

DECLARED = QueuePolicy(
    limits=Limits(Rate(600_000, 20), 8, Breaker(10, 300 * SECOND, 3)),
    lane_limits=Limits(max_running=2),
    weights={"gold": 4},
)
OPTIONS = [
    ("--rate 5/s", {"rate": "5/s", "burst": 20}),
    ("--rate 5/s --burst 3", {"rate": "5/s", "burst": 3}),
    ("--burst 3", {"rate": "100/m", "burst": 3}),
    ("--max-running 9", {"max_running": 9}),
    ("--breaker 2:90", {"breaker": "2:90s:1"}),
    ("--lane-rate 1/10s", {"lane_rate": "6/m", "lane_burst": 1}),
    ("--lane-rate 1/s --lane-burst 7", {"lane_rate": "1/s", "lane_burst": 7}),
    ("--lane-max-running 1", {"lane_max_running": 1}),
    ("--lane-breaker 10:5m:3", {"lane_breaker": "10:5m:3"}),
    ("--weight tin=2 --weight gold=8", {"weights": {"gold": 8, "tin": 2}}),
    ("--order lifo", {"order": "lifo"}),
    ("--ageing 90", {"ageing": "90s"}),
    ("--ageing 1h", {"ageing": "1h"}),
    ("--no-ageing", {"ageing": None}),
    ("--no-limit rate", {"rate": None, "burst": None}),
    ("--no-limit breaker --no-limit lane-max-running", {"breaker": None, "lane_max_running": None}),
]


@pytest.fixture(autouse=True)
def declared(store: Shop, pretended: PretendedWorker) -> None:
    assert store.url
    pretended.store.queues.set_policy("mail", DECLARED)


def policy(store: Shop) -> Any:
    return store.json("queue", "show", "mail")["policy"]


@pytest.mark.parametrize(("options", "changes"), OPTIONS, ids=[options for options, _ in OPTIONS])
def test_what_is_set_holds_until_it_is_unset(options: str, changes: dict[str, Any], store: Shop) -> None:
    before = policy(store)
    told = store.json("queue", "set", "mail", *options.split())
    assert told == {"queue": "mail", "changed": True, "before": before, "after": before | changes, "overlay": changes}
    assert store.json("queue", "show", "mail")["overlay"] == changes
    back = store.json("queue", "unset", "mail", "--all")
    assert (back["after"], back["overlay"]) == (before, {})


def test_it_goes_before_what_the_program_declares_anew(store: Shop, pretended: PretendedWorker) -> None:
    store.run("queue", "set", "mail", "--max-running", "1")
    pretended.store.queues.set_policy("mail", QueuePolicy(limits=Limits(max_running=50)))
    assert policy(store)["max_running"] == 1
    store.run("queue", "unset", "mail", "max-running")
    assert policy(store)["max_running"] == 50


def test_it_holds_at_once(store: Shop, pretended: PretendedWorker) -> None:
    pretended.store.push(jobs(30, "mail"))
    store.run("queue", "set", "mail", "--rate", "1/h", "--burst", "5", "--no-limit", "lane-max-running")
    worker = pretended.enlist()
    assert len(pretended.claim(worker)) == 5
    store.run(
        "queue", "set", "mail", "--no-limit", "rate", "--no-limit", "max-running", "--no-limit", "lane-max-running"
    )
    assert len(pretended.claim(worker)) == 25


def test_people_see_before_and_after(store: Shop) -> None:
    answer = store.run("queue", "set", "mail", "--rate", "5/s", "--no-limit", "max-running", "--weight", "=2")
    assert answer.out.splitlines() == [
        "queue mail: rate 100/m → 5/s",
        "queue mail: max running 8 → none",
        "queue mail: weights gold=4 → –=2, gold=4",
    ]
    assert store.run("queue", "unset", "mail", "rate").out == "queue mail: rate 5/s → 100/m\n"


def test_what_is_set_as_it_was_declared_changes_hands_only(store: Shop) -> None:
    out = store.run("queue", "set", "mail", "--max-running", "8").out
    assert out == "queue mail: holds as before, with max running set by hand\n"
    assert store.run("queue", "set", "mail", "--max-running", "8").out == "queue mail: nothing changed\n"
    out = store.run("queue", "unset", "mail", "--all").out
    assert out == "queue mail: holds as before, by what the program declares\n"
    assert store.json("queue", "unset", "mail", "--all")["changed"] is False


def test_ageing_goes_with_fifo_only_and_is_taken_back_by_its_name(store: Shop, pretended: PretendedWorker) -> None:
    pretended.store.queues.set_policy("mail", QueuePolicy(ageing_us=60 * SECOND))
    refused = store.run("queue", "set", "mail", "--order", "lifo")
    words = "expected either order='lifo' or ageing, got both: give --order fifo or --no-ageing as well"
    assert (refused.code, refused.err) == (1, f"error: {words}\n")
    store.run("queue", "set", "mail", "--order", "lifo", "--no-ageing")
    assert store.run("queue", "set", "mail", "--ageing", "5m").err == refused.err
    out = store.run("queue", "set", "mail", "--ageing", "5m", "--order", "fifo").out
    assert out.splitlines() == ["queue mail: order lifo → fifo", "queue mail: ageing none → 5m"]
    assert store.run("queue", "unset", "mail", "ageing").out == "queue mail: ageing 5m → 1m\n"


def test_the_rest_of_what_was_set_stays(store: Shop) -> None:
    store.run("queue", "set", "mail", "--max-running", "1", "--order", "lifo")
    store.run("queue", "set", "mail", "--lane-rate", "1/s")
    assert store.json("queue", "unset", "mail", "order")["overlay"] == {
        "max_running": 1, "lane_rate": "1/s", "lane_burst": 1,
    }  # fmt: skip


def test_one_page_tells_what_was_set_by_hand_and_what_was_lifted(store: Shop) -> None:
    store.run("queue", "set", "mail", "--no-limit", "breaker", "--max-running", "3")
    lines = [" ".join(line.split()) for line in store.run("queue", "show", "mail").out.splitlines()]
    assert {"max running 3", "breaker none", "set by hand max running, breaker", "rate 100/m"} <= set(lines)


MISTAKES = [
    ("set mail --rate 5", "expected --rate to be a number of starts over a time, such as '100/m'"),
    ("set mail --lane-rate x", "expected --lane-rate to be a number of starts over a time"),
    ("set mail --breaker 10", "expected --breaker to be failures, pause and probes, such as '10:5m:3'"),
    ("set mail --lane-breaker 0:5m", "expected the failures of --lane-breaker to be an integer from 1"),
    ("set mail --weight gold", "expected a weight to be a lane and a number, such as 'gold=4'"),
    ("set mail --max-running 0", "0 is not in the range"),
    ("set mail --burst 0", "0 is not in the range"),
    ("set mail --order best", "'best' is not one of 'fifo', 'lifo'"),
    ("set mail --ageing soon", "expected a duration like 90 (seconds), 30s, 5m, 1h or 2d, got: 'soon'"),
    ("set mail --no-limit order", "'order' is not one of 'rate'"),
    ("unset mail burst", "'burst' is not one of 'order', 'ageing', 'rate'"),
]
REFUSED = [
    ("set mail", "nothing to set: give a limit such as --rate 100/m"),
    ("set mail --rate 5/s --no-limit rate", "expected either --rate or --no-limit rate, got both"),
    ("set mail --lane-burst 5", "expected --lane-rate to go with --lane-burst: there is no rate yet"),
    ("set mail --ageing 0", "expected --ageing to be more than 0 seconds, got: 0.0"),
    ("set mail --ageing 5m --no-ageing", "expected either --ageing or --no-ageing, got both"),
    ("set mial --rate 5/s", "there is no queue 'mial' in this store; did you mean mail?"),
    ("unset mail", "expected fields to unset (order, ageing, rate, "),
    ("unset mail rate --all", "or --all, one of the two"),
    ("unset mial --all", "there is no queue 'mial' in this store; did you mean mail?"),
]


@pytest.mark.parametrize(
    ("words", "sentence", "code"), [(*one, 2) for one in MISTAKES] + [(*one, 1) for one in REFUSED]
)
def test_a_mistake_is_answered_with_one_sentence_and_changes_nothing(
    words: str, sentence: str, code: int, store: Shop, form: tuple[str, ...]
) -> None:
    before = policy(store)
    answer = store.run("queue", *words.split(), *form)
    assert (answer.code, answer.out) == (code, "")
    assert sentence in answer.err
    assert policy(store) == before
    assert len(store.json("queues")) == 2


def test_help_tells_how_values_are_written() -> None:
    shown = run("queue", "set", "--help").out
    for text in ("100/m", "10:5m:3", "LANE=N"):
        assert text in shown
