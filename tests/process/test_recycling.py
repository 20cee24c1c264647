"""Children that have run enough, grown too large, too old, or whose code has changed: replaced between two jobs."""

import os
from pathlib import Path

from holdfast import Holdfast
from tests.process.processes import Workers, children_of, until
from tests.process.tasks import app, grow, hold, look_around


def _process(number: int) -> int:
    """Run one job and tell in which process."""
    return look_around.enqueue(str(number)).result(timeout=20)[0]


def test_a_child_is_replaced_after_exactly_so_many_runs(workers: Workers) -> None:
    jobs = app.enqueue_many(look_around.s(str(number)) for number in range(300))
    workers.burst("--max-runs", "100")
    processes = [job.result(timeout=0)[0] for job in jobs]
    assert [processes.count(process) for process in dict.fromkeys(processes)] == [100, 100, 100]
    assert sum(job.record().deliveries for job in jobs) < 400, "little was claimed in vain"


def test_a_child_that_has_grown_too_large_is_replaced(workers: Workers) -> None:
    workers.start("--max-rss", "150M")
    before = _process(1)
    assert _process(2) == before
    grow.enqueue(150).result(timeout=20)
    until(lambda: _process(3) != before, "another process runs jobs")


def test_a_child_that_is_too_old_is_replaced(workers: Workers) -> None:
    workers.start("--max-age", "1s")
    before = _process(1)
    until(lambda: _process(2) != before, "another process runs jobs")


def test_a_child_is_never_replaced_in_the_middle_of_a_job(workers: Workers) -> None:
    gate = workers.folder / "gate"
    long = hold.enqueue(str(gate))
    process = workers.start("--max-age", "1s", "-p", "2")
    until(lambda: workers.lines("holding"), "the job runs")
    busy = int(workers.lines("holding")[0].split(" ")[1])
    until(lambda: len(children_of(process.pid)) == 2, "both are there")
    other = next(child for child in children_of(process.pid) if child != busy)
    until(lambda: other not in children_of(process.pid), "the idle one was replaced")
    assert busy in children_of(process.pid)
    gate.touch()
    assert long.result(timeout=20) == "let go"
    until(lambda: busy not in children_of(process.pid), "now it was, too")
    assert [run.outcome for run in long.history()] == ["done"]


def test_changed_source_is_loaded_and_broken_source_is_waited_out(workers: Workers) -> None:
    module = workers.folder / "fickle.py"
    _write(module, '"one"')
    workers.environment["PYTHONPATH"] += os.pathsep + str(workers.folder)
    workers.start("--reload", target="fickle:app")
    with Holdfast(workers.url) as producer:
        say = producer.task(name="say")(lambda: None)
        assert say.enqueue().result(timeout=20) == "one"
        _write(module, '"two"')
        until(lambda: say.enqueue().result(timeout=20) == "two", "the new code runs")
        _write(module, "this is no Python")
        until(lambda: "cannot import fickle:app" in workers.output, "the mistake is told")
        _write(module, '"three"')
        until(lambda: say.enqueue().result(timeout=20) == "three", "the mended code runs")


def _write(module: Path, value: str) -> None:
    module.write_text(
        f"from holdfast import Holdfast\napp = Holdfast()\n\n@app.task(name='say')\ndef say():\n    return {value}\n"
    )
