"""What other queues got wrong with workers, as tests: the numbers are those of the list of regression traps."""

import os
import signal
import time

from tests.process.processes import Workers, children_of, until
from tests.process.tasks import anote, app, fail, note, work


def test_a_slot_is_given_back_when_a_task_fails(workers: Workers) -> None:
    """Trap 18: with one slot, two hundred failures would block a worker that leaks them."""
    failing = app.enqueue_many(fail.s() for _ in range(200))
    after = [note.enqueue(1), anote.enqueue(2)]
    assert workers.burst("--threads", "1", "--coroutines", "1", "--log-level", "error").returncode == 0
    assert {job.state() for job in failing} == {"failed"}
    assert [job.result(timeout=0) for job in after] == [1, 2]


def test_a_killed_idle_child_wedges_nothing(workers: Workers) -> None:
    """Trap 29: the next job runs, and the worker stops in order."""
    process = workers.start("-p", "2")
    assert note.enqueue(1).result(timeout=20) == 1
    until(lambda: len(children_of(process.pid)) == 2, "both are there")
    for child in children_of(process.pid):
        os.kill(child, signal.SIGKILL)
    assert note.enqueue(2).result(timeout=20) == 2
    stopped = time.monotonic()
    process.terminate()
    assert process.wait(20) == 0
    assert time.monotonic() - stopped < 5


def test_jobs_that_outlast_the_lease_run_once(workers: Workers) -> None:
    """Trap 30: four jobs, one process, each longer than the lease: four runs."""
    jobs = app.enqueue_many(work.s(number, 1500) for number in range(4))
    process = workers.start("--lease", "1")
    assert [job.result(timeout=60) for job in jobs] == [0, 1, 2, 3]
    assert len(workers.lines("work")) == 4
    assert [job.record().crashes for job in jobs] == [0] * 4
    process.terminate()
    assert process.wait(20) == 0


def test_a_long_job_holds_up_no_short_one_while_another_child_is_free(workers: Workers) -> None:
    """No head-of-line wait: short jobs are not put behind a long one."""
    long = work.enqueue(0, 4000)
    workers.start("-p", "2")
    until(lambda: long.state() == "running", "the long one runs")
    began = time.monotonic()
    short = app.enqueue_many(note.s(number) for number in range(50))
    assert [job.result(timeout=20) for job in short] == list(range(50))
    assert time.monotonic() - began < 2
    assert long.state() == "running"
