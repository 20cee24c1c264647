"""Why a job does not run, by what is known of it: the sentences, and what cannot be brought about in a store yet."""

from typing import Any

import pytest

from holdfast.model.job import JobRecord
from holdfast.model.queue import Breaker, LaneRecord, Limits, QueuePolicy, QueueRecord, Rate, Standing
from holdfast.model.why import Reason, Why
from holdfast.model.worker import WorkerRecord
from holdfast.policy.moments import SECOND
from holdfast.policy.why import Facts, why

NOW = 1_700_000_000 * SECOND
AT = "2023-11-14 22:13:20.000 UTC"
SOON, SOON_AT = NOW + 5 * SECOND, "2023-11-14 22:13:25.000 UTC"
LATER, LATER_AT = NOW + 60 * SECOND, "2023-11-14 22:14:20.000 UTC"
LIMITS = Limits(Rate(600_000), 8, Breaker(10, 60 * SECOND, 3))
POLICY = QueuePolicy(limits=LIMITS, lane_limits=LIMITS)
WORKER = WorkerRecord("w1", "host", 1, ("shop.send",))


def job(state: Any = "ready", **given: Any) -> JobRecord:
    return JobRecord("j1", "mail", "shop.send", state, 0, given.pop("due_us", NOW), NOW, b"", **given)


def queue(standing: Standing = "open", until_us: int | None = None, **given: Any) -> QueueRecord:
    known: Any = {"policy": POLICY, "is_paused": False, "counts": {"running": 8, "ready": 1}} | given
    return QueueRecord("mail", standing=standing, until_us=until_us, **known)


def asked(about: JobRecord, **given: Any) -> Why:
    """Ask about a job that a worker serves, and of which nothing else is known."""
    known: Any = {"workers": (WORKER,), "queue": queue()} | given
    return why(Facts(about, NOW, **known))


def only(answer: Why) -> Reason:
    (reason,) = answer.reasons
    return reason


STANDINGS = [
    ("stopped", None, "is stopped: its rate is 0"),
    ("broken", SOON, f"is broken: after 10 failures in a row nothing starts until {SOON_AT}"),
    ("probing", None, "was broken and is being tried, 3 at a time: how that ends decides"),
    ("full", None, "is full: 8 of 8 run"),
    ("limited", SOON, f"is limited to 100/m: the next start is at {SOON_AT}"),
    ("slowed", SOON, f"is left alone until {SOON_AT}: a task asked for it"),
]


@pytest.mark.parametrize(("standing", "until_us", "words"), STANDINGS)
class TestStandings:
    def test_of_a_queue_are_told_with_their_end(self, standing: Standing, until_us: int | None, words: str) -> None:
        answer = asked(job(), queue=queue(standing, until_us))
        reason = only(answer)
        assert (reason.kind, reason.sentence) == (f"queue_{standing}", f"queue mail {words}")
        assert reason.until_us == answer.starts_us == until_us

    def test_of_a_lane_are_told_with_their_end(self, standing: Standing, until_us: int | None, words: str) -> None:
        answer = asked(job(lane="a"), lane=LaneRecord("a", 1, 8, standing, until_us))
        reason = only(answer)
        assert (reason.kind, reason.sentence) == (f"lane_{standing}", f"lane a of queue mail {words}")
        assert reason.until_us == answer.starts_us == until_us

    def test_of_the_jobs_without_a_lane_too(self, standing: Standing, until_us: int | None, words: str) -> None:
        reason = only(asked(job(), lane=LaneRecord("", 1, 8, standing, until_us)))
        assert reason.sentence == f"queue mail without a lane {words}"

    def test_matter_to_a_later_job_only_if_they_last(
        self, standing: Standing, until_us: int | None, words: str
    ) -> None:
        lasts = standing == "stopped"
        scheduled = asked(job("scheduled", due_us=LATER), queue=queue(standing, until_us))
        assert (len(scheduled.reasons) == 2, scheduled.starts_us == LATER) == (lasts, not lasts)
        waiting = asked(job("waiting", key="k"), queue=queue(standing, until_us))
        assert (len(waiting.reasons) == 2) == lasts, words


def test_what_ends_after_a_job_is_due_is_told_of_it() -> None:
    answer = asked(job("scheduled", due_us=SOON), queue=queue("broken", LATER))
    assert [(reason.kind, reason.until_us) for reason in answer.reasons] == [
        ("scheduled", SOON),
        ("queue_broken", LATER),
    ]
    assert answer.starts_us == LATER


def test_pauses_come_with_the_command_that_ends_them() -> None:
    answer = asked(job(lane="it's"), queue=queue(is_paused=True), lane=LaneRecord("it's", 1, 0, "paused"))
    assert [(one.kind, one.sentence, one.remedy) for one in answer.reasons] == [
        ("queue_paused", "queue mail is paused", "holdfast queue resume mail"),
        ("lane_paused", "lane it's of queue mail is paused", """holdfast queue resume mail --lane 'it'"'"'s'"""),
    ]
    assert answer.starts_us is None


