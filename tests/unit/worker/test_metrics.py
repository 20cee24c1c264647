"""What is counted, and how it is written down."""

import threading

import msgspec
import pytest

from holdfast.errors import StoreUnavailable
from holdfast.model.claim import Claim
from holdfast.model.queue import QueuePolicy, QueueRecord
from holdfast.model.verdict import Lost, Verdict, crashed, done, released
from holdfast.worker import depths as depths_module
from holdfast.worker.depths import Depths, Reading
from holdfast.worker.metrics import Page
from holdfast.worker.tally import BOUNDS_S, MOST_TASKS, OTHER, Tally


def claim(number: int, task: str = "shop.send") -> Claim:
    return Claim(f"job-{number}", f"token-{number}", "default", task, b"", None, 0, 0, 3, 0)


def counted(tally: Tally, task: str = "shop.send") -> dict[str, int]:
    return tally.series()[task].outcomes


class TestTally:
    def test_each_verdict_counts_once_under_its_task(self) -> None:
        tally = Tally()
        claims = [claim(1), claim(2), claim(3, "shop.add")]
        tally.take(claims)
        tally.settle([done(claims[0]), crashed(claims[1], "it died"), done(claims[2])], [])
        tally.settle([done(claims[0])], [])
        assert counted(tally) == {"done": 1, "crashed": 1}
        assert counted(tally, "shop.add") == {"done": 1}

    def test_a_lost_verdict_does_not_count(self) -> None:
        tally = Tally()
        tally.take([claim(1), claim(2)])
        tally.settle([done(claim(1)), done(claim(2))], [Lost("job-1", "token-1", "too late")])
        assert counted(tally) == {"done": 1}

    def test_a_job_claimed_again_counts_again(self) -> None:
        tally = Tally()
        for _ in range(2):
            tally.take([claim(1)])
            tally.settle([done(claim(1))], [])
        assert counted(tally) == {"done": 2}

    def test_claims_of_an_ended_lease_are_forgotten(self) -> None:
        tally = Tally()
        tally.take([claim(1)])
        tally.forget()
        tally.settle([done(claim(1))], [])
        assert tally.series() == {}

    def test_how_late_a_job_was_claimed_is_counted(self) -> None:
        tally = Tally()
        late = msgspec.structs.replace(claim(1), due_us=1_000_000, claimed_us=1_250_000)
        tally.take([late])
        tally.settle([done(late)], [])
        assert tally.series()["shop.send"].late.sum_us == 250_000

    def test_what_was_handed_back_is_counted_and_not_timed(self) -> None:
        tally = Tally()
        tally.take([claim(1), claim(2)])
        tally.settle([released(claim(1)), released(claim(2), took_us=5)], [])
        assert counted(tally) == {"released": 1}, "one of them had not been started"
        assert sum(tally.series()["shop.send"].took.buckets) == 0

    @pytest.mark.parametrize(
        ("took_us", "place"), [(0, 0), (1_000, 0), (1_001, 1), (10**6, 6), (1_800_000_000, 12), (10**12, 13)]
    )
    def test_a_bound_belongs_to_its_bucket(self, took_us: int, place: int) -> None:
        tally = Tally()
        tally.take([claim(1)])
        tally.settle([done(claim(1), took_us=took_us)], [])
        series = tally.series()["shop.send"]
        assert [index for index, number in enumerate(series.took.buckets) if number] == [place]
        assert series.took.sum_us == took_us

    def test_invented_tasks_are_counted_together_beyond_a_bound(self) -> None:
        tally = Tally()
        claims = [claim(number, f"task-{number}") for number in range(MOST_TASKS + 50)]
        tally.take(claims)
        tally.settle([done(one) for one in claims], [])
        assert len(tally.series()) == MOST_TASKS + 1
        assert counted(tally, OTHER) == {"done": 50}
        tally.take(claims[:1])
        tally.settle([Verdict("job-0", "token-0", "default", "failed")], [])
        assert counted(tally, "task-0") == {"done": 1, "failed": 1}


