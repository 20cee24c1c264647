"""The same call made twice: keys and lanes of calls, what becomes of a push, and jobs that recur."""

import math
from datetime import timedelta
from typing import Any

import pytest

from holdfast import (
    DuplicateJob,
    Holdfast,
    InvalidInput,
    InvalidName,
    Job,
    JobNotFound,
    Task,
    UnknownOption,
    current_job,
)
from holdfast.app.options import FOR_EVER_US
from holdfast.model.job import NewJob, Pushed
from holdfast.store.memory.store import MemoryStore
from holdfast.testing import VirtualClock as KitClock
from holdfast.testing import drain
from holdfast.testing.contract.virtual_clock import VirtualClock
from holdfast.wire.envelope import open_envelope
from tests.unit.app.looking import all_jobs

DAY_S = 86_400


def fetch(url: str, depth: int = 0) -> str:
    return f"{url} at {depth}"


def task_of(app: Holdfast, **options: Any) -> Task[..., str]:
    return app.task(name="fetch", queue="crawl", **options)(fetch)


def told(job: Job[Any]) -> tuple[str, str | None]:
    return job.id, job.decision


# --- lane and key -----------------------------------------------------------------------------------------------------


def test_lane_key_and_version_are_stored_and_signed(app: Holdfast) -> None:
    record = task_of(app, lane="a.org", key="front", version=3).enqueue("http://a.org").record()
    envelope = open_envelope(record.envelope)
    assert (record.lane, record.key, record.version) == ("a.org", "front", "3")
    assert (envelope.lane, envelope.key, envelope.version) == ("a.org", "front", "3")


def test_lane_and_key_can_be_functions_of_the_arguments(app: Holdfast) -> None:
    task = task_of(app, lane=lambda url, **_: url.split("/")[2], key=lambda url, depth=0: f"{url}#{depth}")
    record = task.enqueue("http://a.org/x", depth=2).record()
    assert (record.lane, record.key) == ("a.org", "http://a.org/x#2")


def test_a_function_may_give_none(app: Holdfast) -> None:
    record = task_of(app, lane=lambda url: None, key=lambda url: None, fresh_for=60).enqueue("http://a.org").record()
    assert (record.lane, record.key) == (None, None)


def test_a_call_may_do_without_the_lane_and_the_key_of_its_task(app: Holdfast) -> None:
    record = task_of(app, lane="a", key="k").using(lane=None, key=None).enqueue("http://a.org").record()
    assert (record.lane, record.key) == (None, None)


