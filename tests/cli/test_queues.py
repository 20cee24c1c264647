"""`holdfast queues` and `holdfast queue`: see, pause, resume, purge."""

import pytest

from holdfast.model.queue import Breaker, Limits, QueuePolicy, Rate
from holdfast.policy.moments import SECOND
from holdfast.testing.contract.sample_jobs import failed, jobs, record
from tests.cli.conftest import PretendedWorker, Shop

KEYS = {
    "name", "is_paused", "order", "size", "counts", "oldest_ready", "next_due", "standing", "until", "policy", "overlay",
    "refused", "drains",
}  # fmt: skip


def test_json_tells_every_queue_with_its_counts(store: Shop) -> None:
    store.done("shop.fail")
    store.enqueue("shop.add", 1, 2)
    store.enqueue("shop.send", "ada", delay=3600)
    default, mail = store.json("queues")
    assert default.keys() == mail.keys() == KEYS
    assert (default["name"], default["counts"], default["size"]) == ("default", {"failed": 1, "ready": 1}, 1)
    assert (mail["name"], mail["counts"], mail["size"]) == ("mail", {"scheduled": 1}, 1)
    assert mail["next_due"] is not None


def test_people_see_a_line_per_queue(store: Shop) -> None:
    store.enqueue("shop.add", 1, 2)
    store.run("queue", "pause", "mail")
    lines = store.run("queues").out.splitlines()
    assert lines[2].split()[:4] == ["default", "open", "fifo", "1"]
    assert lines[3].split()[:4] == ["mail", "paused", "fifo", "–"]


def test_one_queue_is_told_as_in_the_list(store: Shop) -> None:
    store.enqueue("shop.add", 1, 2)
    assert store.json("queue", "show", "default") == store.json("queues")[0]
    assert "yet to start" in store.run("queue", "show", "default").out


def test_a_paused_queue_hands_out_nothing_until_it_is_resumed(store: Shop) -> None:
    assert store.run("queue", "pause", "mail").out == "queue mail is paused\n"
    job_id = store.done("shop.send", "ada")
    assert store.state(job_id) == "ready"
    assert store.run("queue", "resume", "mail").out == "queue mail is resumed\n"
    store.drain()
    assert store.state(job_id) == "succeeded"


def test_json_tells_whether_anything_changed(store: Shop) -> None:
    about = {"queue": "mail", "lane": None}
    assert store.json("queue", "pause", "mail") == about | {"is_paused": True, "changed": True}
    assert store.json("queue", "pause", "mail") == about | {"is_paused": True, "changed": False}
    assert store.json("queue", "resume", "mail") == about | {"is_paused": False, "changed": True}
    assert store.run("queue", "resume", "mail").out == "queue mail is not paused or broken; nothing changed\n"
    store.run("queue", "pause", "mail")
    assert store.run("queue", "pause", "mail").out == "queue mail was paused already; nothing changed\n"


def test_purging_deletes_what_has_not_started_and_nothing_else(store: Shop) -> None:
    over = store.done("shop.send", "ada")
    store.enqueue("shop.send", "bob")
    store.enqueue("shop.send", "eve", delay=3600)
    other = store.enqueue("shop.add", 1, 2)
    assert store.json("queue", "purge", "mail", "--yes") == {"queue": "mail", "purged": 2}
    assert {job["id"] for job in store.json("jobs")} == {over, other}


def test_purging_does_nothing_where_nobody_can_be_asked(store: Shop, form: tuple[str, ...]) -> None:
    job_id = store.enqueue("shop.send", "ada")
    answer = store.run("queue", "purge", "mail", *form)
    assert (answer.code, answer.out) == (1, "")
    assert "Delete 1 job of queue mail for good? Nobody is there to answer" in answer.err
    assert "add --yes" in answer.err
    assert store.state(job_id) == "ready"


def test_purging_an_empty_queue_asks_nothing(store: Shop) -> None:
    assert store.run("queue", "purge", "mail").out == "deleted 0 jobs of queue mail\n"


@pytest.mark.parametrize("verb", ["show", "lanes", "pause", "resume", "purge"])
def test_a_queue_that_is_not_there_is_answered_with_the_nearest(verb: str, store: Shop, form: tuple[str, ...]) -> None:
    answer = store.run("queue", verb, "mial", *form)
    assert (answer.code, answer.out) == (1, "")
    assert answer.err == "error: there is no queue 'mial' in this store; did you mean mail?\n"
    assert len(store.json("queues")) == 2


def test_a_queue_unlike_any_is_answered_with_all(store: Shop) -> None:
    assert "there are: default, mail" in store.run("queue", "show", "xyz").err


