import logging
import time
from datetime import timedelta
from typing import Any

import pytest

from holdfast.errors import HoldfastError, InvalidInput
from holdfast.model.claim import Progress
from holdfast.run.context import RunningJob, current_job
from holdfast.run.timeouts import Limit
from tests.unit.run.making import claim_of

CLAIM = claim_of()


def running(report: Any = print, seconds: float | None = None, cancelled: tuple[str, ...] = ()) -> RunningJob:
    return RunningJob(
        CLAIM,
        "shop.send",
        time_limit=Limit(seconds),
        report=report,
        is_cancelled=lambda token: token in cancelled,
        on_limit=lambda _token, _seconds: None,
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
    assert running(seconds=0).seconds_left() == 0.0
    job = running(seconds=60)
    began = time.monotonic()
    left = job.seconds_left()
    assert left is not None
    assert 60 - (time.monotonic() - began) - 1 < left <= 60


def test_more_time_can_be_asked_for_and_whoever_kills_is_told() -> None:
    told: list[tuple[str, float | None]] = []
    job = RunningJob(
        CLAIM,
        "shop.send",
        time_limit=Limit(60),
        report=print,
        is_cancelled=lambda _: False,
        on_limit=lambda token, seconds: told.append((token, seconds)),
    )
    job.extend(timedelta(seconds=30))
    left = job.seconds_left()
    assert left is not None
    assert 80 < left <= 90
    assert told[0][0] == CLAIM.token
    assert 80 < (told[0][1] or 0) <= 90


def test_a_run_without_a_limit_has_nothing_to_extend() -> None:
    job = running()
    job.extend(5)
    assert job.seconds_left() is None


@pytest.mark.parametrize("seconds", [-1, float("nan"), "more"])
def test_a_senseless_extension_is_refused(seconds: Any) -> None:
    with pytest.raises(InvalidInput, match="seconds"):
        running(seconds=60).extend(seconds)


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
