"""Options: where they can be given, which beats which, and what they come to."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from holdfast import Holdfast, Task
from holdfast.model.job import JobRecord
from holdfast.policy.moments import SECOND
from holdfast.run.spec import TIMEOUT_US
from holdfast.testing.contract.virtual_clock import START_US, VirtualClock
from holdfast.wire.envelope import Envelope, open_envelope

DAY_S = 86_400


def noop() -> None: ...


def task_of(app: Holdfast, **options: Any) -> Task[[], None]:
    return app.task(name="noop", **options)(noop)


def stored(task: Task[[], None]) -> tuple[JobRecord, Envelope]:
    record = task.enqueue().record()
    return record, open_envelope(record.envelope)


def terms(task: Task[[], None]) -> dict[str, Any]:
    made = task.terms
    return {
        "crash_budget": made.crash_budget,
        "done": made.keep_done_s,
        "dead": made.keep_dead_s,
        "ttl": made.result_ttl_s,
    }


def test_the_defaults_are_those_of_the_design(app: Holdfast) -> None:
    task = task_of(app)
    record, envelope = stored(task)
    assert (record.queue, record.priority, record.due_us, record.expires_us) == ("default", 0, START_US, None)
    assert (envelope.retries, envelope.timeout_us, envelope.headers) == (None, None, {})
    assert terms(task) == {"crash_budget": 3, "done": DAY_S, "dead": 30 * DAY_S, "ttl": DAY_S}
    assert (task.spec().timeout_us, task.spec().retry.retries) == (TIMEOUT_US, 0)
    assert TIMEOUT_US == 30 * 60 * SECOND


def test_call_beats_task_beats_app() -> None:
    app = Holdfast("memory://", defaults={"queue": "app", "priority": 1, "crash_budget": 7})
    task = task_of(app, queue="task", priority=2)
    record, _ = stored(task)
    assert (record.queue, record.priority, record.crash_budget) == ("task", 2, 7)
    record, _ = stored(task.using(priority=3))
    assert (record.queue, record.priority, record.crash_budget) == ("task", 3, 7)
    app.close()


def test_using_leaves_the_task_alone_and_adds_up(app: Holdfast) -> None:
    task = task_of(app)
    urgent = task.using(priority=5)
    both = urgent.using(queue="mail").using(priority=6)
    assert [stored(each)[0].priority for each in (task, urgent, both)] == [0, 5, 6]
    assert [each.queue for each in (task, urgent, both)] == ["default", "default", "mail"]
    assert both() is None


@pytest.mark.parametrize(
    ("options", "due_s"),
    [
        ({"delay": 60}, 60),
        ({"delay": timedelta(minutes=1)}, 60),
        ({"delay": datetime.fromtimestamp(START_US / 1e6 + 60, UTC)}, 60),
        ({"at": datetime.fromtimestamp(START_US / 1e6 + 60, UTC)}, 60),
        ({"delay": 0}, 0),
        ({"delay": 0.25}, 0.25),
    ],
)
def test_a_job_is_due_after_its_delay_or_at_its_time(app: Holdfast, options: dict[str, Any], due_s: float) -> None:
    record, _ = stored(task_of(app).using(**options))
    assert record.due_us == START_US + due_s * SECOND
    assert record.state == ("scheduled" if due_s else "ready")


def test_a_time_in_the_past_means_now(app: Holdfast) -> None:
    """Trap 15"""
    task = task_of(app)
    jobs = [task.using(at=datetime(year, 1, 1, tzinfo=UTC)).enqueue() for year in (1, 1970, 2001)]
    assert [job.state() for job in jobs] == ["ready"] * 3
    assert app.drain() == 3


def test_delay_and_at_replace_each_other(app: Holdfast) -> None:
    later = datetime.fromtimestamp(START_US / 1e6 + 60, UTC)
    task = task_of(app, delay=5)
    assert stored(task.using(at=later))[0].due_us == START_US + 60 * SECOND
    assert stored(task.using(at=later).using(delay=7))[0].due_us == START_US + 7 * SECOND


def test_a_job_that_has_not_started_by_its_expiry_ends(app: Holdfast, clock: VirtualClock) -> None:
    moment = datetime.fromtimestamp(START_US / 1e6 + 10, UTC)
    task = task_of(app)
    jobs = [task.using(expires=expires).enqueue() for expires in (10, timedelta(seconds=10), moment, None)]
    clock.advance(11)
    assert app.drain() == 1
    assert [job.state() for job in jobs] == ["expired"] * 3 + ["succeeded"]


def test_an_expiry_can_be_taken_away(app: Holdfast) -> None:
    assert stored(task_of(app, expires=5).using(expires=None))[0].expires_us is None


def test_retries_and_timeout_of_a_call_travel_with_it(app: Holdfast) -> None:
    task = task_of(app, retries=1, timeout=5)
    _, envelope = stored(task)
    assert (envelope.retries, envelope.timeout_us) == (None, None)  # the task's own, as known where it runs
    _, envelope = stored(task.using(retries=0, timeout=0.5, retry_delay=[1, 2], retry_cap=9))
    assert (envelope.retries, envelope.timeout_us) == (0, 500_000)
    assert envelope.headers == {"retry-waits-us": "1000000,2000000", "retry-cap-us": "9000000"}
    _, envelope = stored(task.using(timeout=None, retry_delay=3))
    assert (envelope.timeout_us, envelope.headers) == (0, {"retry-first-us": "3000000"})


def test_a_tasks_retry_rules_reach_those_who_run_it(app: Holdfast) -> None:
    policy = task_of(app, retries=3, retry_delay=1, retry_cap=60, retry_on=OSError, give_up_on=[FileNotFoundError])
    retry = policy.spec().retry
    assert (retry.retries, retry.first_us, retry.cap_us, retry.table_us) == (3, SECOND, 60 * SECOND, ())
    assert (retry.retry_on, retry.give_up_on) == ((OSError,), (FileNotFoundError,))


def test_a_table_of_waits_replaces_a_first_wait_and_the_other_way_round() -> None:
    app = Holdfast("memory://", defaults={"retry_delay": 5})
    table = app.task(name="a", retry_delay=[1, 2])(noop).spec().retry
    assert table.table_us == (SECOND, 2 * SECOND)
    app = Holdfast("memory://", defaults={"retry_delay": [1, 2]})
    first = app.task(name="a", retry_delay=5)(noop).spec().retry
    assert (first.first_us, first.table_us) == (5 * SECOND, ())


def test_rules_about_errors_may_be_given_for_a_whole_app() -> None:
    app = Holdfast("memory://", defaults={"retry_on": OSError, "give_up_on": (KeyError, ValueError)})
    retry = task_of(app).spec().retry
    assert (retry.retry_on, retry.give_up_on) == ((OSError,), (KeyError, ValueError))


def test_retention_is_whole_seconds_and_a_result_keeps_its_record(app: Holdfast) -> None:
    task = task_of(app, result_ttl=timedelta(days=3), keep_dead=1.2, crash_budget=0)
    assert terms(task) == {"crash_budget": 0, "done": 3 * DAY_S, "dead": 2, "ttl": 3 * DAY_S}
    assert terms(task.using(keep_done=5))["done"] == 5


def test_tags_are_kept_once_each(app: Holdfast) -> None:
    assert stored(task_of(app).using(tags=["b", "a", "b"]))[0].tags == ("b", "a")


def test_an_id_of_the_callers_own(app: Holdfast) -> None:
    assert task_of(app).using(id="order:17").enqueue().id == "order:17"
