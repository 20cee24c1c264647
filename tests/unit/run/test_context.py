import logging
import time
from typing import Any

import pytest

from holdfast.errors import HoldfastError, InvalidInput
from holdfast.model.claim import Progress
from holdfast.run.context import RunningJob, current_job
from tests.unit.run.making import claim_of

CLAIM = claim_of()


def running(report: Any = print, timeout_us: int | None = None, cancelled: tuple[str, ...] = ()) -> RunningJob:
    return RunningJob(
        CLAIM, "shop.send", timeout_us=timeout_us, report=report, is_cancelled=lambda token: token in cancelled
    )


def test_there_is_no_current_job_outside_of_a_run() -> None:
    with pytest.raises(HoldfastError, match=r"outside of a task.*plain function has no job"):
        current_job()


def test_progress_goes_out_with_the_token() -> None:
    notes: list[Progress] = []
    running(notes.append).progress(0.5, "half")
    running(notes.append).progress(1)
    assert notes == [
        Progress(CLAIM.id, CLAIM.token, "default", 0.5, "half"),
        Progress(CLAIM.id, CLAIM.token, "default", 1.0, None),
    ]


def test_a_note_is_cut_to_size_and_can_be_stored() -> None:
    notes: list[Progress] = []
    running(notes.append).progress(0, "\ud800\x00" + "x" * 5000)
    words = notes[0].note or ""
    assert words.startswith("\\ud800\\x00xx")
    assert words.encode()
    assert len(words) < 1100


@pytest.mark.parametrize("fraction", [-0.1, 1.1, float("nan"), True, "half", None])
def test_progress_that_is_no_fraction_is_refused(fraction: Any) -> None:
    with pytest.raises(InvalidInput, match="expected progress to be a number from 0 to 1, got: "):
        running().progress(fraction)


def test_a_note_that_is_no_text_is_refused() -> None:
    with pytest.raises(InvalidInput, match="expected the note of a progress to be text, got: 5"):
        running().progress(0.5, 5)  # type: ignore[arg-type]


def test_a_run_asks_about_itself_whether_to_stop() -> None:
    assert running(cancelled=(CLAIM.token,)).is_cancelled()
    assert not running(cancelled=("another",)).is_cancelled()


def test_the_time_left_counts_down_to_nothing() -> None:
    assert running().seconds_left() is None
    assert running(timeout_us=0).seconds_left() == 0.0
    job = running(timeout_us=60_000_000)
    began = time.monotonic()
    left = job.seconds_left()
    assert left is not None
    assert 60 - (time.monotonic() - began) - 1 < left <= 60


def test_the_log_carries_the_run(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "holdfast.task"):
        job = running()
        job.log.info("sent %d", 3)
    (record,) = caplog.records
    facts: Any = record
    assert (record.name, record.getMessage()) == ("holdfast.task.shop.send", "sent 3")
    assert (facts.job_id, facts.task, facts.attempt) == (CLAIM.id, "shop.send", 1)
    assert job.log is job.log


def test_a_repr_names_the_run() -> None:
    assert repr(running()) == f"<RunningJob {CLAIM.id} of shop.send, attempt 1>"
