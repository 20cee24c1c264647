"""`holdfast why`: one answer for people, one for programs. What is told in which case: tests/unit/policy/test_why.py."""

from datetime import datetime

import pytest

from holdfast.model.queue import Breaker, Limits, QueuePolicy, Rate
from holdfast.policy.moments import SECOND
from holdfast.testing.contract.sample_jobs import failed, jobs, pushed, retry
from tests.cli.conftest import PretendedWorker, Shop
from tests.cli.shop import ESCAPES
from tests.cli.terminal import on_terminal
from tests.cli.test_terminal import STYLE, is_harmless
from tests.process.processes import Workers, until
from tests.process.tasks import told

KEYS = {"id", "task", "queue", "lane", "key", "state", "at", "starts", "reasons"}


def kinds(store: Shop, job_id: str) -> list[str]:
    return [reason["kind"] for reason in store.json("why", job_id)["reasons"]]


def test_json_tells_the_job_its_reasons_and_when_it_may_start(store: Shop, pretended: PretendedWorker) -> None:
    pretended.enlist(tasks=("shop.send",))
    job_id = pushed(pretended.store, "mail", lane="a", delay_us=3600 * SECOND, expires_us=2**52)
    answer = store.json("why", job_id)
    assert answer.keys() == KEYS
    assert (answer["id"], answer["queue"], answer["lane"], answer["state"]) == (job_id, "mail", "a", "scheduled")
    scheduled, expires = answer["reasons"]
    assert scheduled.keys() == {"kind", "sentence", "until", "remedy"}
    assert (scheduled["kind"], scheduled["until"], expires["kind"]) == ("scheduled", answer["starts"], "expires")
    away = datetime.fromisoformat(answer["starts"]) - datetime.fromisoformat(answer["at"])
    assert 3500 < away.total_seconds() < 3600


def test_people_see_the_same_with_the_remedies(store: Shop, pretended: PretendedWorker) -> None:
    job_id = pushed(pretended.store, "mail", lane="a", delay_us=3600 * SECOND)
    store.run("queue", "pause", "mail", "--lane", "a")
    store.run("queue", "pause", "mail")
    out = store.run("why", job_id).out
    first, _, *lines = out.splitlines()
    assert first == f"job {job_id} of shop.send, in queue mail, lane a, is scheduled"
    assert [line.split("  ")[0] for line in lines[2:] if not line.startswith(" ")] == [
        "scheduled", "queue paused", "lane paused", "no worker",
    ]  # fmt: skip
    for text in (
        "it is due at 20",
        "in 59 min",
        "→ holdfast queue resume mail --lane a",
        "→ holdfast worker MODULE:APP",
    ):
        assert text in out


def test_a_job_that_may_start_is_told_when(store: Shop, pretended: PretendedWorker) -> None:
    pretended.enlist(tasks=("shop.send",))
    job_id = pushed(pretended.store, "mail")
    assert store.run("why", job_id).out.startswith(
        f"job {job_id} of shop.send, in queue mail, is ready, and may start now\n"
    )
    later = pushed(pretended.store, "mail", delay_us=3600 * SECOND)
    assert "is scheduled, and may start in 59 min" in store.run("why", later).out


def test_limits_of_the_queue_and_the_lane_are_told_with_their_ends(store: Shop, pretended: PretendedWorker) -> None:
    policy = QueuePolicy(limits=Limits(Rate(3600 * SECOND)), lane_limits=Limits(Rate(7200 * SECOND), 1))
    pretended.store.queues.set_policy("mail", policy)
    pretended.store.push(jobs(2, "mail", lane="a"))
    assert len(pretended.claim(pretended.enlist(tasks=("shop.send",)))) == 1
    answer = store.json("why", pushed(pretended.store, "mail", lane="a"))
    assert [reason["kind"] for reason in answer["reasons"]] == ["queue_limited", "lane_full", "queued"]
    assert "queue mail is limited to 1/h: the next start is at" in answer["reasons"][0]["sentence"]
    assert answer["reasons"][1]["sentence"] == "lane a of queue mail is full: 1 of 1 run"
    assert (answer["starts"], answer["reasons"][0]["until"] is not None) == (None, True)


