"""A real supervisor with real children: runs, stops, dies, comes back."""

import os
import signal
import time

import pytest

from holdfast.errors import JobCancelled, JobFailed
from tests.process.processes import Workers, children_of, is_running, until
from tests.process.tasks import (
    anote,
    app,
    die,
    fail,
    flaky,
    hold,
    large,
    leave,
    measure,
    note,
    overstay,
    parent,
    told,
    work,
)


def test_a_burst_runs_sync_and_async_tasks_and_exits_when_nothing_is_due(workers: Workers) -> None:
    jobs = [note.enqueue(1), anote.enqueue(2), flaky.enqueue(3), note.using(delay=3600).enqueue(4)]
    done = workers.burst("-p", "2")
    assert done.returncode == 0, done.stderr
    assert [job.result(timeout=0) for job in jobs[:3]] == [1, 2, "third time lucky"]
    assert jobs[3].state() == "scheduled"
    assert workers.lines("flaky") == ["flaky 3 1", "flaky 3 2", "flaky 3 3"]


def test_the_banner_names_store_tier_tasks_queues_and_children(workers: Workers) -> None:
    note.enqueue(1)
    done = workers.burst("-p", "2")
    shown = done.stdout + done.stderr
    for expected in (
        str(workers.folder / "jobs.db"),
        "durable",
        f"{len(app.tasks)}: tests.process.tasks.anote",
        "all",
        "2 processes",
    ):
        assert expected in shown.replace("\n", ""), expected


def test_a_traceback_in_a_task_shows_in_the_terminal_and_in_the_result(workers: Workers) -> None:
    job = fail.enqueue()
    done = workers.burst()
    assert "ValueError: it went wrong here" in done.stderr + done.stdout
    with pytest.raises(JobFailed, match="it went wrong here"):
        job.result(timeout=0)


def test_an_app_that_cannot_be_imported_ends_the_worker_with_the_reason(workers: Workers) -> None:
    """D4: it claims nothing."""
    done = workers.burst(target="tests.process.nowhere:app")
    assert done.returncode == 1
    assert "nowhere" in done.stderr


def test_what_a_task_enqueues_is_stored_when_the_call_returns(workers: Workers) -> None:
    job = parent.enqueue(5)
    assert workers.burst().returncode == 0
    assert [app.job(child).result(timeout=0) for child in job.result(timeout=0)] == [0, 1, 2, 3, 4]


def test_payloads_and_results_larger_than_a_packet_arrive_whole(workers: Workers) -> None:
    body = os.urandom(900_000)
    jobs = [measure.enqueue(body), large.enqueue(900_000)]
    assert workers.burst().returncode == 0
    assert jobs[0].result(timeout=0) == 900_000
    assert jobs[1].result(timeout=0) == b"x" * 900_000


def test_a_fractional_timeout_is_honoured(workers: Workers) -> None:
    """Trap 36."""
    job = overstay.enqueue()
    assert workers.burst().returncode == 0
    with pytest.raises(JobFailed, match=r"timeout|overran|TaskTimeout"):
        job.result(timeout=0)
    assert job.record().reason == "timeout"


def test_progress_shows_while_the_job_runs(workers: Workers) -> None:
    gate = workers.folder / "gate"
    job = told.enqueue(4, str(gate))
    workers.start()
    until(lambda: (job.record().progress, job.record().progress_note) == (1.0, "step 4"), "progress 1.0")
    assert job.state() == "running"
    gate.touch()
    job.result(timeout=20)


def test_a_running_job_can_be_cancelled(workers: Workers) -> None:
    job = hold.enqueue(str(workers.folder / "never"))
    workers.start()
    until(lambda: workers.lines("holding"), "the job runs")
    job.cancel()
    with pytest.raises(JobCancelled):
        job.result(timeout=10)


