"""All stores agree with the model, operation by operation (I41): Hypothesis looks for a program on which they do not.

Every rule does one operation to the model and to every store. What they return is compared at once, and after each
step everything that can be seen: all records, histories, queues, workers. Tokens are random, so each store's are
looked up by the model's, and compared by their delivery number.
"""

import shutil
import tempfile
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from msgspec.structs import replace

from holdfast.errors import LeaseLost
from holdfast.model.claim import Claim, Progress
from holdfast.model.job import NewJob
from holdfast.model.query import Query
from holdfast.model.queue import QueuePolicy
from holdfast.model.run import Run
from holdfast.model.states import FINAL, STATES
from holdfast.model.verdict import BAD_SEAL, UNKNOWN_TASK, Lost, Outcome, Verdict
from holdfast.model.worker import Beat, Rescued, WorkerRecord
from holdfast.policy.moments import SECOND
from holdfast.store.protocol import Store
from tests.support.clock import VirtualClock
from tests.support.model import Model
from tests.support.stores import KINDS, open_store

LEAST_OPERATIONS = 20_000
STEPS = 50
GROUPS = {("memory", "split", "sqlite"): 800, ("postgres",): 400, ("valkey",): 400}
"""Which stores are driven together, and by how many programs. Each group is a test of its own, so that they run at once."""
SHARED_MEMORY = Path("/dev/shm")

QUEUES = ("a", "b", "c")
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
)


class Operations:
    """How many were done, over all examples: a run that did too few proves too little."""

    done = 0


