"""Workers, and the servers they work on, under random kills; small enough for every day. Large ones: `make torture`."""

from pathlib import Path

import pytest

from tests.process.kill_loop import durable_server, kill_loop


@pytest.fixture(autouse=True)
def diary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIARY", str(tmp_path / "diary"))


@pytest.mark.parametrize(("store", "jobs", "kills"), [("sqlite", 600, 25), ("postgres", 400, 15), ("valkey", 400, 15)])
def test_no_promise_is_broken_by_killing_children_and_supervisors(
    store: str, jobs: int, kills: int, tmp_path: Path
) -> None:
    """I1, I2, I6, I8-I10, I14: two workers, as two machines, on one store."""
    with durable_server(store) as (url, _):
        outcome = kill_loop(tmp_path, jobs=jobs, kills=kills, seed=7, deadline_s=90, url=url)
    assert outcome.broken == []
    assert outcome.child_kills + outcome.supervisor_kills == kills


@pytest.mark.parametrize("store", ["postgres", "valkey"])
def test_no_promise_is_broken_by_killing_the_server(store: str, tmp_path: Path) -> None:
    """I1, I3, I32: what was acknowledged is there again, and the workers go on by themselves."""
    with durable_server(store) as (url, server):
        outcome = kill_loop(
            tmp_path, jobs=800, kills=0, seed=7, deadline_s=90, url=url, server=server, server_kills=3
        )  # fmt: skip
    assert outcome.broken == []
    assert outcome.server_kills == 3