def test_a_job_that_kills_its_process_fails_at_its_budget_and_harms_no_other(workers: Workers) -> None:
    """I14, I38, trap 28: counted, recorded, bounded."""
    poison = die.enqueue()
    others = app.enqueue_many(note.s(number) for number in range(50))
    assert workers.burst("-p", "2").returncode == 0
    assert len(workers.lines("dying")) == 3
    with pytest.raises(JobFailed, match="SIGKILL"):
        poison.result(timeout=0)
    assert poison.record().reason == "crashed"
    assert [run.outcome for run in poison.history()] == ["crashed"] * 3
    assert [job.result(timeout=0) for job in others] == list(range(50))
    assert sorted(workers.lines("note")) == sorted(f"note {number}" for number in range(50))


def test_leaving_with_exit_code_zero_is_a_crash_not_a_success(workers: Workers) -> None:
    """I17."""
    job = leave.enqueue()
    assert workers.burst().returncode == 0
    assert job.record().reason == "crashed"
    assert len(workers.lines("leaving")) == 2


def test_a_stopped_worker_finishes_what_runs_and_claims_nothing_more(workers: Workers) -> None:
    """I18."""
    gate = workers.folder / "gate"
    running = hold.enqueue(str(gate))
    process = workers.start()
    until(lambda: workers.lines("holding"), "the job runs")
    process.send_signal(signal.SIGTERM)
    later = note.enqueue(1)
    gate.touch()
    assert process.wait(20) == 0
    assert running.result(timeout=0) == "let go"
    assert later.state() == "ready"


def test_at_the_end_of_the_grace_a_running_job_is_handed_back_uncharged(workers: Workers) -> None:
    """I18."""
    job = hold.enqueue(str(workers.folder / "never"))
    process = workers.start("--grace", "0.2")
    until(lambda: workers.lines("holding"), "the job runs")
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 3
    record = job.record()
    assert (record.state, record.failures, record.crashes) == ("ready", 0, 0)


def test_children_do_not_outlive_a_killed_supervisor(workers: Workers) -> None:
    """I37."""
    hold.enqueue(str(workers.folder / "never"))
    process = workers.start("-p", "2")
    until(lambda: workers.lines("holding"), "the job runs")
    until(lambda: len(children_of(process.pid)) == 2, "two children")
    children = children_of(process.pid)
    process.kill()
    process.wait()
    until(lambda: not any(is_running(child) for child in children), "children gone", 2.0)


def test_a_killed_child_costs_its_job_one_crash_and_less_than_a_second(workers: Workers) -> None:
    """I13."""
    gate = workers.folder / "gate"
    job = hold.enqueue(str(gate))
    process = workers.start()
    until(lambda: workers.lines("holding"), "the job runs")
    (child,) = children_of(process.pid)
    killed = time.monotonic()
    os.kill(child, signal.SIGKILL)
    until(lambda: len(workers.lines("holding")) == 2, "the job runs again")
    assert time.monotonic() - killed < 2.0  # the next child's start included
    gate.touch()
    assert job.result(timeout=20) == "let go"
    assert [run.outcome for run in job.history()] == ["crashed", "done"]


def test_no_job_is_lost_when_the_whole_worker_is_killed_and_started_again(workers: Workers) -> None:
    """I1, I7, I13: 2,000 jobs, three kills of the supervisor; repeats are only what was in flight."""
    jobs = app.enqueue_many(work.s(number, 1.0) for number in range(2000))
    for share in (300, 800, 1300):
        process = workers.start("-p", "2")
        until(lambda share=share: len(workers.lines("work")) >= share, f"{share} jobs have run")
        process.kill()
        process.wait()
    done = workers.burst("-p", "2")
    assert done.returncode == 0, done.stderr
    assert {job.state() for job in jobs} == {"succeeded"}
    ran = [int(line.split(" ")[1]) for line in workers.lines("work")]
    assert set(ran) == set(range(2000))
    repeats = len(ran) - 2000
    assert repeats <= 3 * 2 * 60, repeats
    crashes = sum(job.record().crashes for job in jobs)
    assert repeats <= crashes