def test_a_broken_lane_is_told_with_the_command_that_tries_again(store: Shop, pretended: PretendedWorker) -> None:
    pretended.store.queues.set_policy("mail", QueuePolicy(lane_limits=Limits(breaker=Breaker(1, 3600 * SECOND))))
    pretended.store.push(jobs(1, "mail", lane="a"))
    pretended.claim(pretended.enlist(tasks=("shop.send",)))
    (claim,) = pretended.claims.values()
    pretended.store.settle([failed(claim)])
    job_id = pushed(pretended.store, "mail", lane="a")
    answer = store.json("why", job_id)
    (broken,) = answer["reasons"]
    assert (broken["kind"], broken["until"]) == ("lane_broken", answer["starts"])
    assert "is broken: after a failure nothing starts until 2" in broken["sentence"]
    assert broken["remedy"] == "holdfast queue resume mail --lane a  tries again at once"
    assert store.run("queue", "resume", "mail", "--lane", "a").code == 0
    assert kinds(store, job_id) == ["next"]


def test_a_retry_is_told_with_the_error(store: Shop, pretended: PretendedWorker) -> None:
    job_id = pushed(pretended.store, "mail")
    pretended.claim(pretended.enlist(tasks=("shop.send",)))
    pretended.store.settle([retry(pretended.claims[job_id], 60, "OSError: away")])
    (reason,) = store.json("why", job_id)["reasons"]
    assert (reason["kind"], "after failure 1: OSError: away" in reason["sentence"]) == ("retrying", True)


def test_a_job_has_ended_or_is_unknown_to_the_workers(store: Shop, pretended: PretendedWorker) -> None:
    assert kinds(store, store.done("shop.fail")) == ["failed"]
    assert kinds(store, store.done("shop.add", 1, 2)) == ["succeeded"]
    pretended.enlist(tasks=("other",))
    assert kinds(store, store.enqueue("shop.add", 1, 2)) == ["unknown_task"]


def test_a_real_worker_runs_it(workers: Workers, store: Shop) -> None:
    workers.start("--lease", "1")
    job = told.enqueue(4, str(workers.folder / "gate"))
    until(lambda: kinds(store, job.id) == ["running"], "the run")
    assert "it is running: run 1 since " in store.run("why", job.id).out


def test_a_part_of_an_id_is_enough(store: Shop) -> None:
    job_id = store.enqueue("shop.add", 1, 2)
    assert store.json("why", job_id[-12:])["id"] == job_id


def test_an_unknown_id_is_answered_with_what_may_have_become_of_it(store: Shop, form: tuple[str, ...]) -> None:
    answer = store.run("why", "no-such-job", *form)
    assert (answer.code, answer.out) == (1, "")
    for text in ("never enqueued here", "past its retention", "merged", "`holdfast jobs` lists"):
        assert text in answer.err


@pytest.mark.parametrize("lane", [ESCAPES, "it's", ""])
def test_names_of_lanes_do_not_steer_the_terminal(
    lane: str, store: Shop, pretended: PretendedWorker, form: tuple[str, ...]
) -> None:
    job_id = pushed(pretended.store, "mail", lane=lane or None)
    assert store.run("queue", "pause", "mail", "--lane", lane).code == 0
    for words in (["why", job_id], ["queue", "lanes", "mail"], ["show", job_id]):
        answer = store.run(*words, *form)
        assert (answer.code, is_harmless(answer.out)) == (0, True)
    assert "lane_paused" in kinds(store, job_id)


def test_it_changes_nothing(store: Shop, pretended: PretendedWorker) -> None:
    job_id = pushed(pretended.store, "mail", lane="a")
    before = (store.json("show", job_id), store.json("queue", "lanes", "mail"))
    kinds(store, job_id)
    assert (store.json("show", job_id), store.json("queue", "lanes", "mail")) == before


def test_a_narrow_terminal_breaks_sentences_and_cuts_no_word(store: Shop, pretended: PretendedWorker) -> None:
    job_id = pushed(pretended.store, "mail", lane="a", delay_us=3600 * SECOND)
    store.run("queue", "pause", "mail")
    _, seen = on_terminal("--url", store.url, "why", job_id, columns=60)
    lines = STYLE.sub("", seen).splitlines()[2:]
    assert all(len(line) <= 60 for line in lines)
    told = " ".join(" ".join(lines).split())
    for text in ("queue mail is paused", "holdfast queue resume mail", "queue paused", "in 59 min"):
        assert text in told
    assert "…" not in told
