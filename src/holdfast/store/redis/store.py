"""The Redis/Valkey store: the protocol over one namespace of one server.

Every operation of the job path is one script over the keys of one queue (see `lua/`), so each happens whole or not
at all, whatever dies when. What crosses queues goes in two steps, the house first or last, each of which may be
repeated: see `pushing`, `relay`, `roster`. Waiters are told by the server (see `bell`); a message lost is made up
for within half a second.

The store's clock is the server's, read inside the script.
"""

from collections.abc import Sequence
from typing import Self

from holdfast.errors import LeaseLost, StoreError, StoreUnavailable
from holdfast.model.claim import Claim, Progress
from holdfast.model.job import NewJob, Pushed
from holdfast.model.query import StoreInfo, Tidied
from holdfast.model.verdict import Lost, Verdict
from holdfast.model.worker import Beat, Rescued, WorkerRecord, WorkerReport
from holdfast.policy.moments import SECOND
from holdfast.policy.names import check_namespace
from holdfast.store.protocol import Clock
from holdfast.store.redis import server, upkeep
from holdfast.store.redis.bell import Bells
from holdfast.store.redis.claiming import Claims, Wish
from holdfast.store.redis.inspector import RedisInspector
from holdfast.store.redis.link import Call, Link, answered
from holdfast.store.redis.operator import RedisOperator
from holdfast.store.redis.pushing import push
from holdfast.store.redis.queues import RedisQueues
from holdfast.store.redis.replicas import Wait
from holdfast.store.redis.roster import Roster
from holdfast.store.redis.seen import RedisSeen
from holdfast.store.redis.server import Server
from holdfast.store.redis.settling import Batch, Unanswered


class RedisStore:
    """Jobs in Redis or Valkey. Safe to use from many threads and, after a fork, from the child."""

    guest: None = None  # there are no transactions of a caller's to join

    def __init__(self, link: Link, known: Server) -> None:
        self._link = link
        self._server = known
        self._bells = Bells(link)
        self._roster = Roster(link)
        self._claims = Claims(link)
        self._unanswered = Unanswered()
        self.queues = RedisQueues(link)
        self.seen = RedisSeen(link)
        self.operator = RedisOperator(link, self._roster)
        self.inspector = RedisInspector(link, self._bells, self.queues, self._roster)

    @classmethod
    def open(
        cls,
        url: str,
        *,
        where: str,
        tier: str | None = None,
        namespace: str = "holdfast",
        clock: Clock | None = None,
        wait: Wait | None = None,
    ) -> Self:
        """Reach the server and check it, or refuse with reason and remedy. `where` is the URL as it is shown."""
        check_namespace(namespace)
        link = Link(url, where, namespace, clock, wait)
        try:
            known = server.inspect(link, tier, wait.replicas if wait else 0)
        except BaseException:
            link.close()
            raise
        return cls(link, known)

    # --- the job path -----------------------------------------------------------------------------------

    def push(self, jobs: Sequence[NewJob], now_us: int | None = None) -> list[Pushed]:
        self._link.check_open()
        return push(self._link, jobs, now_us)

    def claim(
        self, worker: str, queues: Sequence[str], limit: int, now_us: int | None = None, *, ahead: int = 0
    ) -> list[Claim]:
        return self._claims.claim(worker, queues, Wish(limit, ahead), now_us)

    def settle(self, verdicts: Sequence[Verdict], now_us: int | None = None) -> list[Lost]:
        with self._unanswered.batch(verdicts) as batch:
            return batch.lost(self._link.run(batch.calls, now_us))

    def exchange(
        self,
        verdicts: Sequence[Verdict],
        worker: str,
        queues: Sequence[str],
        limit: int,
        now_us: int | None = None,
        *,
        ahead: int = 0,
    ) -> tuple[list[Lost], list[Claim]]:
        wish, queues = Wish(limit, ahead), list(dict.fromkeys(queues))
        if len(queues) == 1 and wish.is_any():
            with self._unanswered.batch(verdicts) as batch:
                answers, claims = self._claims.after(batch.calls, worker, queues[0], wish, now_us)
                return batch.lost(answers), claims
        lost = self.settle(verdicts, now_us)
        try:
            return lost, self._claims.claim(worker, queues, wish, now_us)
        except (LeaseLost, StoreError):
            return lost, []  # nothing was claimed; the worker's next beat or claim tells it why

    def wait(self, queues: Sequence[str] | None, timeout_s: float) -> None:
        self._link.check_open()

        def seconds_to_next() -> float | None:
            if self._link.is_closed:
                return 0
            names = self.queues.names() if queues is None else list(dict.fromkeys(queues))
            looks = answered(self._link.try_run([Call("look", name) for name in names], None))
            known = [look for look in looks if not isinstance(look, StoreUnavailable)]
            pauses = [(int(moment) - int(now)) / SECOND for now, moment, *_ in known if moment]
            return min(pauses, default=None)

        self._bells.work.sleep(seconds_to_next, 0 if self._bells.take_alarm() else timeout_s)

    def wake(self) -> None:
        self._link.check_open()
        self._bells.wake()

    def wait_for_room(self, queue: str, timeout_s: float) -> bool:
        self._link.check_open()

        def look() -> float | None:
            return 0 if self._link.is_closed or self._has_room(queue) else None

        self._bells.over.sleep(look, timeout_s)
        return self._has_room(queue)

    def _has_room(self, queue: str) -> bool:
        return bool(self._link.call("room", queue, now_us=None))

    def note(self, notes: Sequence[Progress], now_us: int | None = None) -> list[Lost]:
        batch = Batch(notes)
        return batch.lost(self._link.run(batch.calls, now_us))

    # --- leases -----------------------------------------------------------------------------------------

    def enlist(self, worker: WorkerRecord, now_us: int | None = None) -> None:
        self._roster.enlist(worker, now_us)

    def beat(self, worker: str, now_us: int | None = None, report: WorkerReport | None = None) -> Beat:
        return self._roster.beat(worker, report, now_us)

    def leave(self, worker: str, now_us: int | None = None) -> None:
        self._roster.leave(worker, now_us)

    def rescue(self, now_us: int | None = None) -> list[Rescued]:
        return self._roster.rescue(now_us)

    # --- the house --------------------------------------------------------------------------------------

    def tidy(self, now_us: int | None = None) -> Tidied:
        return upkeep.tidy(self._link, self.queues.names(), now_us)

    def now(self) -> int:
        return self._link.now()

    def describe(self) -> StoreInfo:
        return StoreInfo("redis", self._link.where, self._server.tier)

    def close(self) -> None:
        self._link.close()
        self._bells.close()  # last: it sends the waiters home, and they must find the link closed
