"""Rates: from looks that lie some seconds apart, whatever happens to counts and processes between them."""

from holdfast.cli.rates import Meter, Rates
from holdfast.cli.snapshot import Snapshot
from holdfast.cli.staff import Worker
from holdfast.model.queue import QueuePolicy, QueueRecord
from holdfast.model.worker import ChildReport, WorkerRecord, WorkerReport


def snapshot(*, runs: dict[int, int] | None = None, **counts: int) -> Snapshot:
    queue = QueueRecord("mail", QueuePolicy(), False, counts)
    children = tuple(ChildReport(pid, 0, number) for pid, number in (runs or {}).items())
    worker = Worker(WorkerRecord("w", "host", 1, report=WorkerReport(children)), ())
    return Snapshot(0, (queue,), (), (), (worker,) if children else ())


def measured(*looks: tuple[float, Snapshot]) -> Rates:
    meter = Meter()
    return [meter.add(look, at_s) for at_s, look in looks][-1]


def test_one_look_knows_no_rate() -> None:
    rates = measured((5.0, snapshot(succeeded=100)))
    assert not rates.is_known
    assert (rates.runs, rates.succeeded, rates.failed) == (None, {}, {})


def test_two_looks_give_what_ended_between_them_a_second() -> None:
    rates = measured((0.0, snapshot(succeeded=100)), (2.0, snapshot(succeeded=150, failed=1)))
    assert (rates.over_s, rates.succeeded, rates.failed) == (2.0, {"mail": 25.0}, {"mail": 0.5})


def test_only_the_last_ten_seconds_count() -> None:
    looks = [(float(second), snapshot(succeeded=1000 if second > 0 else 0)) for second in range(15)]
    rates = measured(*looks)
    assert rates.over_s == 10.0
    assert rates.succeeded == {"mail": 0.0}


def test_looks_between_which_old_jobs_were_dropped_are_left_out() -> None:
    rates = measured(
        (0.0, snapshot(succeeded=1000)), (1.0, snapshot(succeeded=1010)), (2.0, snapshot(succeeded=20)),
        (3.0, snapshot(succeeded=30)),
    )  # fmt: skip
    assert rates.succeeded == {"mail": 10.0}


def test_runs_are_known_when_the_workers_must_have_beaten_twice() -> None:
    early, late = (6.0, snapshot(runs={7: 60})), (8.0, snapshot(runs={7: 80}))
    start = (0.0, snapshot(runs={7: 0}))
    assert measured(start, early).runs is None
    assert measured(start, early, late).runs == 10.0


def test_a_process_that_was_replaced_counts_what_its_successor_has_ended() -> None:
    rates = measured((0.0, snapshot(runs={7: 500})), (4.0, snapshot(runs={7: 540})), (8.0, snapshot(runs={9: 40})))
    assert rates.runs == 10.0


def test_without_reports_no_rate_of_runs_is_made_up() -> None:
    assert measured((0.0, snapshot()), (8.0, snapshot(succeeded=8))).runs is None
