"""The store agrees with the model, operation by operation (I41): Hypothesis looks for a program on which it does not.

Every rule does one operation to the model and to the store. What they return is compared at once, and after each
step everything that can be seen: all records, histories, queues, workers. Tokens are random, so the store's are
looked up by the model's, and compared by their delivery number. Stores that agree with the model agree with each other.
"""

from collections.abc import Callable
from itertools import count
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from msgspec.structs import replace

from holdfast.errors import LeaseLost
from holdfast.model.claim import Claim, Progress
from holdfast.model.job import NewJob
from holdfast.model.query import Query
from holdfast.model.queue import NO_OVERLAY, Breaker, Limits, QueueOverlay, QueuePolicy, Rate
from holdfast.model.run import Run
from holdfast.model.seen import SeenMark
from holdfast.model.states import FINAL, STATES
from holdfast.model.verdict import BAD_SEAL, UNKNOWN_TASK, Lost, Outcome, Verdict
from holdfast.model.worker import Rescued, WorkerRecord
from holdfast.policy.moments import SECOND
from holdfast.testing.contract.fixtures import OpenStore
from holdfast.testing.contract.reference_model import Model
from holdfast.testing.contract.virtual_clock import VirtualClock

T = TypeVar("T")

LEAST_OPERATIONS = 60
"""How many a program must do on average: shorter ones prove too little."""
STEPS = 60

QUEUES = ("a", "b", "c")
LANES = (None, None, None, "x", "y", "z")
POLICIES = (
    QueuePolicy(),
    QueuePolicy("lifo"),
    QueuePolicy(weights={"x": 3, "": 2}),
    QueuePolicy(limits=Limits(Rate(SECOND, 2))),
    QueuePolicy("lifo", limits=Limits(max_running=2)),
    QueuePolicy(lane_limits=Limits(Rate(2 * SECOND, 1), max_running=1)),
    QueuePolicy(limits=Limits(breaker=Breaker(2, 2 * SECOND, 1)), lane_limits=Limits(max_running=2)),
    QueuePolicy(lane_limits=Limits(Rate(500_000, 2), breaker=Breaker(1, 3 * SECOND, 2)), weights={"y": 2}),
    QueuePolicy(lane_limits=Limits(Rate(0))),
    QueuePolicy(max_size=3),
    QueuePolicy("lifo", max_size=2, on_full="spill", spill_ttl_us=4 * SECOND),
    QueuePolicy(limits=Limits(max_running=1), max_size=4, on_full="spill"),
    QueuePolicy(ageing_us=2 * SECOND),
    QueuePolicy(lane_limits=Limits(max_running=2), ageing_us=SECOND),
    QueuePolicy(tells_drained=True),
    QueuePolicy(max_size=2, on_full="spill", tells_drained=True),
)
DIGESTS = tuple(letter * 16 for letter in (b"k", b"l", b"m", b"n"))
IDENTITIES: tuple[dict[str, Any], ...] = (
    *[{}] * 4,
    {"key": "k"},
    {"key": "l"},
    {"key": "k", "version": "1"},
    {"key": "k", "version": "2", "on_conflict": "keep"},
    {"key": "k", "runs_after": True},
    {"key": "k", "seen": SeenMark(b"k" * 16)},
    {"key": "m", "seen": SeenMark(b"m" * 16, 3 * SECOND)},
    {"key": "m", "seen": SeenMark(b"m" * 16, forgets_failure=True)},
    {"key": "l", "seen": SeenMark(b"l" * 16, 5 * SECOND, True), "on_conflict": "replace"},
    {"key": "m", "seen": SeenMark(b"m" * 16, forgets_failure=True), "is_forced": True},
    {"key": "k", "on_conflict": "replace"},
    {"key": "k", "on_conflict": "reject"},
    {"key": "l", "fresh_for_us": 3 * SECOND},
    {"key": "l", "fresh_for_us": 3 * SECOND, "is_forced": True},
)
OVERLAYS = (
    NO_OVERLAY,
    QueueOverlay(lane_rate=None),
    QueueOverlay(max_running=1, order="lifo"),
    QueueOverlay(ageing_us=3 * SECOND),
    QueueOverlay(rate=Rate(3 * SECOND, 1), lane_breaker=None),
)
TASKS = ("t1", "t2", "t3")
TAGS = ("red", "blue")
OUTCOMES: tuple[Outcome, ...] = (
    "done", "done", "retry", "failed", "snoozed", "cancelled", "released", "crashed", "parked", "parked",
)  # fmt: skip

