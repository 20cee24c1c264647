"""Workers under random kills, small enough for every day; the large one is `make torture`."""

from pathlib import Path

import pytest

from tests.process.kill_loop import kill_loop


def test_no_promise_is_broken_by_killing_children_and_supervisors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I1, I2, I6, I8-I10, I14."""
    monkeypatch.setenv("DIARY", str(tmp_path / "diary"))
    outcome = kill_loop(tmp_path, jobs=600, kills=25, seed=7, deadline_s=90)
    assert outcome.broken == []
    assert outcome.child_kills + outcome.supervisor_kills == 25