def test_a_paused_queue_that_is_also_limited_opens_nobody_knows_when() -> None:
    answer = asked(job(), queue=queue("limited", SOON, is_paused=True))
    assert [reason.kind for reason in answer.reasons] == ["queue_paused", "queue_limited"]
    assert answer.starts_us is None


def test_the_last_of_several_ends_counts() -> None:
    answer = asked(job(lane="a"), queue=queue("limited", SOON), lane=LaneRecord("a", 1, 0, "slowed", LATER))
    assert (len(answer.reasons), answer.starts_us) == (2, LATER)


class TestEnded:
    def test_a_success_is_told_with_its_time(self) -> None:
        answer = asked(job("succeeded", finished_us=NOW))
        assert answer == Why("j1", "succeeded", NOW, (Reason("succeeded", f"it has succeeded at {AT}"),))

    @pytest.mark.parametrize(
        ("state", "facts", "words"),
        [
            ("failed", {"error": "ValueError: no\nsuch customer"}, f"it has failed at {AT}: ValueError: no"),
            ("failed", {"reason": "crashed"}, f"it has failed at {AT}: crashed"),
            ("cancelled", {"reason": "replaced by job j2"}, f"it was cancelled at {AT}: replaced by job j2"),
            ("expired", {}, f"it has expired at {AT}"),
        ],
    )
    def test_what_can_be_run_again_is_told_with_cause_and_command(
        self, state: str, facts: dict[str, str], words: str
    ) -> None:
        reason = only(asked(job(state, finished_us=NOW, **facts)))
        assert reason == Reason(state, words, None, "holdfast retry j1  runs it again")

    def test_a_long_error_is_cut(self) -> None:
        sentence = only(asked(job("failed", finished_us=NOW, error="x" * 999))).sentence
        assert sentence.endswith("x…")
        assert len(sentence) < 280


class TestRunning:
    RUN = f"run 2 since {AT}, on worker w1"

    def test_it_is_told_since_when_and_where(self) -> None:
        reason = only(asked(job("running", deliveries=2, claimed_us=NOW, worker="w1")))
        assert reason == Reason("running", f"it is running: {self.RUN}")

    def test_that_it_was_asked_to_stop(self) -> None:
        reason = only(asked(job("running", deliveries=2, claimed_us=NOW, worker="w1", cancel_asked=True)))
        assert reason.sentence == f"it is running: {self.RUN}; it was asked to stop"

    def test_a_run_on_a_worker_that_has_no_lease_is_lost(self) -> None:
        reason = only(asked(job("running", deliveries=2, claimed_us=NOW, worker="w1"), workers=()))
        assert (reason.kind, reason.remedy is not None) == ("lost", True)
        assert f"{self.RUN}, which has fallen silent" in reason.sentence


class TestLater:
    @pytest.mark.parametrize(
        ("facts", "kind", "words"),
        [
            ({}, "scheduled", f"it is due at {SOON_AT}"),
            ({"deliveries": 3, "failures": 2, "error": "OSError: away", "reason": "OSError"}, "retrying",
             f"it is tried again at {SOON_AT}, after failure 2: OSError: away"),
            ({"deliveries": 3, "failures": 2, "reason": "night"}, "snoozed",
             f"it has run, and runs again at {SOON_AT}: night"),
        ],
    )  # fmt: skip
    def test_when_and_why_it_is_due(self, facts: dict[str, Any], kind: str, words: str) -> None:
        answer = asked(job("scheduled", due_us=SOON, **facts))
        assert only(answer) == Reason(kind, words, SOON)
        assert answer.starts_us == SOON

    def test_a_spilled_job_waits_for_room(self) -> None:
        answer = asked(job("spilled"))
        assert only(answer) == Reason("spilled", "queue mail is full: it enters when there is room")
        assert answer.starts_us is None

    def test_a_waiting_job_names_the_one_before_it(self) -> None:
        holder = JobRecord("j0", "mail", "shop.send", "running", 0, NOW, NOW, b"", key="k")
        answer = asked(job("waiting", key="k"), holder=holder)
        assert only(answer) == Reason("waiting", "it waits for job j0 of the same key 'k' to end, which is running")
        assert answer.starts_us is None

    def test_one_whose_predecessor_waits_itself_says_where_to_ask_on(self) -> None:
        holder = JobRecord("j0", "mail", "shop.send", "scheduled", 0, NOW, NOW, b"", key="k")
        assert only(asked(job("waiting", key="k"), holder=holder)).remedy == "holdfast why j0"

    @pytest.mark.parametrize(
        ("key", "words"),
        [("k", "it waits for the job that has its key 'k' to end"), (None, "it waits for other jobs to end")],
    )
    def test_one_whose_predecessor_is_not_known_says_what_is(self, key: str | None, words: str) -> None:
        assert only(asked(job("waiting", key=key))).sentence == words

    def test_a_moment_that_is_no_moment_is_told_all_the_same(self) -> None:
        assert str(2**62) in only(asked(job("scheduled", due_us=2**62))).sentence


