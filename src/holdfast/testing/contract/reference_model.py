"""What a store does, written to be read: plain dicts and lists, everything sorted and searched on every call.

Slow, and obviously right. It shares with the real stores only the rules that are data or pure functions (`MOVES`,
`seen_as`, `land`, `policy.flow`, `policy.identity`,
`policy.bounds`); how they are applied is written here a second time. Its tokens are
`number-m<claim>`, so the part before the dash is comparable with any store's.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count

from msgspec.structs import replace as changed

from holdfast.errors import LeaseLost
from holdfast.model.claim import Claim, Progress
from holdfast.model.job import JobRecord, NewJob, Pushed
from holdfast.model.query import Query, Tidied
from holdfast.model.queue import NO_OVERLAY, Drained, LaneRecord, QueueOverlay, QueuePolicy, QueueRecord, Standing
from holdfast.model.run import Run
from holdfast.model.states import FINAL, RETRIABLE, State, is_move, seen_as
from holdfast.model.verdict import CRASHED, UNKNOWN_TASK, Lost, Verdict
from holdfast.model.worker import Beat, Rescued, WorkerRecord
from holdfast.policy import flow as rules
from holdfast.policy.ageing import LONGEST_US
from holdfast.policy.bounds import has_room, refused, spilled, spilled_until_us
from holdfast.policy.flow import HELD, Flow, result_of
from holdfast.policy.identity import Holder, KeyState, Ruling, Success, is_needless, remembered_until_us, rule, seen
from holdfast.policy.landing import land
from holdfast.policy.moments import SECOND
from holdfast.policy.overlay import overlaid
from holdfast.store.protocol import Clock

FIFO = QueuePolicy("fifo")
UNSTARTED: tuple[State, ...] = ("waiting", "scheduled", "ready", "parked", "spilled")


SIZED: tuple[State, ...] = ("waiting", "scheduled", "ready")


@dataclass
class ModelJob:
    """A job: what was pushed, what a reader sees (`shown`), and what readers do not see."""

    new: NewJob
    seq: int
    shown: JobRecord
    token: str | None = None
    runs: list[Run] = field(default_factory=list)

    def set(self, **values: object) -> None:
        self.shown = changed(self.shown, **values)

    def move(self, state: State, **values: object) -> None:
        assert is_move(self.shown.state, state), f"{self.new.id}: {self.shown.state} to {state}"
        self.set(state=state, **values)

    def finish(self, state: State, now: int, **values: object) -> None:
        keep_s = self.new.keep_done_s if state == "succeeded" else self.new.keep_dead_s
        self.move(state, finished_us=now, keep_until_us=now + keep_s * SECOND, **values)


@dataclass
class ModelWorker:
    record: WorkerRecord
    beaten_us: int
    has_ended: bool = False


@dataclass
class ModelQueue:
    """A queue. It flows once it has had a lane or a limit: only then are turns counted."""

    declared: QueuePolicy = FIFO
    overlay: QueueOverlay = NO_OVERLAY
    is_paused: bool = False
    is_flowing: bool = False
    flow: Flow = field(default_factory=Flow)
    lanes: dict[str, Flow] = field(default_factory=dict)
    refused: int = 0
    successes: dict[str, Success] = field(default_factory=dict)
    """The last success under each key, for ever: one that is past its term counts for nothing."""
    seen: dict[bytes, float] = field(default_factory=dict)
    """Until when each key counts as seen."""

    @property
    def policy(self) -> QueuePolicy:
        return overlaid(self.declared, self.overlay)

    def lane(self, name: str) -> Flow:
        return self.lanes.setdefault(name, Flow())


class Model:
    """The job path, the leases and the doors of a store, on a virtual clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._numbers = count(1)
        self.jobs: dict[str, ModelJob] = {}
        self._queues: dict[str, ModelQueue] = {}
        self.workers: dict[str, ModelWorker] = {}

    # --- the job path -----------------------------------------------------------------------------------

    def push(self, new_jobs: Sequence[NewJob]) -> list[Pushed]:
        return [self._push(new) for new in new_jobs]

    def _push(self, new: NewJob) -> Pushed:
        now = self._clock()
        queue = self._queues.setdefault(new.queue, ModelQueue())
        if new.id in self.jobs:
            return Pushed(new.id, "duplicate")
        ruling = Ruling("create", Pushed(new.id, "created"))
        if new.key is not None:
            ruling = rule(new, self._known(new.queue, new.key), now)
        mark = new.seen
        was_seen = mark is not None and queue.seen.get(mark.digest, 0) > now
        if ruling.act in ("create", "follow", "replace") and is_needless(new, was_seen):
            return seen(new.id)
        target = None if ruling.target is None else self.jobs[ruling.target]
        freed = ruling.act == "replace" and target is not None and target.shown.state in SIZED
        if ruling.act in ("create", "follow", "replace") and not has_room(queue.policy, self._size(new.queue) - freed):
            if queue.policy.on_full == "spill" and ruling.act == "create":
                self._store(new, queue, "spilled")
                return spilled(new.id, queue.policy)
            queue.refused += 1
            return refused(new.id)
        if ruling.act == "merge" and target is not None:
            due = min(target.shown.due_us, self._due_us(new))
            target.set(priority=max(target.shown.priority, new.priority), due_us=due)
        elif ruling.act == "follow":
            if target is not None:
                target.set(cancel_asked=True)
            self._store(new, queue, "waiting")
        elif ruling.act == "replace" and target is not None:
            was_waiting = target.shown.state == "waiting"
            doomed = [target] if was_waiting else [*self._waiting_for(target), target]
            for job in doomed:
                self._finish(job, "cancelled", now, reason=f"replaced by job {new.id}")
            self._store(new, queue, "waiting" if was_waiting else None)
        elif ruling.act == "create":
            self._store(new, queue)
        return ruling.answer

    def _known(self, queue: str, key: str) -> KeyState:
        unfinished = [job for job in self._in(queue) if job.new.key == key and job.shown.state not in FINAL]
        holders = [job for job in unfinished if job.shown.state != "waiting"]
        waiting = [job for job in unfinished if job.shown.state == "waiting"]
        assert len(holders) <= 1, "two jobs hold one key (I23)"
        assert len(waiting) <= len(holders), "a successor waits for nobody, or two for one"
        success = self._queues[queue].successes.get(key)
        return KeyState(_holder(holders), _holder(waiting), success)

    def _waiting_for(self, holder: ModelJob) -> list[ModelJob]:
        return [job for job in self._in(holder.new.queue, "waiting") if job.new.key == holder.new.key]

    def _let_go(self) -> None:
        """Have each successor whose holder has ended or gone take its place."""
        for name in self._queues:
            held = {job.new.key for job in self._in(name) if job.shown.state not in (*FINAL, "waiting")}
            for job in self._in(name, "waiting"):
                if job.new.key not in held:
                    job.move("scheduled")

    def _size(self, queue: str) -> int:
        return len(self._in(queue, *SIZED))

    def let_in(self) -> None:
        """Let spilled jobs in where there is room. Every operation ends with it."""
        for name, queue in self._queues.items():
            waiting = sorted(self._in(name, "spilled"), key=lambda job: (-job.shown.priority, job.seq))
            for job in waiting:
                if has_room(queue.policy, self._size(name)):
                    job.move("scheduled", expires_us=job.new.expires_us)

    def _due_us(self, new: NewJob) -> int:
        now = self._clock()
        return max(now, now + new.delay_us if new.at_us is None else new.at_us)

    def _store(self, new: NewJob, queue: ModelQueue, state: State | None = None) -> None:
        now, due = self._clock(), self._due_us(new)
        shown = JobRecord(
            id=new.id, queue=new.queue, task=new.task, state=state or ("scheduled" if due > now else "ready"),
            priority=new.priority, due_us=due, created_us=now, envelope=new.envelope, seal=new.seal,
            expires_us=new.expires_us, crash_budget=new.crash_budget, tags=new.tags, lane=new.lane,
            key=new.key, version=new.version,
        )  # fmt: skip
        if state == "spilled":
            shown = changed(shown, expires_us=spilled_until_us(queue.policy, new.expires_us, now))
        queue.is_flowing |= new.lane is not None
        self.jobs[new.id] = ModelJob(new, next(self._numbers), shown)
        if new.seen is not None:
            self.see(new.queue, [new.seen.digest], new.seen.ttl_us)

    def see(self, queue: str, digests: Sequence[bytes], ttl_us: int | None = None) -> list[bool]:
        now, known = self._clock(), self._queues.setdefault(queue, ModelQueue()).seen
        answers: list[bool] = []
        for digest in digests:
            answers.append(is_new := known.get(digest, 0) <= now)
            if is_new:
                known[digest] = math.inf if ttl_us is None else now + ttl_us
        return answers

    def has_seen(self, queue: str, digests: Sequence[bytes]) -> list[bool]:
        known = self._queues[queue].seen if queue in self._queues else {}
        return [known.get(digest, 0) > self._clock() for digest in digests]

    def unsee(self, queue: str, digests: Sequence[bytes]) -> list[bool]:
        known = self._queues[queue].seen if queue in self._queues else {}
        return [known.pop(digest, 0) > self._clock() for digest in digests]

    def count_seen(self, queue: str) -> int:
        return sum(until > self._clock() for until in self._queues[queue].seen.values())

    def _finish(self, job: ModelJob, state: State, now: int, **values: object) -> None:
        """End a job. Its key is forgotten if it asked for that and did not succeed; a success is marked again."""
        job.finish(state, now, **values)
        mark = job.new.seen
        if mark is None or not mark.forgets_failure:
            return
        if state == "succeeded":
            self.see(job.new.queue, [mark.digest], mark.ttl_us)
        else:
            self.unsee(job.new.queue, [mark.digest])

    def claim(self, worker: str, queues: Sequence[str], limit: int, *, ahead: int = 0) -> list[Claim]:
        if not self._is_live(worker):
            raise LeaseLost(worker)
        claims: list[Claim] = []
        for name in dict.fromkeys(queues):
            queue = self._queues.get(name)
            if queue is not None and not queue.is_paused:
                most = limit - len(claims) + (0 if queue.policy.is_limited else ahead)
                claims += self._claim_from(name, worker, most) if most > 0 else []
        return claims

    def _claim_from(self, queue: str, worker: str, limit: int) -> list[Claim]:
        now = self._clock()
        self._expire(queue)
        for job in self._in(queue, "scheduled"):
            if job.shown.due_us <= now:
                job.move("ready")
        known = self.workers[worker].record.tasks
        orphans = [job for job in self._in(queue, "parked") if job.shown.reason == UNKNOWN_TASK]
        for job in [job for job in orphans if job.new.task in known][:limit]:
            job.move("ready", reason=None, error=None, traceback=None)
        return self._serve(queue, worker, limit)

    def _serve(self, name: str, worker: str, limit: int) -> list[Claim]:
        """Hand out one job at a time, each the best of the lane whose turn it is."""
        now, queue, claims = self._clock(), self._queues[name], list[Claim]()
        for lane in self._eligible(name) if queue.is_flowing else ():
            rules.join(queue.lane(lane), queue.flow, queue.policy.weights.get(lane, 1))
        while len(claims) < limit and self._is_open(name) and (eligible := self._eligible(name)):
            lane = min(eligible, key=lambda lane: (queue.lane(lane).turn, lane))
            claims.append(self._take(self._best(name, lane), worker, now))
            if queue.is_flowing:
                rules.start(queue.flow, queue.policy.limits, now)
                rules.start(queue.lane(lane), queue.policy.lane_limits, now)
                rules.serve(queue.lane(lane), queue.flow, queue.policy.weights.get(lane, 1))
        return claims

    def _eligible(self, name: str) -> set[str]:
        """Give the lanes that have a ready job and may start it."""
        return {lane for lane in self._lanes_of(name, "ready") if self._lane_standing(name, lane)[0] == "open"}

    def _is_open(self, name: str) -> bool:
        return self._standing(name)[0] == "open"

    def _standing(self, name: str) -> tuple[Standing, int | None]:
        queue = self._queues[name]
        return rules.standing(queue.flow, queue.policy.limits, len(self._in(name, "running")), self._clock())

    def _lane_standing(self, name: str, lane: str) -> tuple[Standing, int | None]:
        queue, running = self._queues[name], self._lanes_of(name, "running").count(lane)
        return rules.standing(queue.lane(lane), queue.policy.lane_limits, running, self._clock())

    def _lanes_of(self, name: str, state: State) -> list[str]:
        return [job.new.lane or "" for job in self._in(name, state)]

    def _best(self, name: str, lane: str) -> ModelJob:
        policy = self._queues[name].policy
        return min(
            (job for job in self._in(name, "ready") if (job.new.lane or "") == lane),
            key=lambda job: _rank(job, policy),
        )

    def _take(self, job: ModelJob, worker: str, now: int) -> Claim:
        number = job.shown.deliveries + 1
        job.token = f"{number}-m{next(self._numbers)}"
        job.move("running", deliveries=number, worker=worker, claimed_us=now, progress=None, progress_note=None)
        shown = job.shown
        return Claim(
            shown.id, job.token, shown.queue, shown.task, shown.envelope, shown.seal,
            shown.failures, shown.crashes, shown.crash_budget, now, shown.due_us,
            self._queues[shown.queue].policy.is_limited,
        )  # fmt: skip

    def _expire(self, queue: str) -> int:
        now = self._clock()
        over = [
            job
            for job in self._in(queue, *UNSTARTED)
            if job.shown.expires_us is not None and job.shown.expires_us <= now
        ]
        for job in over:
            self._finish(job, "expired", now, reason="expired")
        self._let_go()
        return len(over)

    def settle(self, verdicts: Sequence[Verdict]) -> list[Lost]:
        lost: list[Lost] = []
        for verdict in verdicts:
            job = self.jobs.get(verdict.id)
            if job is None or job.token != verdict.token:
                lost.append(Lost(verdict.id, verdict.token, "lost"))
            else:
                self._land(job, verdict)
        return lost

    def _land(self, job: ModelJob, verdict: Verdict) -> None:
        now, old = self._clock(), job.shown
        self._tell_flows(job, verdict, now)
        landing = land(
            verdict, due_us=old.due_us, failures=old.failures, crashes=old.crashes, crash_budget=old.crash_budget,
            cancel_asked=old.cancel_asked, now_us=now,
        )  # fmt: skip
        assert old.worker is not None
        assert old.claimed_us is not None
        run = Run(
            old.id, old.deliveries, old.generation, old.worker, verdict.token, old.claimed_us, now,
            verdict.took_us, verdict.outcome, verdict.reason, verdict.error, verdict.traceback,
        )  # fmt: skip
        if verdict.is_of_a_run:
            job.runs = [*job.runs, run][-10:]
        job.token = None
        job.set(
            worker=None, claimed_us=None, due_us=landing.due_us, failures=landing.failures,
            crashes=landing.crashes, expires_us=None if landing.forgets_expiry else old.expires_us,
            generation=old.generation + landing.begins_anew,
        )  # fmt: skip
        if verdict.outcome == "done" and job.new.key is not None:
            until = remembered_until_us(job.new.keep_done_s, job.new.fresh_for_us, now)
            self._queues[old.queue].successes[job.new.key] = Success(old.id, now, until, job.new.version)
        if landing.state == "succeeded":
            job.set(result=verdict.result, result_until_us=now + job.new.result_ttl_s * SECOND)
        if verdict.outcome == "done":
            job.set(reason=None, error=None, traceback=None)
        elif verdict.outcome != "released" or landing.state == "cancelled":
            job.set(reason=landing.reason, error=verdict.error, traceback=verdict.traceback)
        if landing.state in FINAL:
            self._finish(job, landing.state, now)
            self._let_go()
        else:
            job.move(landing.state)

    def _tell_flows(self, job: ModelJob, verdict: Verdict, now: int) -> None:
        queue, lane, result = self._queues[job.new.queue], job.new.lane or "", result_of(verdict.outcome)
        rules.end(queue.flow, queue.policy.limits, result, now)
        rules.end(queue.lane(lane), queue.policy.lane_limits, result, now)
        if verdict.slows_us:
            queue.is_flowing = True
            rules.slow(queue.lane(lane) if lane else queue.flow, now + verdict.slows_us)

    def exchange(
        self, verdicts: Sequence[Verdict], worker: str, queues: Sequence[str], limit: int, *, ahead: int = 0
    ) -> tuple[list[Lost], list[Claim]]:
        lost = self.settle(verdicts)
        return lost, self.claim(worker, queues, limit, ahead=ahead) if self._is_live(worker) else []

    def note(self, notes: Sequence[Progress]) -> list[Lost]:
        lost: list[Lost] = []
        for note in notes:
            job = self.jobs.get(note.id)
            if job is None or job.token != note.token:
                lost.append(Lost(note.id, note.token, "lost"))
            else:
                job.set(progress=note.fraction, progress_note=note.note)
        return lost

    # --- leases -----------------------------------------------------------------------------------------

    def enlist(self, record: WorkerRecord) -> None:
        if record.id in self.workers:
            raise LeaseLost(record.id)
        now = self._clock()
        self.workers[record.id] = ModelWorker(changed(record, started_us=now), now)

    def beat(self, worker: str) -> Beat:
        if not self._is_live(worker):
            return Beat(is_alive=False)
        self.workers[worker].beaten_us = self._clock()
        asked = [job.token for job in self._held(worker) if job.shown.cancel_asked and job.token]
        return Beat(is_alive=True, cancelled=tuple(asked), must_leave=self.workers[worker].record.is_leaving)

    def dismiss(self, workers: list[str]) -> list[str]:
        live = [worker for worker in dict.fromkeys(workers) if self._is_live(worker)]
        for worker in live:
            self.workers[worker].record = changed(self.workers[worker].record, is_leaving=True)
        return live

    def leave(self, worker: str) -> None:
        if worker in self.workers:
            self.workers[worker].has_ended = True
        for job in self._held(worker):
            self._land(job, Verdict(job.new.id, job.token or "", job.new.queue, "released"))

    def rescue(self) -> list[Rescued]:
        silent = [worker for worker, one in self.workers.items() if not one.has_ended and not self._is_live(worker)]
        return [self._bury(worker) for worker in silent]

    def _bury(self, worker: str) -> Rescued:
        self.workers[worker].has_ended = True
        error = f"worker {worker} fell silent: its lease ended"
        held = self._held(worker)
        for job in held:
            verdict = Verdict(job.new.id, job.token or "", job.new.queue, "crashed", reason=CRASHED, error=error)
            self._land(job, verdict)
        return Rescued(worker, tuple(job.new.id for job in held))

    def tidy(self) -> Tidied:
        now = self._clock()
        expired = sum(self._expire(queue) for queue in self._queues)
        ripe = [job for job in self.jobs.values() if (job.shown.keep_until_us or now + 1) <= now]
        for job in ripe:
            del self.jobs[job.new.id]
        shown = [job.shown for job in self.jobs.values()]
        moments = [one.expires_us for one in shown if one.state in UNSTARTED and one.expires_us is not None]
        moments += [one.keep_until_us for one in shown if one.keep_until_us is not None]
        return Tidied(expired, len(ripe), False, min(moments, default=None))

    # --- the doors --------------------------------------------------------------------------------------

    def names(self) -> list[str]:
        return sorted(self._queues)

    def queue(self, name: str) -> QueueRecord | None:
        if name not in self._queues:
            return None
        now, queue = self._clock(), self._queues[name]
        shown = [self.record(job) for job in self._in(name)]
        counts: dict[str, int] = {}
        for one in shown:
            counts[one.state] = counts.get(one.state, 0) + 1
        ready = [one.due_us for one in shown if one.state == "ready"]
        later = [one.due_us for one in shown if one.state == "scheduled"]
        assert all(due > now for due in later)
        return QueueRecord(
            name, queue.policy, queue.is_paused, counts, min(ready, default=None), min(later, default=None),
            *self._standing(name), queue.overlay, queue.refused, queue.flow.drains,
        )  # fmt: skip

    def find_drained(self, names: Iterable[str]) -> list[Drained]:
        found: list[Drained] = []
        for name in dict.fromkeys(names):
            if name not in self._queues or not self._queues[name].policy.tells_drained:
                continue
            running, unstarted = self._in(name, "running"), self._in(name, *SIZED, "spilled")
            flow = self._queues[name].flow
            number = rules.look_for_drain(flow, has_running=bool(running), has_open=bool(unstarted))
            found += [] if number is None else [Drained(name, number)]
        return found

    def tell_drained(self, name: str, number: int) -> None:
        if name in self._queues:
            rules.tell_of_drain(self._queues[name].flow, number)

    def set_policy(self, name: str, policy: QueuePolicy) -> bool:
        is_new = name not in self._queues
        queue = self._queues.setdefault(name, ModelQueue())
        if policy.tells_drained and not queue.policy.tells_drained:
            rules.begin_to_tell(queue.flow)
        has_changed, queue.declared = queue.declared != policy, policy
        queue.is_flowing |= not queue.policy.is_plain
        return is_new or has_changed

    def set_overlay(self, name: str, overlay: QueueOverlay) -> bool:
        queue = self._queues.setdefault(name, ModelQueue())
        has_changed, queue.overlay = queue.overlay != overlay, overlay
        queue.is_flowing |= not queue.policy.is_plain
        return has_changed

    def pause(self, name: str, lane: str | None = None) -> bool:
        queue = self._queues.setdefault(name, ModelQueue())
        if lane is None:
            has_changed, queue.is_paused = not queue.is_paused, True
            return has_changed
        queue.is_flowing, flow = True, queue.lane(lane)
        has_changed, flow.is_paused = not flow.is_paused, True
        return has_changed

    def resume(self, name: str, lane: str | None = None) -> bool:
        if name not in self._queues:
            return False
        queue = self._queues[name]
        if lane is not None:
            return lane in queue.lanes and rules.release(queue.lane(lane), self._clock())
        was_paused, queue.is_paused = queue.is_paused, False
        return rules.release(queue.flow, self._clock()) or was_paused

    def lanes(self, name: str) -> list[LaneRecord]:
        if name not in self._queues:
            return []
        ready, running = self._lanes_of(name, "ready"), self._lanes_of(name, "running")
        records = [
            LaneRecord(lane, ready.count(lane), running.count(lane), *self._lane_standing(name, lane))
            for lane in sorted({*ready, *running, *self._queues[name].lanes})
        ]
        return [one for one in records if one.ready or one.running or one.standing in HELD]

    def purge(self, name: str) -> int:
        doomed = self._in(name, *UNSTARTED)
        for job in doomed:
            del self.jobs[job.new.id]
        self._let_go()
        return len(doomed)

    def cancel(self, ids: Sequence[str]) -> dict[str, str]:
        return {job_id: self._cancel(job_id) for job_id in dict.fromkeys(ids)}

    def _cancel(self, job_id: str) -> str:
        job = self.jobs.get(job_id)
        if job is None:
            return "unknown"
        if job.shown.state in FINAL:
            return "final"
        if job.shown.state == "running":
            job.set(cancel_asked=True)
            return "asked"
        self._finish(job, "cancelled", self._clock(), reason="cancelled")
        self._let_go()
        return "cancelled"

    def retry(self, ids: Sequence[str]) -> list[str]:
        done: list[str] = []
        for job_id in dict.fromkeys(ids):
            if not self._is_retriable(job_id):
                continue
            done.append(job_id)
            job = self.jobs[job_id]
            old = job.shown
            assert is_move(old.state, "ready")
            job.shown = JobRecord(
                id=old.id, queue=old.queue, task=old.task, state="ready", priority=old.priority,
                due_us=self._clock(), created_us=old.created_us, envelope=old.envelope, seal=old.seal,
                generation=old.generation + 1, deliveries=old.deliveries, crash_budget=old.crash_budget,
                tags=old.tags, lane=old.lane,
                key=old.key, version=old.version,
            )  # fmt: skip
        return done

    def _is_retriable(self, job_id: str) -> bool:
        if self._state(job_id) not in RETRIABLE:
            return False
        new = self.jobs[job_id].new
        return new.key is None or self._known(new.queue, new.key).holder is None

    def unpark(self, seals: dict[str, bytes | None]) -> list[str]:
        done = [job_id for job_id in seals if self._state(job_id) == "parked"]
        for job_id in done:
            job = self.jobs[job_id]
            job.move("ready", reason=None, error=None, traceback=None, seal=seals[job_id] or job.shown.seal)
        return done

    def delete(self, ids: Sequence[str]) -> list[str]:
        done = [job_id for job_id in dict.fromkeys(ids) if self._state(job_id) not in (None, "running")]
        for job_id in done:
            del self.jobs[job_id]
        self._let_go()
        return done

    # --- readers ----------------------------------------------------------------------------------------

    def record(self, job: ModelJob) -> JobRecord:
        now, shown = self._clock(), job.shown
        is_gone = shown.result_until_us is not None and shown.result_until_us <= now
        state = seen_as(shown.state, shown.due_us, now)
        return changed(shown, state=state, result=None if is_gone else shown.result)

    def all(self) -> list[JobRecord]:
        """Give every record, newest first."""
        return [self.record(job) for job in sorted(self.jobs.values(), key=lambda job: -job.seq)]

    def find(self, query: Query) -> list[JobRecord]:
        found = [one for one in self.all() if self._is_match(one, query)]
        if query.after is not None:
            place = self.jobs[query.after].seq if query.after in self.jobs else 0
            found = [one for one in found if self.jobs[one.id].seq < place]
        return found[: query.limit]

    def count(self, query: Query) -> int:
        return sum(self._is_match(one, query) for one in self.all())

    def _is_match(self, one: JobRecord, query: Query) -> bool:
        return (
            (not query.states or one.state in query.states)
            and query.queue in (None, one.queue)
            and query.task in (None, one.task)
            and (query.tag is None or query.tag in one.tags)
            and query.lane in (None, one.lane or "")
            and query.key in (None, one.key)
            and (query.since_us is None or (one.finished_us or one.created_us) >= query.since_us)
        )

    def next_due(self, queues: Sequence[str] | None) -> int | None:
        open_queues = [name for name, queue in self._queues.items() if not queue.is_paused]
        served = [name for name in open_queues if queues is None or name in queues]
        dues = [job.shown.due_us for name in served for job in self._in(name, "ready", "scheduled")]
        return min(dues, default=None)

    def over(self, ids: Sequence[str]) -> list[str]:
        return [job_id for job_id in ids if self._state(job_id) in (None, *FINAL)]

    def live(self) -> list[WorkerRecord]:
        return [one.record for worker, one in sorted(self.workers.items()) if self._is_live(worker)]

    # --- inside -----------------------------------------------------------------------------------------

    def _in(self, queue: str, *states: State) -> list[ModelJob]:
        """List the queue's jobs in these states (none given: in any), oldest first."""
        jobs = sorted(self.jobs.values(), key=lambda job: job.seq)
        return [job for job in jobs if job.new.queue == queue and (not states or job.shown.state in states)]

    def _held(self, worker: str) -> list[ModelJob]:
        return [job for job in self.jobs.values() if job.shown.worker == worker]

    def _state(self, job_id: str) -> State | None:
        return self.jobs[job_id].shown.state if job_id in self.jobs else None

    def _is_live(self, worker: str) -> bool:
        one = self.workers.get(worker)
        if one is None or one.has_ended:
            return False
        return self._clock() <= one.beaten_us + one.record.lease_us


def _rank(job: ModelJob, policy: QueuePolicy) -> tuple[int, ...]:
    priority, due = job.shown.priority, job.shown.due_us
    if policy.ageing_us is not None:
        head_start = min(abs(priority) * policy.ageing_us, LONGEST_US // policy.ageing_us * policy.ageing_us)
        return (due + (head_start if priority < 0 else -head_start), due, job.seq)
    sign = -1 if policy.order == "lifo" else 1
    return (-priority, sign * due, sign * job.seq)


def _holder(jobs: list[ModelJob]) -> Holder | None:
    return Holder(jobs[0].new.id, jobs[0].shown.state == "running", jobs[0].new.version) if jobs else None