class TestPage:
    def test_label_values_are_escaped(self) -> None:
        page = Page()
        page.add("odd", "gauge", "Odd.", [({"task": 'a"b\\c\nd'}, 1)])
        assert page.text == '# HELP odd Odd.\n# TYPE odd gauge\nodd{task="a\\"b\\\\c\\nd"} 1\n'

    def test_buckets_are_cumulative_and_end_with_infinity(self) -> None:
        tally = Tally()
        claims = [claim(number) for number in range(3)]
        tally.take(claims)
        tally.settle([done(one, took_us=took) for one, took in zip(claims, (500, 700, 10**10), strict=True)], [])
        page = Page()
        page.add_runs(tally.series())
        rows = [line.rsplit(" ", 1)[1] for line in page.text.splitlines() if "holdfast_run_seconds_bucket{" in line]
        assert rows == ["2"] * len(BOUNDS_S) + ["3"]
        assert 'holdfast_run_seconds_bucket{task="shop.send",le="+Inf"} 3\n' in page.text
        assert 'holdfast_run_seconds_sum{task="shop.send"} 10000.0012\n' in page.text
        assert 'holdfast_run_seconds_count{task="shop.send"} 3\n' in page.text

    def test_a_queue_is_told_in_every_state_with_the_age_of_its_oldest(self) -> None:
        page = Page()
        queue = QueueRecord("mail", QueuePolicy(), False, {"ready": 2}, oldest_ready_us=1_500_000)
        page.add_queues(Reading(is_good=True, queues=(queue,), now_us=4_000_000))
        assert 'holdfast_queue_jobs{queue="mail",state="ready"} 2\n' in page.text
        assert 'holdfast_queue_jobs{queue="mail",state="failed"} 0\n' in page.text
        assert 'holdfast_queue_oldest_ready_seconds{queue="mail"} 2.5\n' in page.text

    def test_a_queue_that_is_held_back_is_told_by_how_it_stands(self) -> None:
        page = Page()
        queue = QueueRecord("mail", QueuePolicy(), False, {}, standing="broken", until_us=5)
        page.add_queues(Reading(True, (queue,), 0))
        held = [line for line in page.text.splitlines() if line.startswith("holdfast_queue_held")]
        assert 'holdfast_queue_held{queue="mail",standing="broken"} 1' in held
        assert len(held) == 6
        assert sum(line.endswith(" 1") for line in held) == 1


class Shelf:
    """A store with one queue, as far as `Depths` looks; it can hang, or be away."""

    def __init__(self) -> None:
        self.reads = 0
        self.is_away = False
        self.goes_on = threading.Event()
        self.goes_on.set()

    @property
    def queues(self) -> "Shelf":
        return self

    def names(self) -> list[str]:
        self.reads += 1
        self.goes_on.wait()
        if self.is_away:
            raise StoreUnavailable("it is away")
        return ["mail"]

    def get(self, name: str) -> QueueRecord:
        return QueueRecord(name, QueuePolicy(), False, {"ready": self.reads})

    def now(self) -> int:
        return 0

    def close(self) -> None:
        self.reads = -1


def depths(shelf: Shelf) -> Depths:
    return Depths(lambda: shelf)  # type: ignore[arg-type, return-value]


class TestDepths:
    def test_two_looks_within_a_second_are_one_read(self) -> None:
        shelf = Shelf()
        looked = depths(shelf)
        assert looked.look() == looked.look()
        assert shelf.reads == 1

    def test_an_old_reading_is_read_anew(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(depths_module, "_FRESH_S", 0.0)
        monkeypatch.setattr(depths_module, "_FRESH_SHARE", 0.0)
        shelf = Shelf()
        looked = depths(shelf)
        assert [looked.look().queues[0].counts["ready"] for _ in range(2)] == [1, 2]

    def test_a_store_that_is_away_gives_a_reading_without_queues(self) -> None:
        shelf = Shelf()
        shelf.is_away = True
        reading = depths(shelf).look()
        assert (reading.is_good, reading.queues) == (False, ())

    def test_a_store_that_hangs_holds_one_thread_and_nobody_else(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(depths_module, "_PATIENCE_S", 0.01)
        shelf = Shelf()
        shelf.goes_on.clear()
        looked = depths(shelf)
        assert [looked.look().is_good for _ in range(3)] == [False] * 3
        assert shelf.reads == 1
        looked.close()
        assert shelf.reads == 1, "it is not closed while it is read"
        monkeypatch.setattr(depths_module, "_PATIENCE_S", 10.0)
        shelf.goes_on.set()
        assert looked.look().is_good
        looked.close()
        assert shelf.reads == -1
