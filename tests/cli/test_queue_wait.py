"""`holdfast queue wait`: until a queue or a lane is drained. And what is told of drains and of lanes."""

from holdfast.model.queue import QueuePolicy
from holdfast.testing.contract.background_call import Call
from holdfast.testing.contract.sample_jobs import jobs
from tests.cli.conftest import PretendedWorker, Shop, run_apart


def test_an_empty_queue_is_drained_at_once(store: Shop) -> None:
    store.done("shop.add", 1, 2)
    answer = store.run("queue", "wait", "default")
    assert (answer.code, answer.out) == (0, "queue default is drained\n")
    assert store.json("queue", "wait", "default") == {"queue": "default", "lane": None, "is_drained": True}


def test_the_time_is_over_first(store: Shop) -> None:
    store.enqueue("shop.add", 1, 2)
    answer = store.run("queue", "wait", "default", "--timeout", "0.1")
    assert answer.code == 124
    assert "queue default is not drained after 100 ms" in answer.err
    told = store.run("queue", "wait", "default", "--timeout", "0", "--json")
    assert (told.code, told.json["is_drained"]) == (124, False)


def test_it_ends_when_the_last_job_has(store: Shop) -> None:
    job_id = store.enqueue("shop.add", 1, 2)
    waiting = Call(lambda: run_apart("--url", store.url, "queue", "wait", "default", "--timeout", "30"))
    assert not waiting.is_back(1)
    with store.app:
        store.app.job(job_id).cancel()
    assert waiting.result().code == 0


def test_one_lane_is_waited_for(store: Shop) -> None:
    store.enqueue("shop.add", 1, 2, lane="a")
    assert store.run("queue", "wait", "default", "--lane", "b").out == "lane b of queue default is drained\n"
    assert store.run("queue", "wait", "default", "--lane", "").code == 0
    assert store.run("queue", "wait", "default", "--lane", "a", "--timeout", "0").code == 124


def test_a_queue_that_is_not_there_is_refused(store: Shop) -> None:
    store.enqueue("shop.add", 1, 2)
    answer = store.run("queue", "wait", "defalt")
    assert answer.code == 1
    assert "did you mean default?" in answer.err


def test_jobs_are_listed_by_lane(store: Shop) -> None:
    mine, bare = store.enqueue("shop.add", 1, 2, lane="a"), store.enqueue("shop.add", 1, 2)
    assert [job["id"] for job in store.json("jobs", "--lane", "a")] == [mine]
    assert [job["id"] for job in store.json("jobs", "--lane", "")] == [bare]
    assert store.json("jobs", "--lane", "b") == []


def test_how_often_a_queue_has_drained_is_told_if_somebody_wants_to_know(
    pretended: PretendedWorker, store: Shop
) -> None:
    pretended.store.queues.set_policy("crawl", QueuePolicy(tells_drained=True))
    pretended.store.queues.set_policy("mail", QueuePolicy())
    worker = pretended.enlist()
    for _ in range(2):
        pretended.store.push(jobs(1, "crawl"))
        for job_id in pretended.claim(worker):
            pretended.finish(job_id)
        pretended.store.queues.find_drained(["crawl"])
    assert store.json("queue", "show", "crawl")["drains"] == 2
    assert "2 times" in store.run("queue", "show", "crawl").out
    assert "drained" not in store.run("queue", "show", "mail").out
