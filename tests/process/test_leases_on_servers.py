"""Two workers as two machines, on one server: one is killed, and nobody can see that but by its silence."""

import time
from pathlib import Path

import pytest

from tests.process.kill_loop import durable_server
from tests.process.processes import Workers, until
from tests.process.tasks import app, hold

LEASE_S = 2


@pytest.mark.parametrize("store", ["postgres", "valkey"])
def test_the_job_of_a_killed_worker_runs_elsewhere_soon_after_its_lease(store: str, tmp_path: Path) -> None:
    """I13: within the lease and two seconds; I14: charged as one crash."""
    with durable_server(store) as (url, _):
        workers = Workers(tmp_path, url)
        try:
            with app.override(url=workers.url):
                gate = tmp_path / "gate"
                job = hold.enqueue(str(gate))
                process = workers.start("--lease", str(LEASE_S))
                until(lambda: workers.lines("holding"), "the job runs")
                workers.start("--lease", str(LEASE_S))
                until(lambda: len(app.store.inspector.workers()) == 2, "the other worker is there")
                process.kill()
                killed = time.monotonic()
                until(lambda: len(workers.lines("holding")) == 2, "the other worker has taken the job")
                assert time.monotonic() - killed < LEASE_S + 2
                gate.touch()
                assert job.result(timeout=20) == "let go"
                assert job.record().crashes == 1
        finally:
            workers.end()