def test_a_lane_can_be_a_default_of_the_app(clock: VirtualClock) -> None:
    with Holdfast("memory://", clock=clock, defaults={"lane": lambda url: url, "on_conflict": "keep"}) as app:
        assert task_of(app).enqueue("x").record().lane == "x"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"lane": lambda url: 5}, "expected what the lane function of fetch gives to be printable text .* got: 5"),
        ({"key": lambda url: ""}, "expected what the key function of fetch gives to be printable text .* got: ''"),
        ({"key": lambda url: "x" * 513}, "1 to 512 characters; give a digest of what is longer"),
        ({"lane": lambda url: "a\x00"}, "printable"),
        ({"lane": lambda url: url[99]}, "the function given as lane of fetch raised IndexError: string index"),
        ({"key": lambda: "k"}, "the function given as key of fetch raised TypeError: .*as they were given"),
    ],
)
def test_what_a_function_gives_is_checked_before_anything_is_stored(
    app: Holdfast, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidInput, match=words):
        task_of(app, **options).enqueue("http://a.org")
    assert all_jobs(app) == []


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"lane": ""}, InvalidName, "expected lane to be printable text of 1 to 256 characters, got: ''"),
        ({"lane": "x" * 257}, InvalidName, "1 to 256"),
        ({"key": "a\nb"}, InvalidName, "expected key to be printable text of 1 to 512 characters"),
        ({"key": 17}, InvalidName, "expected key to be printable text of 1 to 512 characters, got: 17"),
        ({"key": "k", "version": 1.5}, InvalidName, "expected a version to be printable text of 1 to 128"),
        ({"key": "k", "version": True}, InvalidName, "got: True"),
        ({"key": "k", "fresh_for": -1}, InvalidInput, "expected fresh_for to be 0 or more seconds"),
        ({"key": "k", "fresh_for": -math.inf}, InvalidInput, "expected fresh_for to be 0 or more seconds"),
        ({"key": "k", "fresh_for": math.nan}, InvalidInput, "expected fresh_for to be 0 or more seconds"),
        ({"key": "k", "again_after": 0}, InvalidInput, "expected again_after to be more than 0 seconds"),
        ({"key": "k", "again_after": math.inf}, InvalidInput, "expected again_after to be 0 or more seconds"),
        ({"key": "k", "rerun": 1}, InvalidInput, "expected rerun to be True or False, got: 1"),
        ({"key": "k", "force": "yes"}, InvalidInput, "expected force to be True or False, got: 'yes'"),
        ({"key": "k", "on_conflict": "drop"}, InvalidInput, "expected on_conflict to be 'merge', 'keep', 'replace' or"),
        ({"fresh_for": 60}, InvalidInput, "expected a key to go with fresh_for: it says what makes two calls the same"),
        ({"version": "2"}, InvalidInput, "expected a key to go with version"),
        ({"force": True}, InvalidInput, "expected a key to go with force"),
        ({"rerun": True}, InvalidInput, "expected a key to go with rerun"),
        ({"again_after": 60}, InvalidInput, "expected a key to go with again_after"),
        ({"on_conflict": "reject"}, InvalidInput, "expected a key to go with on_conflict"),
    ],
)
def test_what_makes_no_sense_is_refused_where_it_is_said(
    app: Holdfast, options: dict[str, Any], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        task_of(app).using(**options)


def test_what_needs_a_key_may_be_said_of_a_task_whose_calls_give_it(app: Holdfast) -> None:
    task = task_of(app, fresh_for=60, again_after=timedelta(hours=1), rerun=True)
    assert task.using(key="k").enqueue("x").decision == "created"
    with pytest.raises(InvalidInput, match="expected a key to go with fresh_for"):
        task.enqueue("x")


def test_one_call_is_forced_and_a_key_is_of_one_task(app: Holdfast) -> None:
    with pytest.raises(UnknownOption, match="a task has no option 'force'"):
        task_of(app, force=True)
    with pytest.raises(UnknownOption, match="has no option 'key'"):
        Holdfast("memory://", defaults={"key": "k"})  # type: ignore[typeddict-unknown-key]


# --- what becomes of a push -------------------------------------------------------------------------------------------


def test_a_second_call_merges_into_the_first(app: Holdfast) -> None:
    task = task_of(app, key=lambda url: url)
    first = task.using(delay=60).enqueue("x")
    second = task.using(priority=5).enqueue("x")
    assert (first.decision, first.reason) == ("created", None)
    assert told(second) == (first.id, "merged")
    assert second.reason == f"job {first.id} has this key and has yet to start"
    assert (first.record().priority, first.state()) == (5, "ready")
    assert second == first


def test_keep_leaves_the_first_as_it_is(app: Holdfast) -> None:
    task = task_of(app, key="k", on_conflict="keep")
    first = task.enqueue("x")
    assert told(task.using(priority=5).enqueue("y")) == (first.id, "duplicate")
    assert first.record().priority == 0


def test_replace_debounces(app: Holdfast, clock: VirtualClock) -> None:
    task = task_of(app, key="k", on_conflict="replace", delay=10)
    first, _ = task.enqueue("x"), clock.advance(6)
    second, _ = task.enqueue("y"), clock.advance(6)
    assert app.drain() == 0
    clock.advance(4)
    assert app.drain() == 1
    assert (first.state(), second.result(0)) == ("cancelled", "y at 0")


def test_reject_raises_and_leaves_nothing_behind(app: Holdfast) -> None:
    task = task_of(app, key="k", on_conflict="reject")
    first = task.enqueue("x")
    with pytest.raises(
        DuplicateJob, match=f"was refused: job {first.id} has the key 'k' and has yet to start. Nothing"
    ):
        task.enqueue("y")
    assert len(all_jobs(app)) == 1


def test_of_many_calls_the_refused_ones_are_marked(app: Holdfast) -> None:
    task = task_of(app, key=lambda url: url, on_conflict="reject")
    first, second, third = app.enqueue_many([task.s("x"), task.s("x"), task.s("y")])
    assert [job.decision for job in (first, second, third)] == ["created", "refused", "created"]
    assert first.id in (second.reason or "")
    with pytest.raises(JobNotFound):
        second.state()


def test_a_fresh_result_makes_a_call_needless(app: Holdfast, clock: VirtualClock) -> None:
    task = task_of(app, key=lambda url: url, fresh_for=timedelta(hours=1))
    first = task.enqueue("x")
    app.drain()
    clock.advance(3599)
    again = task.enqueue("x")
    assert told(again) == (first.id, "duplicate")
    assert again.reason == f"job {first.id} succeeded 3599.0 s ago"
    assert again.result(0) == "x at 0", "the handle is that of the fresh result"
    assert task.using(force=True).enqueue("x").decision == "created"
    app.drain()
    clock.advance(3600)
    assert task.enqueue("x").decision == "created"


def test_fresh_for_ever_outlives_the_record(app: Holdfast, clock: VirtualClock) -> None:
    task = task_of(app, key=lambda url: url, fresh_for=math.inf)
    assert task.terms.fresh_for_us == FOR_EVER_US
    first = task.enqueue("x")
    app.drain()
    for _ in range(5):
        clock.advance(365 * DAY_S)
        app.store.tidy()
    with pytest.raises(JobNotFound):
        first.state()
    assert told(task.enqueue("x")) == (first.id, "duplicate")


def test_a_new_version_runs_anyway(app: Holdfast) -> None:
    task = task_of(app, key="k", fresh_for=math.inf)
    for version, decision in (("v1", "created"), ("v1", "duplicate"), ("v2", "created"), (2, "created")):
        assert task.using(version=version).enqueue("x").decision == decision
        app.drain()


def test_a_call_made_while_the_job_runs_says_so_and_runs_after_it_if_asked(app: Holdfast) -> None:
    """Trap 4"""
    pushed: list[Job[Any]] = []

    def remember(url: str) -> None:
        if not pushed:
            pushed.extend((task.enqueue("again"), task.using(rerun=True).enqueue("again")))

    task = app.task(name="remember", key="k")(remember)
    first = task.enqueue("now")
    assert app.drain() == 2
    ignored, after = pushed
    assert told(ignored) == (first.id, "duplicate")
    assert ignored.reason == f"job {first.id} has this key and is running now"
    assert (after.decision, after.reason) == ("created", f"it runs after job {first.id}, which is running now")
    assert (first.state(), after.state()) == ("succeeded", "succeeded")


def test_keys_hold_in_a_transaction_of_the_callers_too(clock: VirtualClock) -> None:
    class Hosting(MemoryStore):
        """A store whose guests write at once: it is the handles that are tried here."""

        def __init__(self) -> None:
            super().__init__(clock)
            self.guest = self  # type: ignore[assignment]

        def push(self, *given: Any) -> list[Pushed]:  # type: ignore[override]
            return super().push(given[-1])

        async def apush(self, connection: Any, jobs: list[NewJob]) -> list[Pushed]:
            return super().push(jobs)

    app = Holdfast("memory://")
    app.attach(Hosting())
    task = task_of(app, key=lambda url: url)
    first = app.enqueue_in(None, task.s("x"))
    assert told(app.enqueue_in(None, task.s("x"))) == (first.id, "merged")
    rejecting = task.using(on_conflict="reject")
    with pytest.raises(DuplicateJob):
        app.enqueue_in(None, rejecting.s("x"))
    assert [job.decision for job in app.enqueue_many_in(None, [rejecting.s("x"), task.s("y")])] == [
        "refused",
        "created",
    ]


# --- again and again --------------------------------------------------------------------------------------------------


def test_a_job_that_recurs_runs_again_and_again_under_its_key() -> None:
    clock = KitClock()
    with Holdfast("memory://", clock=clock) as app:
        task = task_of(app, key="k", again_after=60)
        job = task.enqueue("x")
        ran = drain(app, until=200)
        assert [round((one.at - ran[0].at).total_seconds()) for one in ran] == [0, 60, 120, 180]
        assert {one.job.id for one in ran} == {job.id}
        assert (job.state(), job.record().generation) == ("scheduled", 5)
        assert told(task.enqueue("x")) == (job.id, "merged")
        assert job.cancel()
        assert drain(app, until=200) == [], "merged was: run now; cancelled is: run no more"


def test_a_failure_does_not_end_what_recurs_and_its_retries_are_fresh_each_time() -> None:
    def moody() -> None:
        raise ValueError("bad")

    with Holdfast("memory://", clock=KitClock()) as app:
        task = app.task(name="moody", key="k", again_after=1000, retries=1, retry_delay=10)(moody)
        job = task.enqueue()
        ran = drain(app, until=1500, raise_errors=False)
        assert [(one.outcome, one.attempt) for one in ran] == [("retry", 1), ("failed", 2)] * 2
        assert job.state() == "scheduled"


def test_a_task_can_end_its_own_recurring() -> None:
    from holdfast import Cancel

    def until_three() -> None:
        if len(current_job_ids) == 2:
            raise Cancel("enough")
        current_job_ids.append(current_job().id)

    current_job_ids: list[str] = []
    with Holdfast("memory://", clock=KitClock()) as app:
        job = app.task(name="until_three", key="k", again_after=60)(until_three).enqueue()
        assert len(drain(app)) == 3
        assert job.state() == "cancelled"


def test_a_consumer_has_what_recurs_begin_anew(app: Holdfast, clock: VirtualClock) -> None:
    job = task_of(app, key="k", again_after=60).enqueue("x")
    with app.consumer("crawl", lease=3600) as consumer:
        consumer.claim()[0].done("page")
        assert (job.state(), job.record().due_us) == ("scheduled", clock.in_s(60))
        clock.advance(60)
        consumer.claim()[0].fail("gone")
        assert (job.state(), job.record().generation) == ("scheduled", 3)
