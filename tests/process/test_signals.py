"""Signals to a worker, and what they make it do."""

import signal

from tests.process.processes import Workers, children_of, until
from tests.process.tasks import app, deaf, hold, note


def test_the_second_signal_hands_running_jobs_back_at_once(workers: Workers) -> None:
    """I18."""
    job = hold.enqueue(str(workers.folder / "never"))
    process = workers.start("--grace", "60")
    until(lambda: workers.lines("holding"), "the job runs")
    process.send_signal(signal.SIGINT)
    until(lambda: "stopping: 1 running" in workers.output, "it heard")
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 3
    assert (job.state(), job.record().crashes, job.record().failures) == ("ready", 0, 0)


def test_processes_can_be_added_and_removed_while_it_runs(workers: Workers) -> None:
    process = workers.start("-p", "1")
    assert note.enqueue(1).result(timeout=20) == 1
    process.send_signal(signal.SIGTTIN)
    until(lambda: len(children_of(process.pid)) == 2, "there are two")
    process.send_signal(signal.SIGTTOU)
    until(lambda: len(children_of(process.pid)) == 1, "there is one again")
    process.send_signal(signal.SIGTTOU)
    assert note.enqueue(2).result(timeout=20) == 2, "the last one stays"
    assert len(children_of(process.pid)) == 1


def test_stacks_can_be_seen_of_the_supervisor_and_of_a_child_that_hangs(workers: Workers) -> None:
    deaf.using(timeout=60).enqueue()
    process = workers.start()
    until(lambda: workers.lines("deaf"), "the job runs")
    process.send_signal(signal.SIGUSR1)
    until(lambda: "in deaf" in workers.output, "the stack of the task")
    assert "supervisor.py" in workers.output
    assert process.poll() is None
    process.kill()


def test_a_signal_before_it_is_ready_ends_it(workers: Workers) -> None:
    process = workers.start()
    until(lambda: process.poll() is None, "it has started")
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) in (0, 1, -15, 130)
    assert not app.store.inspector.workers()


def test_a_worker_can_be_asked_to_stop_through_the_store(workers: Workers) -> None:
    gate = workers.folder / "gate"
    running = hold.enqueue(str(gate))
    process = workers.start()
    until(lambda: workers.lines("holding"), "the job runs")
    waiting = note.enqueue(1)
    (worker,) = app.store.inspector.workers()
    assert app.store.operator.dismiss([worker.id]) == [worker.id]
    until(lambda: "was asked to stop" in workers.output, "it heard")
    gate.touch()
    assert process.wait(20) == 0
    assert running.result(timeout=0) == "let go"
    assert waiting.state() == "ready", "it took nothing more"


def test_what_a_worker_says_of_itself_can_be_seen(workers: Workers) -> None:
    gate = workers.folder / "gate"
    job = hold.enqueue(str(gate))
    process = workers.start("--lease", "1", "-p", "2")
    until(lambda: workers.lines("holding"), "the job runs")

    def report_names_the_job() -> bool:
        (worker,) = app.store.inspector.workers()
        return worker.report is not None and any(job.id in child.running for child in worker.report.children)

    until(report_names_the_job, "the report names it")
    (worker,) = app.store.inspector.workers()
    assert worker.report is not None
    assert {child.pid for child in worker.report.children} == set(children_of(process.pid))
    assert all(child.rss_bytes > 2**20 for child in worker.report.children)
    gate.touch()
    assert job.result(timeout=20) == "let go"
