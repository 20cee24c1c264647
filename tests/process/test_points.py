"""kill -9 at named points: whatever line a process dies on, no job is lost and none ends twice (I1, I6, I13)."""

import pytest

from tests.process.processes import Workers
from tests.process.tasks import app, note

JOBS = 30


@pytest.mark.parametrize("point", ["after-claim", "before-settle", "in-settle", "after-settle"])
def test_a_supervisor_that_dies_there_loses_nothing(workers: Workers, point: str) -> None:
    jobs = app.enqueue_many(note.s(number) for number in range(JOBS))
    process = workers.start("--burst", faults=[point])
    assert process.wait(30) == -9, "the fault was reached"
    assert workers.burst().returncode == 0
    assert [job.result(timeout=0) for job in jobs] == list(range(JOBS))
    assert [[run.outcome for run in job.history()].count("done") for job in jobs] == [1] * JOBS
    assert set(workers.lines("note")) == {f"note {number}" for number in range(JOBS)}


@pytest.mark.parametrize("point", ["before-run", "after-run"])
def test_a_child_that_dies_there_loses_nothing(workers: Workers, point: str) -> None:
    workers.environment["FAULT"] = point
    jobs = app.enqueue_many(note.s(number) for number in range(JOBS))
    assert workers.burst().returncode == 0
    assert (workers.folder / "died").exists(), "the fault was reached"
    assert [job.result(timeout=0) for job in jobs] == list(range(JOBS))
    charged = [job for job in jobs if job.record().crashes]
    assert len(charged) == (1 if point == "after-run" else 0), "what was not begun is not charged"


def test_a_worker_whose_store_thread_fails_ends_loudly_and_its_jobs_come_back(workers: Workers) -> None:
    """I32, I1: it must not go on without the thread that settles, nor end as if all were well."""
    job = note.enqueue(1)
    failing = workers.start(faults=["bug"])
    assert failing.wait(20) == 1
    assert "ZeroDivisionError: a bug of ours" in workers.output
    workers.start("--burst").wait(20)
    assert job.result(timeout=0) == 1
    assert job.record().crashes == 1