class TestHeldBack:
    """What limits a queue, and how it stands because of it."""

    def test_json_tells_limits_and_standing(self, store: Shop, pretended: PretendedWorker) -> None:
        limits = Limits(Rate(600_000, 20), 8, Breaker(10, 300 * SECOND, 3))
        policy = QueuePolicy("lifo", limits, Limits(Rate(SECOND)), {"gold": 4})
        pretended.store.queues.set_policy("mail", policy)
        told = store.json("queue", "show", "mail")
        assert told["policy"] == {
            "order": "lifo", "ageing": None, "rate": "100/m", "burst": 20, "max_running": 8, "breaker": "10:5m:3",
            "lane_rate": "1/s", "lane_burst": 1, "lane_max_running": None, "lane_breaker": None, "weights": {"gold": 4},
            "max_size": None, "on_full": "reject",
        }  # fmt: skip
        assert (told["standing"], told["until"], told["overlay"]) == ("open", None, {})

    def test_people_see_how_long_it_still_lasts(self, store: Shop, pretended: PretendedWorker) -> None:
        pretended.store.queues.set_policy("mail", QueuePolicy(limits=Limits(Rate(3600 * SECOND, 1), 8)))
        pretended.store.push(jobs(2, "mail"))
        pretended.claim(pretended.enlist())
        told = store.json("queue", "show", "mail")
        assert (told["standing"], told["until"] is not None) == ("limited", True)
        (line,) = [line for line in store.run("queues").out.splitlines() if line.startswith("mail")]
        assert "limited (59 min" in line
        assert line.strip().endswith("1/h, 8 at once")
        (top,) = [line for line in store.run("top", "--once", "--every", "0.1").out.splitlines() if "limited" in line]
        assert top.startswith("mail      limited (59 min")
        shown = store.run("queue", "show", "mail").out
        assert "limited (59 min" in shown
        assert "rate                 1/h" in shown

    def test_a_pause_is_shown_before_a_limit_and_both_on_one_page(
        self, store: Shop, pretended: PretendedWorker
    ) -> None:
        pretended.store.queues.set_policy("mail", QueuePolicy(limits=Limits(Rate(0))))
        store.run("queue", "pause", "mail")
        assert "mail      paused" in store.run("queues").out
        lines = [line.split() for line in store.run("queue", "show", "mail").out.splitlines()]
        assert ["is", "paused"] in lines
        assert ["besides", "stopped"] in lines


class TestLanes:
    @pytest.fixture(autouse=True)
    def lanes(self, store: Shop, pretended: PretendedWorker) -> None:
        pretended.store.push([*jobs(3, "mail", lane="a"), *jobs(2, "mail", lane="b"), *jobs(1, "mail")])
        pretended.store.queues.pause("mail", "b")

    def test_json_tells_each(self, store: Shop) -> None:
        assert store.json("queue", "lanes", "mail") == [
            {"name": "", "ready": 1, "running": 0, "standing": "open", "until": None},
            {"name": "a", "ready": 3, "running": 0, "standing": "open", "until": None},
            {"name": "b", "ready": 2, "running": 0, "standing": "paused", "until": None},
        ]

    def test_only_those_that_are_held_back_are_told_if_that_is_asked(self, store: Shop) -> None:
        assert [lane["name"] for lane in store.json("queue", "lanes", "mail", "--held")] == ["b"]
        store.run("queue", "resume", "mail", "--lane", "b")
        assert store.run("queue", "lanes", "mail", "--held").out == "no lane of queue mail is held back\n"

    def test_people_see_a_line_for_each(self, store: Shop) -> None:
        lines = store.run("queue", "lanes", "mail").out.splitlines()
        assert [line.split() for line in lines[2:]] == [
            ["–", "open", "1", "–"], ["a", "open", "3", "–"], ["b", "paused", "2", "–"],
        ]  # fmt: skip

    def test_one_page_counts_them(self, store: Shop) -> None:
        assert "3 lanes, 1 held back" in store.run("queue", "show", "mail").out
        assert "lanes" not in store.run("queue", "show", "default").out

    def test_a_queue_without_jobs_has_none(self, store: Shop) -> None:
        assert store.run("queue", "lanes", "default").out == "no lane of queue default holds a ready or running job\n"

    def test_a_lane_is_paused_and_resumed_by_itself(self, store: Shop, pretended: PretendedWorker) -> None:
        assert store.run("queue", "pause", "mail", "--lane", "a").out == "lane a of queue mail is paused\n"
        again = store.run("queue", "pause", "mail", "--lane", "a").out
        assert again == "lane a of queue mail was paused already; nothing changed\n"
        assert len(pretended.claim(pretended.enlist())) == 1
        assert store.json("queue", "resume", "mail", "--lane", "a") == {
            "queue": "mail", "lane": "a", "is_paused": False, "changed": True,
        }  # fmt: skip
        assert len(pretended.claim(pretended.enlist("w2"))) == 3

    def test_a_lane_that_never_was_is_not_resumed(self, store: Shop) -> None:
        answer = store.run("queue", "resume", "mail", "--lane", "z")
        assert (answer.code, answer.out) == (0, "lane z of queue mail is not paused or broken; nothing changed\n")

    def test_resuming_a_broken_lane_closes_its_breaker(self, store: Shop, pretended: PretendedWorker) -> None:
        pretended.store.queues.set_policy("mail", QueuePolicy(lane_limits=Limits(breaker=Breaker(1, 3600 * SECOND))))
        worker = pretended.enlist()
        (claim,) = pretended.store.claim(worker, ["mail"], 1)
        pretended.store.settle([failed(claim)])
        name = record(pretended.store, claim.id).lane or ""
        (held,) = [lane for lane in store.json("queue", "lanes", "mail", "--held") if lane["name"] == name]
        assert (held["standing"], held["until"] is not None) == ("broken", True)
        assert "broken (59 min" in store.run("queue", "lanes", "mail").out
        assert store.json("queue", "resume", "mail", "--lane", held["name"])["changed"]
        assert [lane["name"] for lane in store.json("queue", "lanes", "mail", "--held")] == ["b"]