class TestParked:
    @pytest.mark.parametrize(
        ("reason", "remedy"),
        [
            ("bad signature", "holdfast unpark j1 --reseal  if you know where it comes from"),
            ("arguments do not fit", "mend the cause, then: holdfast unpark j1"),
        ],
    )
    def test_it_comes_with_its_remedy(self, reason: str, remedy: str) -> None:
        answer = asked(job("parked", reason=reason, error="so and so"))
        assert only(answer) == Reason("parked", f"it is parked: {reason}: so and so", None, remedy)
        assert answer.starts_us is None

    def test_an_unknown_task_waits_for_a_worker_that_knows_it(self) -> None:
        parked = job("parked", reason="unknown task", error="no task shop.send here")
        other = WorkerRecord("w2", "host", 1, ("other",))
        assert only(asked(parked, workers=(other,))).remedy == (
            "start a worker whose app has the task shop.send; it takes the job up"
        )
        assert only(asked(parked, workers=(other, WORKER))).sentence == (
            "it is parked: unknown task: no task shop.send here; worker w1 knows it by now, and takes the job up"
        )


class TestWorkers:
    @pytest.mark.parametrize(
        ("workers", "words"),
        [
            ((), "no live worker serves queue mail"),
            ((WorkerRecord("w", "host", 1, ("shop.send",), ("other",)),), "no live worker serves queue mail"),
            ((WorkerRecord("w", "host", 1, ("shop.send",), is_leaving=True),),
             "no live worker serves queue mail any more: those that did are stopping"),
        ],
        ids=["none", "elsewhere", "leaving"],
    )  # fmt: skip
    @pytest.mark.parametrize("state", ["ready", "scheduled"])
    def test_a_queue_that_nobody_serves(self, workers: tuple[WorkerRecord, ...], words: str, state: str) -> None:
        answer = asked(job(state), workers=workers)
        reason = answer.reasons[-1]
        assert (reason.kind, reason.sentence, answer.starts_us) == ("no_worker", words, None)
        assert reason.remedy == "holdfast worker MODULE:APP --queues mail, or without --queues"

    def test_a_task_that_nobody_knows(self) -> None:
        answer = asked(job(), workers=(WorkerRecord("w", "host", 1, ("other",), ("mail",)),))
        assert only(answer).kind == "unknown_task"
        assert "no live worker that serves queue mail knows the task shop.send" in only(answer).sentence
        assert answer.starts_us is None

    def test_one_who_names_no_tasks_takes_all(self) -> None:
        assert only(asked(job(), workers=(WorkerRecord("w", "host", 1),))).kind == "next"


class TestTurn:
    def test_a_job_that_nothing_holds_back_is_next(self) -> None:
        answer = asked(job(), lane=LaneRecord("", 1, 0, "open"))
        assert only(answer) == Reason("next", "nothing holds it back: it goes as soon as a worker has room for it")
        assert answer.starts_us == NOW

    @pytest.mark.parametrize(("order", "first"), [("fifo", "oldest"), ("lifo", "newest")])
    def test_one_among_many_is_told_of_them(self, order: Any, first: str) -> None:
        answer = asked(job(lane="a"), queue=queue(policy=QueuePolicy(order)), lane=LaneRecord("a", 1200, 0, "open"))
        words = (
            f"it is one of 1,200 ready jobs of lane a of queue mail: the highest priority goes first, then the {first}"
        )
        assert (only(answer), answer.starts_us) == (Reason("queued", words), NOW)

    def test_where_priorities_age_it_is_told_what_waiting_is_worth(self) -> None:
        ageing = queue(policy=QueuePolicy(ageing_us=300 * SECOND))
        (reason,) = asked(job(), queue=ageing, lane=LaneRecord("", 2, 0, "open")).reasons
        assert reason.sentence.endswith(
            "the highest priority goes first, and each 5m that a job has been due count as a point of it"
        )

    def test_that_it_is_one_of_many_is_told_beside_what_holds_it_back(self) -> None:
        answer = asked(job(lane="a"), lane=LaneRecord("a", 2, 0, "limited", SOON))
        assert [reason.kind for reason in answer.reasons] == ["lane_limited", "queued"]
        assert answer.starts_us == SOON


class TestExpiry:
    def test_it_is_told_last(self) -> None:
        answer = asked(job(expires_us=LATER))
        assert answer.reasons[-1] == Reason(
            "expires", f"it expires at {LATER_AT}, unless it has started by then", LATER
        )
        assert answer.starts_us == NOW

    def test_one_that_cannot_start_in_time_is_told_so(self) -> None:
        answer = asked(job("scheduled", due_us=LATER, expires_us=SOON))
        assert answer.reasons[-1] == Reason("expires", f"it expires at {SOON_AT}, before it may start", SOON)

    @pytest.mark.parametrize("state", ["running", "succeeded", "expired"])
    def test_once_it_has_started_or_ended_nothing_is_said(self, state: str) -> None:
        assert len(asked(job(state, expires_us=SOON, worker="w1")).reasons) == 1
