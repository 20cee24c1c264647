"""Time limits of runs: soft ones are raised inside the task, hard ones kill its process."""

import pytest

from holdfast import JobFailed
from tests.process.processes import Workers, until
from tests.process.tasks import (
    app,
    ask_for_more,
    deaf,
    hold_in_thread,
    overstay,
    overstay_in_thread,
    overstay_on_loop,
    swallow,
)


@pytest.mark.parametrize("task", [overstay, overstay_in_thread, overstay_on_loop], ids=["main", "thread", "loop"])
def test_a_fractional_timeout_is_raised_inside_the_task_wherever_it_runs(workers: Workers, task: object) -> None:
    """Trap 36."""
    job = app.enqueue(task)  # type: ignore[call-overload]
    workers.burst()
    with pytest.raises(JobFailed, match="ran longer than its timeout of 0"):
        job.result(timeout=0)
    assert job.record().reason == "timeout"
    assert job.history()[0].took_us < 5_000_000


def test_a_run_can_ask_for_more_time(workers: Workers) -> None:
    job = ask_for_more.enqueue(5)
    workers.burst()
    assert job.result(timeout=0) == 5


@pytest.mark.parametrize("task", [swallow, deaf], ids=["that swallows it", "in a call that never returns"])
def test_a_run_that_ignores_its_timeout_is_killed_and_only_it_is_charged(workers: Workers, task: object) -> None:
    """The sibling in a thread of the same process is handed back, uncharged, and done by the next one."""
    workers.environment["HARD_AFTER_US"] = "300000"
    gate = workers.folder / "gate"
    sibling = hold_in_thread.enqueue(str(gate))
    process = workers.start()
    until(
        lambda: workers.lines("holding"), "the sibling has begun"
    )  # beside a call that keeps the interpreter it could not
    guilty = app.enqueue(task)  # type: ignore[call-overload]
    until(lambda: guilty.record().state == "failed", "the run was killed")
    gate.touch()
    assert sibling.result(timeout=20) == "let go"
    process.terminate()
    assert process.wait(20) == 0
    assert guilty.record().reason == "timeout"
    assert (guilty.record().failures, guilty.record().crashes) == (1, 0)
    assert "its process was killed" in (guilty.history()[0].error or "")
    assert (sibling.record().failures, sibling.record().crashes) == (0, 0)
    assert [run.outcome for run in sibling.history()] == ["released", "done"]


def test_a_killed_run_is_tried_again_if_the_call_says_so(workers: Workers) -> None:
    workers.environment["HARD_AFTER_US"] = "200000"
    job = swallow.using(retries=1, retry_delay=0, timeout=0.1).enqueue()
    workers.burst()
    assert len(workers.lines("swallow")) == 2
    assert [run.outcome for run in job.history()] == ["retry", "failed"]
