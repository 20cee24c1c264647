"""Keys, successors and jobs that recur, with a real worker; and keys in a transaction of the caller's."""

import sqlite3
from pathlib import Path

import pytest

from holdfast import DuplicateJob
from tests.process.processes import Workers, until
from tests.process.tasks import app, fail, hold, note


def test_a_call_made_while_the_job_runs_is_answered_and_runs_after_it(workers: Workers, tmp_path: Path) -> None:
    """I23, trap 4"""
    gate = tmp_path / "gate"
    keyed = hold.using(key="k")
    first = keyed.enqueue(str(gate))
    workers.start("-p", "2")
    until(lambda: workers.lines("holding"), "the first run")
    assert (keyed.enqueue(str(gate)).decision, keyed.enqueue(str(gate)).id) == ("duplicate", first.id)
    after = keyed.using(rerun=True).enqueue(str(gate))
    assert (after.decision, after.state()) == ("created", "waiting")
    assert len(workers.lines("holding")) == 1, "it does not run beside the first"
    gate.touch()
    assert after.result(timeout=20) == "let go"
    assert (first.state(), len(workers.lines("holding"))) == ("succeeded", 2)
    assert keyed.using(fresh_for=60).enqueue(str(gate)).id == after.id


@pytest.mark.parametrize("recurring", [note, fail], ids=["done", "failed"])
def test_a_job_that_recurs_runs_again_and_again_until_it_is_cancelled(workers: Workers, recurring: object) -> None:
    task = note if recurring is note else fail
    call = task.using(key="k", again_after=0.2)
    job = call.enqueue(1) if task is note else call.enqueue()  # type: ignore[call-arg]
    workers.start()
    until(lambda: len(job.history()) >= 3, "three runs")
    assert {run.outcome for run in job.history()} == {"done" if task is note else "failed"}
    assert len({run.generation for run in job.history()}) == len(job.history())
    assert job.cancel()
    until(lambda: job.state() in ("cancelled", "succeeded", "failed"), "its end")


def test_a_key_holds_in_a_transaction_of_the_callers(workers: Workers) -> None:
    """I4, I24"""
    call = note.using(key="k").s(1)
    app.store.queues.names()  # makes the tables
    connection = sqlite3.connect(workers.folder / "jobs.db", isolation_level=None)
    connection.execute("begin immediate")
    first = app.enqueue_in(connection, call)
    assert (app.enqueue_in(connection, call).decision, app.enqueue_in(connection, call).id) == ("merged", first.id)
    with pytest.raises(DuplicateJob, match=f"job {first.id} has the key 'k'"):
        app.enqueue_in(connection, note.using(key="k", on_conflict="reject").s(2))
    connection.execute("commit")
    connection.close()
    assert workers.burst().returncode == 0
    assert (first.result(timeout=0), workers.lines("note")) == (1, ["note 1"])