class Stores(RuleBasedStateMachine):
    """One program, run by the model and by every store of a group."""

    kinds: tuple[str, ...] = KINDS

    def __init__(self) -> None:
        super().__init__()
        self.clock = VirtualClock()
        self.model = Model(self.clock)
        base = SHARED_MEMORY if SHARED_MEMORY.is_dir() else None
        self.folder = Path(tempfile.mkdtemp(prefix="holdfast-model-", dir=base))
        self.stores: dict[str, Store] = {
            kind: open_store(kind, self.folder, self.clock, tier="fast") for kind in self.kinds
        }
        self.serial = count(1)
        self.ids: list[str] = []
        self.workers: list[str] = []
        self.claims: list[Claim] = []
        self.tokens: dict[str, dict[str, str]] = {}
        """Each store's token, by the model's."""
        self.ends: dict[tuple[int, int], str] = {}
        """The final state of every job that has one, by arrival and generation."""

    def teardown(self) -> None:
        for store in self.stores.values():
            store.close()
        shutil.rmtree(self.folder)

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
        old = self._pick(self.ids, which, fresh)
        self._push([self._new_job(fresh, *spec), self._new_job(old, *twin), self._new_job(fresh, *twin)])

    @rule(which=numbers, queues=queue_lists, limit=limits)
    def claim(self, which: int, queues: tuple[str, ...], limit: int) -> None:
        worker = self._worker(which)
        running = {job_id for job_id, job in self.model.jobs.items() if job.shown.state == "running"}
        claims = self._agree_on_claims(self._ask(lambda at, _: at.claim(worker, queues, limit)))
        assert not running & {claim.id for claim in claims}, "a job in a worker's hands was handed out again (I9)"

    @rule(which=numbers, limit=st.sampled_from((1, 2, 3)), judgement=judgements)
    def work(self, which: int, limit: int, judgement: tuple[int, Outcome, int]) -> None:
        """What a worker does all day: claim, run, settle."""
        self.claim(which, QUEUES, limit)
        self.settle([judgement])

    @rule(picks=st.lists(judgements, min_size=1, max_size=3))
    def settle(self, picks: list[tuple[int, Outcome, int]]) -> None:
        verdicts = self._verdicts(picks)
        self._agree_on_lost(self._ask(lambda at, kind: at.settle(self._for(kind, verdicts))))

    @rule(picks=st.lists(judgements, max_size=3), which=numbers, queues=queue_lists, limit=limits)
    def exchange(self, picks: list[tuple[int, Outcome, int]], which: int, queues: tuple[str, ...], limit: int) -> None:
        verdicts = self._verdicts(picks)
        worker = self._worker(which)
        answers = self._ask(lambda at, kind: at.exchange(self._for(kind, verdicts), worker, queues, limit))
        self._agree_on_lost({kind: lost for kind, (lost, _) in answers.items()})
        self._agree_on_claims({kind: claims for kind, (_, claims) in answers.items()})

    @rule(which=numbers, fraction=st.sampled_from((None, 0.0, 0.5)), text=st.sampled_from((None, "so far")))
    def note(self, which: int, fraction: float | None, text: str | None) -> None:
        if self.claims:
            claim = self._claim(which)
            note = Progress(claim.id, claim.token, claim.queue, fraction, text)
            self._agree_on_lost(self._ask(lambda at, kind: at.note(self._for(kind, [note]))))

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
            self._same(self._ask(lambda at, _: at.enlist(WorkerRecord(worker, "host", 1))))
        elif event == "leave":
            self._same(self._ask(lambda at, _: at.leave(worker)))
        elif event == "dismiss":
            self._same(self._ask(lambda at, _: at.dismiss([worker]), lambda at, _: at.operator.dismiss([worker])))
        elif event == "rescue":
            self._rescue()
        else:
            self._same(self._ask(lambda at, _: at.tidy()))

    # --- the doors --------------------------------------------------------------------------------------

    @rule(
        act=st.sampled_from(("cancel", "cancel", "retry", "retry", "unpark", "delete")),
        picks=st.lists(numbers, min_size=1, max_size=3),
        seal=st.sampled_from((None, b"new")),
    )
    def operate(self, act: str, picks: list[int], seal: bytes | None) -> None:
        ids = self._ids(picks)
        what = dict.fromkeys(ids, seal) if act == "unpark" else ids
        self._same(self._ask(lambda at, _: getattr(at, act)(what), lambda at, _: getattr(at.operator, act)(what)))

    @rule(
        act=st.sampled_from(("pause", "resume", "resume", "lifo", "fifo", "purge")),
        queue=st.sampled_from(QUEUES),
    )
    def arrange(self, act: str, queue: str) -> None:
        arguments: tuple[Any, ...] = (queue,)
        if act in ("lifo", "fifo"):
            arguments = (queue, QueuePolicy("lifo" if act == "lifo" else "fifo"))
            act = "set_policy"
        self._same(
            self._ask(lambda at, _: getattr(at, act)(*arguments), lambda at, _: getattr(at.queues, act)(*arguments))
        )

    @rule(
        states=st.lists(st.sampled_from(STATES), max_size=3),
        queue=st.sampled_from((None, None, *QUEUES)),
        task=st.sampled_from((None, None, *TASKS)),
        tag=st.sampled_from((None, None, *TAGS)),
        since=st.sampled_from((None, 0, 3)),
        after=numbers,
        limit=st.sampled_from((1, 3, 100)),
    )
    def look(self, after: int, since: int | None, **options: Any) -> None:
        query = Query(
            **{**options, "states": tuple(options["states"])},
            since_us=None if since is None else self.clock.in_s(-since),
            after=self._pick(self.ids, after, None) if after % 2 else None,
        )
        self._same(self._ask(lambda at, _: at.find(query), lambda at, _: at.inspector.find(query)))
        self._same(self._ask(lambda at, _: at.count(query), lambda at, _: at.inspector.count(query)))
        queues = [query.queue] if query.queue else None
        self._same(self._ask(lambda at, _: at.next_due(queues), lambda at, _: at.inspector.next_due(queues)))
        ids = self._ids([after, after // 2])
        self._same(self._ask(lambda at, _: at.over(ids), lambda at, _: at.inspector.watch(ids, 0)))

    # --- what must hold after every step ----------------------------------------------------------------

    @invariant()
    def everything_that_can_be_seen_is_the_same(self) -> None:
        """I41, I39"""
        records, names, live = self.model.all(), self.model.names(), self.model.live()
        queues = [self.model.queue(name) for name in names]
        runs = {job_id: self._plain_runs(job.runs) for job_id, job in self.model.jobs.items()}
        for kind, store in self.stores.items():
            assert store.inspector.find(Query(limit=10_000)) == records, kind
            assert store.queues.names() == names, kind
            assert [store.queues.get(name) for name in names] == queues, kind
            assert store.inspector.workers() == live, kind
            for job_id, expected in runs.items():
                assert self._plain_runs(store.inspector.history(job_id)) == expected, (kind, job_id)

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

    def _ask(self, model: Callable[[Any, str], Any], store: Callable[[Any, str], Any] | None = None) -> dict[str, Any]:
        """Do one thing to the model and to every store. A refusal for want of a lease is an answer too."""
        Operations.done += 1
        answers = {"model": _answer(model, self.model, "model")}
        for kind, one in self.stores.items():
            answers[kind] = _answer(store or model, one, kind)
        return answers

    def _same(self, answers: dict[str, Any]) -> None:
        for kind, answer in answers.items():
            assert answer == answers["model"], f"{kind} and the model do not agree"

    def _push(self, batch: list[NewJob]) -> None:
        answers = self._ask(lambda at, _: at.push(batch))
        self._same({kind: [(one.id, one.decision) for one in answer] for kind, answer in answers.items()})
        self.ids += [new.id for new in batch if new.id not in self.ids]

    def _beat(self, worker: str) -> None:
        answers: dict[str, Beat] = self._ask(lambda at, _: at.beat(worker))
        asked = {kind: sorted(answer.cancelled) for kind, answer in answers.items()}
        self._same({kind: (answer.is_alive, answer.must_leave) for kind, answer in answers.items()})
        for kind in self.stores:
            assert asked[kind] == sorted(self.tokens[token][kind] for token in asked["model"]), kind

    def _agree_on_claims(self, answers: dict[str, Any]) -> list[Claim]:
        """Compare the claims, and learn each store's tokens."""
        if answers["model"] == LeaseLost:
            self._same(answers)
            return []
        claims: list[Claim] = answers["model"]
        plain = {kind: [_plain_claim(claim) for claim in answer] for kind, answer in answers.items()}
        self._same(plain)
        for place, claim in enumerate(claims):
            self.tokens[claim.token] = {kind: answers[kind][place].token for kind in self.stores}
        self.claims += claims
        return claims

    def _agree_on_lost(self, answers: dict[str, list[Lost]]) -> None:
        lost = [(one.id, one.token) for one in answers["model"]]
        for kind in self.stores:
            expected = [(job_id, self.tokens[token][kind]) for job_id, token in lost]
            assert [(one.id, one.token) for one in answers[kind]] == expected, kind
            assert all(one.why for one in answers[kind]), kind

    def _plain_runs(self, runs: list[Run]) -> list[Run]:
        return [replace(run, token=run.token.partition("-")[0]) for run in runs]

    def _fall_silent(self, survivor: str) -> None:
        """Let time pass that only one worker outlives, then rescue."""
        self.clock.advance(6)
        self._beat(survivor)
        self.clock.advance(6)
        self._rescue()

    def _rescue(self) -> None:
        answers = self._ask(lambda at, _: at.rescue())
        self._same({kind: sorted(map(_plain_rescue, answer)) for kind, answer in answers.items()})

    def _enlist(self, which: int) -> str:
        worker = f"w{next(self.serial)}"
        self.workers.append(worker)
        record = WorkerRecord(worker, "host", 1, TASKS[: which % 4], lease_us=10 * SECOND)
        self._same(self._ask(lambda at, _: at.enlist(record)))
        return worker

    def _live(self) -> list[str]:
        return [worker.id for worker in self.model.live()]

    def _worker(self, which: int) -> str:
        """Choose a worker: mostly one of two or three that live, now and then one that does not, or a stranger."""
        if which % 8 == 7:
            return self._pick(self.workers, which // 8, "nobody")
        live = self._live()
        return self._enlist(which) if len(live) <= which % 3 else live[which % len(live)]

    def _claim(self, which: int) -> Claim:
        """Choose a claim: mostly one that is still in a worker's hands, now and then any that ever was."""
        current = {job.token for job in self.model.jobs.values()}
        held = [claim for claim in self.claims if claim.token in current]
        return self._pick(held if held and which % 4 else self.claims, which // 4)

    def _verdicts(self, picks: list[tuple[int, Outcome, int]]) -> list[Verdict]:
        if not self.claims:
            return []
        return [_verdict(self._claim(which), outcome, by) for which, outcome, by in picks]

    def _for(self, kind: str, writes: list[Any]) -> list[Any]:
        """Give the writes with the tokens of this store."""
        if kind == "model":
            return writes
        return [replace(write, token=self.tokens[write.token][kind]) for write in writes]

    def _ids(self, picks: list[int]) -> list[str]:
        return [self._pick(self.ids[::-1], which, "nothing") for which in picks]

    def _pick(self, items: list[Any], which: int, default: Any = None) -> Any:
        return items[which % len(items)] if items else default

    def _new_job(
        self, job_id: str, queue: str, task: str, priority: int, when: str, by: int, expires: int | None, mix: int
    ) -> NewJob:
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
        )


def _answer(act: Callable[[Any, str], Any], at: Any, kind: str) -> Any:
    try:
        return act(at, kind)
    except LeaseLost:
        return LeaseLost


def _plain_claim(claim: Claim) -> Claim:
    return replace(claim, token=claim.token.partition("-")[0])


def _plain_rescue(dead: Rescued) -> tuple[str, list[str]]:
    return dead.worker, sorted(dead.jobs)


def _verdict(claim: Claim, outcome: Outcome, by: int) -> Verdict:
    bare = Verdict(claim.id, claim.token, claim.queue, outcome, took_us=by)
    if outcome == "done":
        return replace(bare, result=(None, b"", b"42")[by % 3])
    if outcome == "parked":
        return replace(bare, reason=(UNKNOWN_TASK, BAD_SEAL)[by % 2], error="set aside")
    if outcome in ("retry", "snoozed"):
        bare = replace(bare, delay_us=by * SECOND)
    if outcome in ("retry", "failed", "crashed"):
        return replace(bare, reason="raised", error="it broke", traceback="tb")
    return bare


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kinds", GROUPS, ids="+".join)
def test_all_stores_agree_operation_by_operation(kinds: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """I41, I39, I6, I9"""
    Operations.done = 0
    run_state_machine_as_test(
        type("Group", (Stores,), {"kinds": kinds}),
        settings=settings(
            max_examples=GROUPS[kinds],
            stateful_step_count=STEPS,
            derandomize=True,
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    with capsys.disabled():
        print(f"[model: {Operations.done:,} operations on {', '.join(kinds)}] ", end="")
    assert Operations.done >= LEAST_OPERATIONS


def test_no_store_is_left_out() -> None:
    assert sorted(kind for kinds in GROUPS for kind in kinds) == sorted(KINDS)
