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