numbers = st.integers(0, 63)
"""Picks one of a list, whatever its length."""
seconds = st.sampled_from((0, 1, 2, 5))
judgements = st.tuples(numbers, st.sampled_from(OUTCOMES), seconds)
queue_lists = st.sampled_from((QUEUES, QUEUES, QUEUES[::-1], QUEUES[:2], QUEUES[:1], ("b", "nowhere", "a", "b")))
limits = st.sampled_from((1, 1, 2, 3, 10, 0))
specs = st.tuples(
    st.sampled_from(QUEUES),
    st.sampled_from(TASKS),
    st.sampled_from((0, 0, 1, -1)),
    st.sampled_from(("now", "now", "later", "at", "past")),
    seconds,
    st.sampled_from((None, None, None, None, None, 0, 2, 6)),
    numbers,
    st.sampled_from(LANES),
    st.sampled_from(IDENTITIES),
)


def test_the_store_agrees_with_the_model_operation_by_operation(
    open_store: OpenStore, programs: int, request: pytest.FixtureRequest
) -> None:
    """I41, I39, I6, I9"""
    operations = count()
    run_state_machine_as_test(
        lambda: Program(open_store, operations),  # type: ignore[arg-type]  # documented: a class or a function
        settings=settings(
            max_examples=programs,
            stateful_step_count=STEPS,
            derandomize=True,
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    done = next(operations)
    request.node.user_properties.append(("operations", done))
    assert done >= programs * LEAST_OPERATIONS, f"{programs} programs did only {done:,} operations"


class Program(RuleBasedStateMachine):
    """One program, run by the model and by a new store."""

    def __init__(self, open_store: OpenStore, operations: "count[int]") -> None:
        super().__init__()
        self.clock = VirtualClock()
        self.model = Model(self.clock)
        self.store = open_store(self.clock)
        self.operations = operations
        self.serial = count(1)
        self.ids: list[str] = []
        self.workers: list[str] = []
        self.claims: list[Claim] = []
        self.tokens: dict[str, str] = {}
        """The store's tokens, by the model's."""
        self.ends: dict[tuple[int, int], str] = {}
        """The final state of every job that has one, by arrival and generation."""

    def teardown(self) -> None:
        self.store.close()

    # --- the job path -----------------------------------------------------------------------------------

    @initialize(batch=st.lists(specs, min_size=2, max_size=8))
    def begin(self, batch: list[tuple[Any, ...]]) -> None:
        self.push(batch)

    @rule(batch=st.lists(specs, min_size=1, max_size=3))
    def push(self, batch: list[tuple[Any, ...]]) -> None:
        self._push([self._new_job(f"j{next(self.serial)}", *spec) for spec in batch])

    @rule(spec=specs, which=numbers, twin=specs)
    def push_again(self, spec: tuple[Any, ...], which: int, twin: tuple[Any, ...]) -> None:
        """A known id (which may have been deleted since), and an id twice in one batch."""
        fresh = f"j{next(self.serial)}"
        old = _pick(self.ids or [fresh], which)
        self._push([self._new_job(fresh, *spec), self._new_job(old, *twin), self._new_job(fresh, *twin)])

    @rule(which=numbers, queues=queue_lists, limit=limits, ahead=st.sampled_from((0, 0, 2)))
    def claim(self, which: int, queues: tuple[str, ...], limit: int, ahead: int = 0) -> None:
        worker = self._worker(which)
        running = {job_id for job_id, job in self.model.jobs.items() if job.shown.state == "running"}
        claims = self._agree_on_claims(*self._ask(lambda at: at.claim(worker, queues, limit, ahead=ahead)))
        assert not running & {claim.id for claim in claims}, "a job in a worker's hands was handed out again (I9)"

    @rule(which=numbers, limit=st.sampled_from((1, 2, 3)), judgement=judgements)
    def work(self, which: int, limit: int, judgement: tuple[int, Outcome, int]) -> None:
        """What a worker does all day: claim, run, settle."""
        self.claim(which, QUEUES, limit)
        self.settle([judgement])

    @rule(picks=st.lists(judgements, min_size=1, max_size=3))
    def settle(self, picks: list[tuple[int, Outcome, int]]) -> None:
        verdicts = self._verdicts(picks)
        self._agree_on_lost(*self._ask(lambda at: at.settle(self._for(at, verdicts))))

    @rule(picks=st.lists(judgements, max_size=3), which=numbers, queues=queue_lists, limit=limits)
    def exchange(self, picks: list[tuple[int, Outcome, int]], which: int, queues: tuple[str, ...], limit: int) -> None:
        verdicts = self._verdicts(picks)
        worker = self._worker(which)
        expected, answer = self._ask(lambda at: at.exchange(self._for(at, verdicts), worker, queues, limit))
        self._agree_on_lost(expected[0], answer[0])
        self._agree_on_claims(expected[1], answer[1])

    @rule(which=numbers, fraction=st.sampled_from((None, 0.0, 0.5)), text=st.sampled_from((None, "so far")))
    def note(self, which: int, fraction: float | None, text: str | None) -> None:
        if self.claims:
            claim = self._claim(which)
            note = Progress(claim.id, claim.token, claim.queue, fraction, text)
            self._agree_on_lost(*self._ask(lambda at: at.note(self._for(at, [note]))))

    # --- time, leases, upkeep ---------------------------------------------------------------------------

    @rule(by=st.sampled_from((1, 1, 2, 3, 0.000_001)))
    def advance(self, by: float) -> None:
        """Let time pass, in which most workers beat: else there would soon be none."""
        for worker in self._live()[:2]:
            self._beat(worker)
        self.clock.advance(by)

    @rule(
        event=st.sampled_from(("silence", "beat", "enlist again", "leave", "dismiss", "rescue", "tidy")), which=numbers
    )
    def live_and_die(self, event: str, which: int) -> None:
        worker = self._worker(which)
        if event == "silence":
            self._fall_silent(worker)
        elif event == "beat":
            self._beat(worker)
        elif event == "enlist again":
            self._same(lambda at: at.enlist(WorkerRecord(worker, "host", 1)))
        elif event == "leave":
            self._same(lambda at: at.leave(worker))
        elif event == "dismiss":
            self._same(lambda at: at.dismiss([worker]), lambda at: at.operator.dismiss([worker]))
        elif event == "rescue":
            self._rescue()
        else:
            self._same(lambda at: at.tidy())

    # --- the doors --------------------------------------------------------------------------------------

    @rule(
        act=st.sampled_from(("cancel", "cancel", "retry", "retry", "unpark", "delete")),
        picks=st.lists(numbers, min_size=1, max_size=3),
        seal=st.sampled_from((None, b"new")),
    )
    def operate(self, act: str, picks: list[int], seal: bytes | None) -> None:
        ids = self._ids(picks)
        what = dict.fromkeys(ids, seal) if act == "unpark" else ids
        self._same(lambda at: getattr(at, act)(what), lambda at: getattr(at.operator, act)(what))

    @rule(
        act=st.sampled_from(("pause", "resume", "resume", "purge")),
        queue=st.sampled_from(QUEUES),
        lane=st.sampled_from((None, None, "x", "y")),
    )
    def arrange(self, act: str, queue: str, lane: str | None) -> None:
        given: tuple[Any, ...] = (queue,) if act == "purge" else (queue, lane)
        self._same(lambda at: getattr(at, act)(*given), lambda at: getattr(at.queues, act)(*given))

    @rule(
        act=st.sampled_from(("see", "see", "has_seen", "unsee")),
        queue=st.sampled_from(QUEUES),
        digests=st.lists(st.sampled_from(DIGESTS), max_size=4),
        ttl_s=st.sampled_from((None, None, 2)),
    )
    def mark(self, act: str, queue: str, digests: list[bytes], ttl_s: int | None) -> None:
        given: tuple[Any, ...] = (queue, digests)
        if act == "see":
            given = (*given, None if ttl_s is None else ttl_s * SECOND)
        door = {"see": "add", "has_seen": "has", "unsee": "discard"}[act]
        self._same(lambda at: getattr(at, act)(*given), lambda at: getattr(at.seen, door)(*given))

    @rule(queues=queue_lists, told=st.sampled_from((None, None, 0, 1, 99)))
    def look_for_drains(self, queues: tuple[str, ...], told: int | None) -> None:
        """Look, and mostly act on what is found."""
        expected, answer = self._ask(lambda at: at.find_drained(queues), lambda at: at.queues.find_drained(queues))
        assert answer == expected
        for one in expected:
            self._tell_drained(one.queue, one.number if told is None else told)

    @rule(queue=st.sampled_from(QUEUES), policy=st.sampled_from(POLICIES))
    def declare(self, queue: str, policy: QueuePolicy) -> None:
        self._same(lambda at: at.set_policy(queue, policy), lambda at: at.queues.set_policy(queue, policy))

    @rule(queue=st.sampled_from(QUEUES), overlay=st.sampled_from(OVERLAYS))
    def overlay(self, queue: str, overlay: QueueOverlay) -> None:
        self._same(lambda at: at.set_overlay(queue, overlay), lambda at: at.queues.set_overlay(queue, overlay))

    @rule(
        states=st.lists(st.sampled_from(STATES), max_size=3),
        queue=st.sampled_from((None, None, *QUEUES)),
        task=st.sampled_from((None, None, *TASKS)),
        tag=st.sampled_from((None, None, *TAGS)),
        lane=st.sampled_from((None, None, "", "x", "z")),
        key=st.sampled_from((None, None, None, "k", "l")),
        since=st.sampled_from((None, 0, 3)),
        after=numbers,
        limit=st.sampled_from((1, 3, 100)),
    )
    def look(self, after: int, since: int | None, **options: Any) -> None:
        query = Query(
            **{**options, "states": tuple(options["states"])},
            since_us=None if since is None else self.clock.in_s(-since),
            after=_pick(self.ids, after) if after % 2 and self.ids else None,
        )
        self._same(lambda at: at.find(query), lambda at: at.inspector.find(query))
        self._same(lambda at: at.count(query), lambda at: at.inspector.count(query))
        queues = [query.queue] if query.queue else None
        self._same(lambda at: at.next_due(queues), lambda at: at.inspector.next_due(queues))
        ids = self._ids([after, after // 2])
        self._same(lambda at: at.over(ids), lambda at: at.inspector.watch(ids, 0))

    # --- what must hold after every step ----------------------------------------------------------------

    @invariant()
    def everything_that_can_be_seen_is_the_same(self) -> None:
        """I41, I39"""
        model, store, names = self.model, self.store, self.model.names()
        assert store.inspector.find(Query(limit=10_000)) == model.all()
        assert store.queues.names() == names
        assert [store.queues.get(name) for name in names] == [model.queue(name) for name in names]
        assert [store.queues.lanes(name) for name in names] == [model.lanes(name) for name in names]
        assert [store.seen.get(name).count for name in names] == [model.count_seen(name) for name in names]
        assert store.inspector.workers() == model.live()
        for job_id, job in model.jobs.items():
            assert _plain_runs(store.inspector.history(job_id)) == _plain_runs(job.runs), job_id

    @invariant()
    def a_final_state_absorbs(self) -> None:
        """I6: at most one final state per generation, and no way out of it."""
        for job in self.model.jobs.values():
            place = (job.seq, job.shown.generation)
            if place in self.ends:
                assert job.shown.state == self.ends[place]
            elif job.shown.state in FINAL:
                self.ends[place] = job.shown.state

    # --- inside -----------------------------------------------------------------------------------------

    def _ask(self, model: Callable[[Any], Any], store: Callable[[Any], Any] | None = None) -> tuple[Any, Any]:
        """Do one thing to the model and to the store, and give what each answered."""
        next(self.operations)
        expected = _answer(model, self.model)
        self.model.let_in()
        return expected, _answer(store or model, self.store)

    def _same(self, model: Callable[[Any], Any], store: Callable[[Any], Any] | None = None) -> None:
        """Do one thing to both, to which both must give the same answer."""
        expected, answer = self._ask(model, store)
        assert answer == expected

    def _push(self, batch: list[NewJob]) -> None:
        expected, answer = self._ask(lambda at: at.push(batch))
        assert [(one.id, one.decision) for one in answer] == [(one.id, one.decision) for one in expected]
        self.ids += [new.id for new in batch if new.id not in self.ids]

    def _tell_drained(self, queue: str, number: int) -> None:
        self._same(lambda at: at.tell_drained(queue, number), lambda at: at.queues.tell_drained(queue, number))

    def _beat(self, worker: str) -> None:
        expected, answer = self._ask(lambda at: at.beat(worker))
        assert (answer.is_alive, answer.must_leave) == (expected.is_alive, expected.must_leave)
        assert sorted(answer.cancelled) == sorted(self.tokens[token] for token in expected.cancelled)

    def _agree_on_claims(self, expected: Any, answer: Any) -> list[Claim]:
        """Compare the claims, and learn the store's tokens."""
        if LeaseLost in (expected, answer):
            assert answer == expected
            return []
        claims: list[Claim] = expected
        assert [_plain_claim(claim) for claim in answer] == [_plain_claim(claim) for claim in claims]
        self.tokens |= {claim.token: twin.token for claim, twin in zip(claims, answer, strict=True)}
        self.claims += claims
        return claims

    def _agree_on_lost(self, expected: list[Lost], answer: list[Lost]) -> None:
        assert [(one.id, one.token) for one in answer] == [(one.id, self.tokens[one.token]) for one in expected]
        assert all(one.why for one in answer)

    def _fall_silent(self, survivor: str) -> None:
        """Let time pass that only one worker outlives, then rescue."""
        self.clock.advance(6)
        self._beat(survivor)
        self.clock.advance(6)
        self._rescue()

    def _rescue(self) -> None:
        expected, answer = self._ask(lambda at: at.rescue())
        assert sorted(map(_plain_rescue, answer)) == sorted(map(_plain_rescue, expected))

    def _enlist(self, which: int) -> str:
        worker = f"w{next(self.serial)}"
        self.workers.append(worker)
        record = WorkerRecord(worker, "host", 1, TASKS[: which % 4], lease_us=10 * SECOND)
        self._same(lambda at: at.enlist(record))
        return worker

    def _live(self) -> list[str]:
        return [worker.id for worker in self.model.live()]

    def _worker(self, which: int) -> str:
        """Choose a worker: mostly one of two or three that live, now and then one that does not, or a stranger."""
        if which % 8 == 7:
            return _pick(self.workers or ["nobody"], which // 8)
        live = self._live()
        return self._enlist(which) if len(live) <= which % 3 else live[which % len(live)]

    def _claim(self, which: int) -> Claim:
        """Choose a claim: mostly one that is still in a worker's hands, now and then any that ever was."""
        current = {job.token for job in self.model.jobs.values()}
        held = [claim for claim in self.claims if claim.token in current]
        return _pick(held if held and which % 4 else self.claims, which // 4)

    def _verdicts(self, picks: list[tuple[int, Outcome, int]]) -> list[Verdict]:
        if not self.claims:
            return []
        return [_verdict(self._claim(which), outcome, by) for which, outcome, by in picks]

    def _for(self, at: Any, writes: list[Any]) -> list[Any]:
        """Give the writes with the tokens of the model, or of the store."""
        return writes if at is self.model else [replace(one, token=self.tokens[one.token]) for one in writes]

    def _ids(self, picks: list[int]) -> list[str]:
        return [_pick(self.ids[::-1] or ["nothing"], which) for which in picks]

    def _new_job(
        self, job_id: str, queue: str, task: str, priority: int, when: str, by: int, expires: int | None, mix: int,
        lane: str | None, identity: dict[str, Any],
    ) -> NewJob:  # fmt: skip
        return NewJob(
            id=job_id,
            queue=queue,
            task=task,
            envelope=job_id.encode(),
            seal=b"seal" if mix % 2 else None,
            priority=priority,
            delay_us=by * SECOND if when == "later" else 0,
            at_us={"at": self.clock.in_s(by), "past": self.clock.in_s(-by)}.get(when),
            expires_us=None if expires is None else self.clock.in_s(expires),
            crash_budget=mix % 4,
            keep_done_s=(3, 86_400)[mix // 2 % 2],
            keep_dead_s=(4, 86_400)[mix // 4 % 2],
            result_ttl_s=(2, 86_400)[mix // 8 % 2],
            tags=TAGS[: mix // 16],
            lane=lane,
            **identity,
        )


def _pick(items: list[T], which: int) -> T:
    return items[which % len(items)]


def _answer(act: Callable[[Any], Any], at: Any) -> Any:
    """Give what was answered. A refusal for want of a lease is an answer too."""
    try:
        return act(at)
    except LeaseLost:
        return LeaseLost


def _plain_runs(runs: list[Run]) -> list[Run]:
    return [replace(run, token=run.token.partition("-")[0]) for run in runs]


def _plain_claim(claim: Claim) -> Claim:
    return replace(claim, token=claim.token.partition("-")[0])


def _plain_rescue(dead: Rescued) -> tuple[str, list[str]]:
    return dead.worker, sorted(dead.jobs)


def _verdict(claim: Claim, outcome: Outcome, by: int) -> Verdict:
    bare = Verdict(claim.id, claim.token, claim.queue, outcome, took_us=by)
    if outcome in ("done", "failed") and by == 1:
        bare = replace(bare, again_us=2 * SECOND)
    if outcome == "done":
        return replace(bare, result=(None, b"", b"42")[by % 3])
    if outcome == "parked":
        return replace(bare, reason=(UNKNOWN_TASK, BAD_SEAL)[by % 2], error="set aside")
    if outcome in ("retry", "snoozed"):
        bare = replace(bare, delay_us=by * SECOND, slows_us=SECOND if (outcome, by) == ("snoozed", 2) else 0)
    if outcome in ("retry", "failed", "crashed"):
        return replace(bare, reason="raised", error="it broke", traceback="tb")
    return bare
