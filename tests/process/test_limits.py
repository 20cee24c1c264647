"""Limits hold across real worker processes, and shares follow weights."""

import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from holdfast.errors import JobFailed
from tests.process import one_kind
from tests.process.kill_loop import durable_server
from tests.process.processes import Workers, until
from tests.process.tasks import app, brief, fail, slow_down, stamp, stamp_on_loop


def starts(workers: Workers) -> list[float]:
    """Give the moments at which jobs were started, as their tasks saw it, in order."""
    return sorted(float(line.split(" ")[1]) for line in workers.lines("stamp"))


@pytest.mark.parametrize("store", ["sqlite", "postgres", "valkey", "cluster"])
def test_a_rate_holds_for_two_workers_together_and_is_used_up(store: str, tmp_path: Path) -> None:
    """I22: 50 a second with a burst of 5, over ten seconds. On a loop nothing but the rate holds a job back."""
    with durable_server(store) as (url, _):
        workers = Workers(tmp_path, url)
        try:
            with app.override(url=workers.url):
                app.queues["limited"].set(rate="50/s", burst=5)
                app.enqueue_many([stamp_on_loop.using(queue="limited").s() for _ in range(700)])
                for _ in range(2):
                    workers.start()
                until(lambda: workers.lines("stamp"), "the first start")
                until(lambda: starts(workers)[-1] - starts(workers)[0] > 10.2, "ten seconds of work")
        finally:
            workers.end()
    seen = starts(workers)
    within = [moment for moment in seen if moment - seen[0] <= 10]
    # A machine that stands still for longer than the burst lasts (100 ms) loses what could have started meanwhile.
    lost_s = sum(max(0.0, later - moment - 0.1) for moment, later in pairwise(within))
    assert 505 * 0.98 - 50 * lost_s <= len(within) <= 505 * 1.02
    most = max(sum(1 for moment in seen if begin <= moment < begin + 1) for begin in seen)
    assert most <= 55 + 5, "a start may be late by some milliseconds, and so fall into the window of later ones"


def test_no_more_jobs_run_than_may_whatever_the_workers_could(workers: Workers) -> None:
    """I22"""
    app.queues["narrow"].set(max_running=2)
    jobs = app.enqueue_many([brief.using(queue="narrow").s(20) for _ in range(40)])
    for _ in range(2):
        workers.start("-p", "2")
    assert app.wait_drained("narrow", timeout=30)
    assert {job.state() for job in jobs} == {"succeeded"}
    events = sorted((float(line.split(" ")[1]), line.split(" ")[2]) for line in workers.lines("run"))
    running = most = 0
    for _, what in events:
        running += 1 if what == "start" else -1
        most = max(most, running)
    assert most == 2


def test_jobs_of_a_limited_queue_are_not_held_ahead(workers: Workers) -> None:
    """A worker takes from it only what it can start at once; from another it takes what is quick ahead."""
    app.queues["limited"].set(max_running=1000)
    app.enqueue_many([stamp.using(queue="limited").s() for _ in range(500)])
    app.enqueue_many([stamp.using(queue="plain").s() for _ in range(2000)])
    workers.start()
    most = Counter[str]()
    deadline = time.monotonic() + 60
    while not app.wait_drained(timeout=0.001):
        assert time.monotonic() < deadline
        for queue in ("limited", "plain"):
            most[queue] = max(most[queue], app.queues[queue].counts().get("running", 0))
    assert most["limited"] <= 2, "one runs, and one has just ended and is about to be settled"
    assert most["plain"] > 10


def test_a_busy_child_and_a_limited_queue_full_of_work_do_not_make_the_supervisor_spin(workers: Workers) -> None:
    app.queues["limited"].set(max_running=1000)
    app.enqueue_many([stamp.using(queue="limited").s() for _ in range(200)])
    workers.start()
    assert app.wait_drained("limited", timeout=30)
    process = workers.started[0]
    app.enqueue_many([brief.using(queue="limited").s(3000), *(stamp.using(queue="limited").s() for _ in range(50))])
    until(lambda: workers.lines("run"), "the long job has begun")
    before = _cpu_s(process.pid)
    time.sleep(1.5)  # a measurement, not a wait
    assert _cpu_s(process.pid) - before < 0.4


def test_queues_share_a_worker_by_their_weights(workers: Workers) -> None:
    weights = {"critical": 4, "default": 2, "bulk": 1}
    with one_kind.app.override(url=workers.url):
        for queue in weights:
            one_kind.app.enqueue_many([one_kind.nap.using(queue=queue).s(5) for _ in range(400)])
        workers.start("--queues", "critical:4,default:2,bulk:1", target="tests.process.one_kind:app")
        until(lambda: one_kind.app.queues["critical"].counts().get("succeeded", 0) >= 280, "much of the work", 60)
        done = {queue: one_kind.app.queues[queue].counts().get("succeeded", 0) for queue in weights}
    for queue, weight in weights.items():
        assert done[queue] / sum(done.values()) == pytest.approx(weight / 7, rel=0.15)


def test_a_strict_order_is_kept(workers: Workers) -> None:
    with one_kind.app.override(url=workers.url):
        for queue in ("a", "b"):
            one_kind.app.enqueue_many([one_kind.nap.using(queue=queue).s(5) for _ in range(50)])
        workers.start("--queues", "b,a", "--strict", target="tests.process.one_kind:app")
        until(lambda: one_kind.app.queues["a"].counts().get("succeeded", 0) >= 1, "the second queue's turn")
        assert one_kind.app.queues["b"].counts() == {"succeeded": 50}


def test_a_task_that_is_told_to_slow_down_slows_its_lane_on_every_worker(workers: Workers) -> None:
    for _ in range(2):
        workers.start()
    until(lambda: len(app.store.inspector.workers()) == 2, "two workers")
    first = slow_down.using(lane="a").enqueue(1.0)
    until(lambda: first.state() == "scheduled", "the first run")
    others = app.enqueue_many([stamp.using(lane="a").s() for _ in range(10)])
    beside = stamp.using(lane="b").enqueue()
    assert beside.result(timeout=5) is None
    assert all(job.state() == "ready" for job in others)
    until(lambda: all(job.state() == "succeeded" for job in others), "the lane goes on by itself")
    told = float(workers.lines("slowed")[0].split(" ")[1])
    assert sorted(moment - told >= 0.99 for moment in starts(workers)) == [False] + [True] * 10


def test_a_breaker_stops_a_lane_that_fails_and_no_other(workers: Workers) -> None:
    from holdfast import Breaker

    app.queues["default"].set(lane_breaker=Breaker(failures=3, pause=60, probes=1))
    bad = app.enqueue_many([fail.using(lane="bad").s() for _ in range(10)])
    good = app.enqueue_many([stamp.using(lane="good").s() for _ in range(10)])
    workers.start()
    until(lambda: all(job.state() == "succeeded" for job in good), "the good lane")
    until(lambda: [lane.standing for lane in app.queues["default"].lanes()] == ["broken"], "the breaker")
    with pytest.raises(JobFailed):
        bad[0].result(timeout=5)
    assert Counter(job.state() for job in bad) == {"failed": 3, "ready": 7}


def _cpu_s(pid: int) -> float:
    from pathlib import Path

    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100
