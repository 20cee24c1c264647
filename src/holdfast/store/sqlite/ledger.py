"""The tables of a flowing queue, inside one write transaction: the write lock is the queue's lock. See `flowing.ledger`."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest
from typing import Any

from holdfast.model.queue import QueuePolicy
from holdfast.policy.ageing import head_start_us
from holdfast.store.flowing.ledger import NAMELESS, Book, Gate, LaneRow, News, Place
from holdfast.store.flowing.news import Line, of_arrivals
from holdfast.store.sqlite.bounds import recount
from holdfast.store.sqlite.schema import Statements

_BEFORE_ALL = (-1, "")


class SqliteLedger:
    """One queue's part of the tables."""

    def __init__(self, connection: sqlite3.Connection, statements: Statements, queue: str, now_us: int) -> None:
        self._connection = connection
        self._statements = statements
        self._queue = queue
        self._now_us = now_us

    def load(self) -> Book:
        book = read_book(self._connection, self._statements, self._queue)
        assert book is not None, "a ledger is of a queue that exists"
        return book

    def save(self, flow: str, opens_us: int | None) -> None:
        self._do(
            "update ns_queue set flow = :flow, opens_us = :opens "
            "where name = :queue and (flow, opens_us) is not (:flow, :opens)",
            flow=flow, opens=opens_us,
        )  # fmt: skip

    def keep(self, flow: str) -> None:
        self._do("update ns_queue set flow = :flow where name = :queue", flow=flow)

    def has_jobs(self) -> tuple[bool, bool]:
        row = self._run("look_drained", queues=json.dumps([self._queue])).fetchone()
        return bool(row[5]), bool(row[6])

    def running(self) -> int:
        count: int = self._do("select count(*) from ns_job where queue = :queue and state = 'running'").fetchone()[0]
        return count

    def read_news(self, limit: int) -> list[News]:
        return [News(*row) for row in self._run("read_news", limit=limit)]

    def drop_news(self, ids: Sequence[int]) -> None:
        self._do("delete from ns_news where id in (select value from json_each(:ids))", ids=json.dumps(ids))

    def named(self, names: Sequence[str], *, counts: bool) -> list[LaneRow]:
        return _rows(self._run("lanes_named", names=json.dumps(names), counts=counts))

    def open_lanes(self, after: tuple[int, str] | None, limit: int, *, counts: bool) -> list[LaneRow]:
        rank, name = after or _BEFORE_ALL
        return _rows(self._run("lanes_open", rank=rank, name=name, limit=limit, counts=counts))

    def names_at(self, gate: Gate, up_to: int, limit: int) -> list[str]:
        return [row[0] for row in self._run("lanes_at", gate=gate, up_to=up_to, limit=limit)]

    def place(self, places: Sequence[Place]) -> None:
        values = [(self._queue, one.name, one.gate, one.rank, one.flow) for one in places]
        self._connection.executemany(self._statements["place_lane"], values)

    def forget(self, names: Sequence[str]) -> None:
        sql = self._statements.of("delete from ns_lane where queue = ? and lane = ?")
        self._connection.executemany(sql, [(self._queue, name) for name in names])

    def best(self, wanted: Mapping[str, int], policy: QueuePolicy) -> dict[str, list[int]]:
        if policy.order == "lifo":
            return {name: self._best_lifo(name or None, number) for name, number in wanted.items()}
        if policy.ageing_us is not None:
            return {name: self._best_ageing(name or None, number, policy.ageing_us) for name, number in wanted.items()}
        found = self._run("best_fifo", names=json.dumps(list(wanted)), limit=max(wanted.values()), now=self._now_us)
        return {name: json.loads(seqs)[: wanted[name]] for name, seqs in found}

    def put_in_force(self, declared: str | None, overlay: str | None, policy: QueuePolicy) -> None:
        self._do(
            "update ns_queue set declared = :declared, overlay = :overlay, is_lifo = :is_lifo, max_size = :max_size, "
            "size = null where name = :queue",
            declared=declared, overlay=overlay, is_lifo=policy.order == "lifo", max_size=policy.max_size,
        )  # fmt: skip
        recount(self._connection, self._statements, [self._queue])

    def begin_to_flow(self, now_us: int) -> None:
        begin_to_flow(self._connection, self._statements, [self._queue], now_us)

    def stir(self, names: Sequence[str], now_us: int) -> None:
        arrivals = of_arrivals([(self._queue, name) for name in names], now_us)
        leave_news(self._connection, self._statements, arrivals)

    def stir_all(self, now_us: int) -> None:
        self._run("stir_lanes", now=now_us)

    def _best_lifo(self, lane: str | None, number: int) -> list[int]:
        """Read one priority at a time: only so can the index be read backwards."""
        found: list[int] = []
        for priority in self._priorities(lane):
            left = number - len(found)
            if not left:
                break
            rows = self._run("best_lifo", lane=lane, priority=priority, limit=left, now=self._now_us)
            found += [row[0] for row in rows]
        return found

    def _best_ageing(self, lane: str | None, number: int, ageing_us: int) -> list[int]:
        """Read the first of each priority: which of them are the best is told by how long they have been due as well."""
        found: list[tuple[int, int, int]] = []
        for priority in self._priorities(lane):
            start_us = head_start_us(priority, ageing_us)
            rows = self._run("best_ageing", lane=lane, priority=priority, limit=number, now=self._now_us)
            found += [(due_us - start_us, due_us, seq) for due_us, seq in rows]
        return [seq for _, _, seq in nsmallest(number, found)]

    def _priorities(self, lane: str | None) -> Iterator[int]:
        """Give the priorities that the ready jobs of a lane have, the highest first: one seek for each."""
        below: int | None = None
        while row := self._run("next_priority", lane=lane, below=below).fetchone():
            below = row[0]
            yield row[0]

    def _run(self, statement: str, /, **values: object) -> sqlite3.Cursor:
        return self._connection.execute(self._statements[statement], {"queue": self._queue, **values})

    def _do(self, text: str, /, **values: object) -> sqlite3.Cursor:
        return self._connection.execute(self._statements.of(text), {"queue": self._queue, **values})


def read_book(connection: sqlite3.Connection, statements: Statements, queue: str) -> Book | None:
    """Give what is kept of a queue, if there is such a queue."""
    sql = statements.of("select declared, overlay, flow, is_flowing from ns_queue where name = ?")
    for declared, overlay, flow, is_flowing in connection.execute(sql, (queue,)):
        return Book(declared, overlay, flow, bool(is_flowing))
    return None


def begin_to_flow(connection: sqlite3.Connection, statements: Statements, queues: Iterable[str], now_us: int) -> None:
    """Mark queues as flowing that were not. Of what came before nothing was noted: their nameless lane is looked at."""
    for queue in queues:
        sql = statements.of("update ns_queue set is_flowing = 1 where name = ? and not is_flowing")
        if connection.execute(sql, (queue,)).rowcount:
            leave_news(connection, statements, of_arrivals([(queue, NAMELESS)], now_us))


def leave_news(connection: sqlite3.Connection, statements: Statements, lines: Sequence[Line]) -> None:
    connection.executemany(statements["leave_news"], lines)


def _rows(found: Iterable[tuple[Any, ...]]) -> list[LaneRow]:
    return [LaneRow(name, gate, rank, flow, bool(ready), running) for name, gate, rank, flow, ready, running in found]
