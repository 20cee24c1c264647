"""Jobs that harm their process: each has a defined outcome, and no other job notices (I38)."""

import os
import signal
from pathlib import Path

import pytest

from holdfast import JobFailed
from tests.process.processes import Workers, children_of, is_running, until
from tests.process.tasks import (
    app,
    exit_politely,
    hold,
    interrupt,
    last_words,
    leak,
    look_around,
    note,
    orphan,
    segfault,
    silence,
    take_signals,
    wander,
)


def test_a_segmentation_fault_is_recorded_with_the_stack_it_happened_on(workers: Workers) -> None:
    job = segfault.enqueue()
    assert workers.burst().returncode == 0
    assert (job.state(), job.record().reason) == ("failed", "crashed")
    (run,) = job.history()
    assert "was killed by SIGSEGV" in (run.error or "")
    assert "in segfault" in (run.traceback or "")


def test_a_crash_is_recorded_with_exit_code_usage_and_last_words(workers: Workers) -> None:
    job = last_words.enqueue(7)
    workers.burst()
    (run,) = job.history()
    assert "exited with code 7 in the middle of the run" in (run.error or "")
    assert "s of CPU" in (run.error or "")
    assert "MiB" in (run.error or "")
    assert "these are my last words" in (run.traceback or "")
    assert run.took_us > 0
    with pytest.raises(JobFailed, match="exited with code 7"):
        job.result(timeout=0)


@pytest.mark.parametrize(("task", "word"), [(exit_politely, "SystemExit"), (interrupt, "KeyboardInterrupt")])
def test_an_exit_raised_in_a_task_fails_the_job_and_not_the_process(workers: Workers, task: object, word: str) -> None:
    before, job, after = look_around.enqueue("a"), app.enqueue(task), look_around.enqueue("b")  # type: ignore[call-overload]
    workers.burst()
    assert job.record().reason == word
    assert before.result(timeout=0)[0] == after.result(timeout=0)[0], "the process went on"


def test_what_a_task_does_to_its_output_folder_and_signals_is_put_back_for_the_next(workers: Workers) -> None:
    first = look_around.enqueue("before all")
    harmful = [silence.enqueue(), wander.enqueue(), take_signals.enqueue()]
    last = look_around.enqueue("after all")
    done = workers.burst()
    assert [job.state() for job in harmful] == ["succeeded"] * 3
    assert last.result(timeout=0) == first.result(timeout=0), "same process, same folder, same signals"
    assert "before all" in done.stdout
    assert "after all" in done.stdout


def test_what_a_task_leaves_behind_harms_neither_later_jobs_nor_the_end_of_the_worker(workers: Workers) -> None:
    leaking = leak.enqueue()
    after = [note.enqueue(number) for number in range(20)]
    assert workers.burst().returncode == 0
    assert [job.result(timeout=0) for job in after] == list(range(20))
    left_behind = leaking.result(timeout=0)
    assert is_running(left_behind), "a process that a task started is its own business"
    os.kill(left_behind, signal.SIGKILL)


def test_an_orphan_is_reaped_when_it_ends(workers: Workers) -> None:
    """In a container the worker may be the first process: nobody else would."""
    orphan.enqueue()
    running = hold.enqueue(str(workers.folder / "gate"))
    process = workers.start()
    until(lambda: workers.lines("holding"), "the second job runs")
    os.kill(children_of(process.pid)[0], signal.SIGKILL)
    until(lambda: len(workers.lines("holding")) == 2, "a new child runs the job")
    until(lambda: not _zombies(process.pid), "no zombies")
    (workers.folder / "gate").touch()
    assert running.result(timeout=20) == "let go"


def _zombies(pid: int) -> list[str]:
    """List the dead that a process has not reaped, and the sleepers that it will have to."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    states = [Path(f"/proc/{child}/stat").read_text() for child in children]
    return [state for state in states if "(sleep)" in state or ") Z " in state]


def test_jobs_that_all_kill_their_process_are_all_recorded(workers: Workers) -> None:
    jobs = app.enqueue_many(last_words.s(1) for _ in range(5))
    assert workers.burst().returncode == 0
    assert [job.record().reason for job in jobs] == ["crashed"] * 5
