"""The door for readers. Nothing here changes a job.

Finding walks the heads of the queues concerned in slices (HSCAN), or looks a tag up: O(jobs in them), for people,
and never a long stop of the server. Counting by state and queue alone reads counters.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from holdfast.model.finding import Finding
from holdfast.model.job import JobRecord
from holdfast.model.query import Query
from holdfast.model.run import Run
from holdfast.model.states import FINAL, seen_as
from holdfast.model.worker import WorkerRecord
from holdfast.store.redis import rows
from holdfast.store.redis.bell import Bells
from holdfast.store.redis.directory import places
from holdfast.store.redis.examining import examine
from holdfast.store.redis.link import Call, Link
from holdfast.store.redis.queues import RedisQueues
from holdfast.store.redis.roster import Roster
from holdfast.store.redis.rows import Head

SLICE: Final = 500


class RedisInspector:
    """Reading for people and tools; see `protocol.Inspector`."""

    def __init__(self, link: Link, bells: Bells, queues: RedisQueues, roster: Roster) -> None:
        self._link = link
        self._bells = bells
        self._queues = queues
        self._roster = roster

    def get(self, job_id: str, now_us: int | None = None) -> JobRecord | None:
        for queue, found in places(self._link, [job_id]).items():
            records = self._read(queue, [found[0].stamp], self._moment(now_us))
            return next((record for record in records.values() if record.id == job_id), None)
        return None

    def find(self, query: Query, now_us: int | None = None) -> list[JobRecord]:
        now = self._moment(now_us)
        before = self._place(query.after)
        found = [(stamp, queue) for stamp, queue, _ in self._matching(query, now) if stamp < before]
        wanted = sorted(found, reverse=True)[: max(query.limit, 0)]
        by_queue: dict[str, list[str]] = {}
        for stamp, queue in wanted:
            by_queue.setdefault(queue, []).append(str(stamp))
        records: dict[tuple[int, str], JobRecord] = {}
        for queue, stamps in by_queue.items():
            records |= {(stamp, queue): one for stamp, one in self._read(queue, stamps, now).items()}
        # A job may have moved on since the walk saw it: then it is shown as it is now, if still asked for.
        shown = [records[place] for place in wanted if place in records]
        return [one for one in shown if not query.states or one.state in query.states]

    def count(self, query: Query, now_us: int | None = None) -> int:
        now = self._moment(now_us)
        if (
            query.task is None
            and query.tag is None
            and query.since_us is None
            and query.lane is None
            and query.key is None
        ):
            records = [self._queues.get(name, now) for name in self._names(query)]
            counts = [one.counts for one in records if one is not None]
            return sum(n for one in counts for state, n in one.items() if not query.states or state in query.states)
        return sum(1 for _ in self._matching(query, now))

    def history(self, job_id: str) -> list[Run]:
        for queue, found in places(self._link, [job_id]).items():
            runs = self._link.call("history", queue, found[0].stamp, now_us=None)
            return [rows.run(job_id, packed) for packed in runs]
        return []

    def next_due(self, queues: Sequence[str] | None = None) -> int | None:
        names = self._queues.names() if queues is None else queues
        records = [self._queues.get(name, self._moment(None)) for name in names]
        moments = [m for one in records if one and not one.is_paused for m in (one.oldest_ready_us, one.next_due_us)]
        return min((moment for moment in moments if moment is not None), default=None)

    def watch(self, ids: Sequence[str], timeout_s: float) -> list[str]:
        self._link.check_open()
        over: list[str] = []

        def look() -> float | None:
            if self._link.is_closed:
                return 0
            over[:] = self._over(ids)
            return 0 if over else None

        self._bells.over.sleep(look, 0 if self._bells.take_alarm() else timeout_s)
        return over

    def examine(self) -> list[Finding]:
        return list(examine(self._link))

    def workers(self, now_us: int | None = None) -> list[WorkerRecord]:
        return self._roster.live(self._moment(now_us))

    def _moment(self, now_us: int | None) -> int:
        return self._link.now() if now_us is None else now_us

    def _names(self, query: Query) -> list[str]:
        return self._queues.names() if query.queue is None else [query.queue]

    def _place(self, after: str | None) -> float:
        """Give the stamp to continue below. Behind a job that is gone there is nothing."""
        if after is None:
            return float("inf")
        return max((int(one.stamp) for found in places(self._link, [after]).values() for one in found), default=0)

    def _matching(self, query: Query, now_us: int) -> Iterator[tuple[int, str, Head]]:
        for queue in self._names(query):
            heads = self._all(queue) if query.tag is None else self._tagged(queue, query.tag)
            for stamp, head in heads.items():
                if _is_match(head, query, now_us):
                    yield stamp, queue, head

    def _all(self, queue: str) -> dict[int, Head]:
        """Walk over all heads of a queue. What stays there throughout is seen, perhaps twice: hence a dict."""
        heads: dict[int, Head] = {}
        cursor = b"0"
        while True:
            command = ("HSCAN", self._link.keys.in_queue(queue, "head"), cursor, "COUNT", SLICE)
            cursor, found = self._link.ask(command)[0]
            heads |= {int(stamp): rows.head_of(packed) for stamp, packed in found.items()}
            if int(cursor) == 0:
                return heads

    def _tagged(self, queue: str, tag: str) -> dict[int, Head]:
        low, high = f"[{tag}\0".encode(), f"({tag}\1".encode()
        members = self._link.ask(("ZRANGE", self._link.keys.in_queue(queue, "tags"), low, high, "BYLEX"))[0]
        stamps = iter([int.from_bytes(member[-rows.STAMP_BYTES :], "big") for member in members])
        heads: dict[int, Head] = {}
        while part := list(islice(stamps, SLICE)):
            found = self._link.ask(("HMGET", self._link.keys.in_queue(queue, "head"), *part))[0]
            heads |= {s: rows.head_of(packed) for s, packed in zip(part, found, strict=True) if packed is not None}
        return heads

    def _read(self, queue: str, stamps: Sequence[str], now_us: int) -> dict[int, JobRecord]:
        records: dict[int, JobRecord] = {}
        for start in range(0, len(stamps), SLICE):
            part = stamps[start : start + SLICE]
            _, found = self._link.call("read", queue, *part, now_us=now_us)
            for stamp, row in zip(part, found, strict=True):
                if row:
                    records[int(stamp)] = rows.record(queue, row, now_us)
        return records

    def _over(self, ids: Sequence[str]) -> list[str]:
        unfinished: set[str] = set()
        groups = places(self._link, ids)
        heads = self._link.run(
            [Call("read_heads", q, tuple(p.stamp for p in found)) for q, found in groups.items()], None
        )
        for found, packed in zip(groups.values(), heads, strict=True):
            for place, one in zip(found, packed, strict=True):
                if one is not None and rows.head_of(one).state not in FINAL:
                    unfinished.add(place.id)
        return [job_id for job_id in ids if job_id not in unfinished]


def _is_match(head: Head, query: Query, now_us: int) -> bool:
    if query.states and seen_as(head.state, head.due_us, now_us) not in query.states:
        return False
    if query.task is not None and head.task != query.task:
        return False
    if query.key is not None and head.key != query.key:
        return False
    if query.lane is not None and (head.lane or "") != query.lane:
        return False
    if query.since_us is None:
        return True
    since = head.created_us if head.finished_us is False else head.finished_us
    return since >= query.since_us
