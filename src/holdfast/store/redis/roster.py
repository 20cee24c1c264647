"""Who holds a lease. The house decides who lives; each queue keeps a copy for the workers that claim from it.

    enlist    the house begins the lease
    beat      the house renews it, then every queue's copy is brought up to date
    leave     the house ends it, then every queue takes back what the worker holds there, uncharged
    rescue    the house ends the silent, then every queue takes back what they hold, charging a crash

The house always goes first: a caller that dies in between leaves a lease that nobody takes for alive any more, and
copies that the next rescue finds. A queue whose node is down keeps nobody from beating, leaving or rescuing elsewhere: its
copies end there meanwhile, and the next claim from it asks the house.

What is copied is the length that is left, and each node counts it by its own clock: see `remainder`.

**A worker that the house has forgotten.** A replica that takes over the house may not have heard of a worker's enlisting.
Its next beat tells the worker that it is dead. What it holds is taken back, queue by queue, when its copy has ended there:
by then it has stopped.
"""

import msgspec

from holdfast.errors import LeaseLost, StoreUnavailable
from holdfast.model.verdict import CRASHED
from holdfast.model.worker import Beat, Rescued, WorkerRecord, WorkerReport
from holdfast.policy.flow import result_of
from holdfast.policy.names import check_job_id
from holdfast.store.redis import rows
from holdfast.store.redis.link import Call, Link
from holdfast.store.redis.plans import plan
from holdfast.store.redis.remainder import Remainder

_record = msgspec.msgpack.Decoder(WorkerRecord).decode
_report = msgspec.msgpack.Decoder(WorkerReport).decode


class Roster:
    """The workers of one namespace."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def enlist(self, worker: WorkerRecord, now_us: int | None) -> None:
        check_job_id(worker.id)
        args = (worker.id, worker.lease_us, rows.pack(msgspec.structs.replace(worker, report=None)))
        if not self._link.call("enlist", None, *args, now_us=now_us):
            raise LeaseLost(f"worker {worker.id} has enlisted before. Enlist under a new id at every start.")

    def beat(self, worker: str, report: WorkerReport | None, now_us: int | None) -> Beat:
        told = b"" if report is None else rows.pack(report)
        remainder = Remainder(self._link, now_us)
        answer = self._link.call("beat", None, worker, told, now_us=now_us)
        if answer is None:
            return Beat(is_alive=False)
        length, is_leaving, queues = answer
        left_us = remainder.of(length)
        calls = [Call("renew", queue.decode(), (worker, left_us)) for queue in queues]
        answers = self._link.try_run(calls, now_us)
        tokens = [token.decode() for found in answers if not isinstance(found, StoreUnavailable) for token in found]
        return Beat(is_alive=True, cancelled=tuple(tokens), must_leave=bool(is_leaving))

    def leave(self, worker: str, now_us: int | None) -> None:
        _, queues = self._link.call("bury", None, worker, now_us=now_us)
        args = (rows.pack([(worker, plan("released", None, 0), None, None, None, False, result_of("released"))]),)
        self._link.run([Call("take_back", queue.decode(), args) for queue in queues], now_us)

    def rescue(self, now_us: int | None) -> list[Rescued]:
        silent, names = self._link.call("bury", None, "", now_us=now_us)
        taken: dict[str, list[str]] = {worker.decode(): [] for worker in silent}
        held = self._ended_in([name.decode() for name in names])
        calls = [Call("take_back", queue, (rows.pack([_crash(*one) for one in w]),)) for queue, w in held.items()]
        for workers, answer in zip(held.values(), self._link.try_run(calls, now_us), strict=True):
            if isinstance(answer, StoreUnavailable):
                continue  # its node is down: nothing was taken there, and the next rescue finds the same
            for (worker, _), ids in zip(workers, answer, strict=True):
                if ids is not None:
                    taken.setdefault(worker, []).extend(job_id.decode() for job_id in ids)
        return [Rescued(worker, tuple(ids)) for worker, ids in taken.items()]

    def dismiss(self, workers: list[str], now_us: int | None) -> list[str]:
        if not workers:
            return []
        return [worker.decode() for worker in self._link.call("dismiss", None, *workers, now_us=now_us)]

    def live(self, now_us: int) -> list[WorkerRecord]:
        """List the workers whose lease lives, by id."""
        keys = self._link.keys
        found, leaving, reports, ends = self._link.ask(
            ("HGETALL", keys.in_house("workers")),
            ("SMEMBERS", keys.in_house("leaving")),
            ("HGETALL", keys.in_house("reports")),
            ("ZRANGE", keys.in_house("leases"), now_us, "+inf", "BYSCORE"),
        )
        live = set(ends)
        records = [
            _shown(row, worker in leaving, reports.get(worker)) for worker, row in found.items() if worker in live
        ]
        return sorted(records, key=lambda record: record.id)

    def _ended_in(self, queues: list[str]) -> dict[str, list[tuple[str, bool]]]:
        """Give, by queue, the workers that have a copy of their lease there and none in the house, and whether the house
        has forgotten them.
        """
        keys = self._link.keys
        copies = self._link.try_ask(*[("ZRANGE", keys.in_queue(queue, "leases"), 0, -1) for queue in queues])
        found = {q: one for q, one in zip(queues, copies, strict=True) if not isinstance(one, StoreUnavailable)}
        workers = sorted({worker for one in found.values() for worker in one})
        if not workers:
            return {}
        # After the copies: whoever has one was in the house before.
        ended, live = self._link.ask(
            ("ZMSCORE", keys.in_house("ended"), *workers), ("ZMSCORE", keys.in_house("leases"), *workers)
        )
        over = {
            w: e is None for w, e, lease in zip(workers, ended, live, strict=True) if e is not None or lease is None
        }
        held = {queue: [(w.decode(), over[w]) for w in one if w in over] for queue, one in found.items()}
        return {queue: one for queue, one in held.items() if one}


def _crash(worker: str, is_forgotten: bool) -> tuple[object, ...]:
    told = f"worker {worker} fell silent: its lease ended"
    return worker, plan("crashed", CRASHED, 0), "crashed", CRASHED, told, is_forgotten, result_of("crashed")


def _shown(row: bytes, is_leaving: bool, report: bytes | None) -> WorkerRecord:
    started, _, packed = row.partition(b" ")
    return msgspec.structs.replace(
        _record(packed),
        started_us=int(started),
        is_leaving=is_leaving,
        report=None if report is None else _report(report),
    )
