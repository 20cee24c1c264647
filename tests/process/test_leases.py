"""Workers that are stopped, cut off or asleep: their jobs stop in time, and their late writes change nothing."""

import os
import signal
import time

import pytest

from tests.process.processes import Workers, children_of, guard_of, is_running, until
from tests.process.tasks import app, deaf, hold, note

LEASE_S = 2


@pytest.mark.parametrize("task", ["hold", "deaf"])
def test_the_children_of_a_stopped_supervisor_die_before_its_lease_ends(workers: Workers, task: str) -> None:
    """I12: also inside a call that never returns to the interpreter."""
    if task == "hold":
        hold.enqueue(str(workers.folder / "never"))
    else:
        deaf.using(timeout=60).enqueue()
    process = workers.start("--lease", str(LEASE_S))
    until(lambda: workers.lines("holding") or workers.lines("deaf"), "the job runs")
    (child,) = children_of(process.pid)
    stopped = time.monotonic()
    process.send_signal(signal.SIGSTOP)
    until(lambda: not is_running(child), "the child is dead")
    assert time.monotonic() - stopped < LEASE_S


def test_a_supervisor_that_wakes_up_late_is_refused_says_so_and_works_on(workers: Workers) -> None:
    """I10, I12, I13: meanwhile another worker has done its job."""
    gate = workers.folder / "gate"
    job = hold.enqueue(str(gate))
    sleeper = workers.start("--lease", str(LEASE_S))
    until(lambda: workers.lines("holding"), "the job runs")
    sleeper.send_signal(signal.SIGSTOP)
    stopped = time.monotonic()
    other = workers.start("--lease", str(LEASE_S))
    until(lambda: len(workers.lines("holding")) == 2, "the other worker has taken the job")
    assert time.monotonic() - stopped < LEASE_S + 2
    gate.touch()
    assert job.result(timeout=20) == "let go"
    other.terminate()
    assert other.wait(20) == 0
    sleeper.send_signal(signal.SIGCONT)
    assert note.enqueue(1).result(timeout=20) == 1, "it works on, under a new lease"
    assert "enlisted anew" in workers.output
    assert [run.outcome for run in job.history()] == ["crashed", "done"]


def test_a_worker_cut_off_from_its_store_stops_its_jobs_and_resumes_by_itself(workers: Workers) -> None:
    """I12, I32."""
    gate = workers.folder / "gate"
    job = hold.enqueue(str(gate))
    process = workers.start("--lease", str(LEASE_S), faults=["outage"])
    until(lambda: workers.lines("holding"), "the job runs")
    (child,) = children_of(process.pid)
    outage = workers.folder / "outage"
    outage.touch()
    cut_off = time.monotonic()
    until(lambda: not is_running(child), "the child is dead")
    assert time.monotonic() - cut_off < LEASE_S
    outage.unlink()
    until(lambda: len(workers.lines("holding")) == 2, "the job runs again")
    gate.touch()
    assert job.result(timeout=20) == "let go"
    assert job.record().crashes == 0, "stopped in time and handed back: not the job's fault"


def test_a_killed_guard_is_replaced(workers: Workers) -> None:
    process = workers.start()
    assert note.enqueue(1).result(timeout=20) == 1
    guard = guard_of(process.pid)
    os.kill(guard, signal.SIGKILL)
    until(lambda: guard_of(process.pid) not in (guard, None), "there is another one")


def test_children_and_guard_end_with_a_killed_supervisor(workers: Workers) -> None:
    """I37: even when the child sits in a call that never returns."""
    deaf.using(timeout=60).enqueue()
    process = workers.start("-p", "2")
    until(lambda: workers.lines("deaf"), "the job runs")
    members = [*children_of(process.pid), guard_of(process.pid)]
    process.kill()
    process.wait()
    until(lambda: not any(is_running(member) for member in members), "all are gone", 2.0)


def test_recovery_from_a_killed_worker_takes_about_a_second_on_one_machine(workers: Workers) -> None:
    """I13: the lease is long, and its holder is known to be dead all the same."""
    gate = workers.folder / "gate"
    job = hold.enqueue(str(gate))
    process = workers.start("--lease", "60")
    until(lambda: workers.lines("holding"), "the job runs")
    workers.start("--lease", "60")
    process.kill()
    killed = time.monotonic()
    until(lambda: len(workers.lines("holding")) == 2, "the other worker has taken the job")
    assert time.monotonic() - killed < 4
    gate.touch()
    assert job.result(timeout=20) == "let go"


def test_an_idle_worker_keeps_its_lease_and_its_name(workers: Workers) -> None:
    workers.start("--lease", "1")
    until(app.store.inspector.workers, "it has enlisted")
    (before,) = app.store.inspector.workers()
    over = time.monotonic() + 3
    until(lambda: time.monotonic() > over, "three leases have passed")
    assert [worker.id for worker in app.store.inspector.workers()] == [before.id]
