"""The tables of a flowing queue, inside one transaction that holds the lock of the queue's row. See `flowing.ledger`.

The lock is the queue's, not that of its jobs: whoever cancels, deletes or ends one needs only the job's. So jobs are locked
as they are found, and one that is in someone else's hands at that moment is passed over, with the news that its lane has to
be looked at again: the other's step may be rolled back.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from psycopg import Cursor

from holdfast.model.queue import QueuePolicy
from holdfast.policy.ageing import most_priority
from holdfast.store.flowing.ledger import Book, Gate, LaneRow, News, Place
from holdfast.store.flowing.news import Line, of_arrivals
from holdfast.store.postgres import bounds
from holdfast.store.postgres.schema import Connection, Statements

_BEFORE_ALL: Final = (-1, "")


class PostgresLedger:
    """One queue's part of the tables. `now_us` is the time, read when the lock was held."""

    def __init__(self, connection: Connection, statements: Statements, queue: str, row: tuple[Any, ...]) -> None:
        """`row` is that of `lock_queues`."""
        self.now_us: int = row[-1]
        self.has_bound = row[5] is not None
        self._connection = connection
        self._statements = statements
        self._queue = queue
        self._book: Book | None = Book(*row[1:5])
        """As it was read with the lock, until this step changes it."""
        self._given: dict[str, list[int]] = {}
        """The jobs that were found and locked, by lane."""

    def load(self) -> Book:
        if self._book is None:
            text = "select declared, overlay, flow, is_flowing from ns_queue where name = %(queue)s"
            row = self._do(text).fetchone()
            assert row is not None, "a ledger is of a queue that exists"
            self._book = Book(*row)
        return self._book

    def save(self, flow: str, opens_us: int | None) -> None:
        self._book = None
        self._run("save_flow", flow=flow, opens=opens_us)

    def keep(self, flow: str) -> None:
        self._book = None
        self._do("update ns_queue set flow = %(flow)s where name = %(queue)s", flow=flow)

    def has_jobs(self) -> tuple[bool, bool]:
        row = self._run("look_drained", queues=[self._queue]).fetchone()
        assert row is not None, "a ledger is of a queue that exists"
        return row[5], row[6]

    def running(self) -> int:
        row = self._do("select count(*) from ns_job where queue = %(queue)s and state = 'running'").fetchone()
        assert row is not None
        return int(row[0])

    def read_news(self, limit: int) -> list[News]:
        return [News(*row) for row in self._run("read_lane_news", limit=limit)]

    def drop_news(self, ids: Sequence[int]) -> None:
        self._do("delete from ns_lane_news where id = any (%(ids)s::bigint[])", ids=list(ids))

    def named(self, names: Sequence[str], *, counts: bool) -> list[LaneRow]:
        return [LaneRow(*row) for row in self._run("lanes_named", names=list(names), counts=counts)]

    def open_lanes(self, after: tuple[int, str] | None, limit: int, *, counts: bool) -> list[LaneRow]:
        rank, name = after or _BEFORE_ALL
        return [LaneRow(*row) for row in self._run("lanes_open", rank=rank, name=name, limit=limit, counts=counts)]

    def names_at(self, gate: Gate, up_to: int, limit: int) -> list[str]:
        return [row[0] for row in self._run("lanes_at", gate=gate, up_to=up_to, limit=limit)]

    def place(self, places: Sequence[Place]) -> None:
        if places:
            self._run(
                "place_lanes",
                lanes=[one.name for one in places],
                gates=[one.gate for one in places],
                ranks=[one.rank for one in places],
                flows=[one.flow for one in places],
            )

    def forget(self, names: Sequence[str]) -> None:
        if names:
            self._do(
                "delete from ns_lane where queue = %(queue)s and lane = any (%(names)s::text[])", names=list(names)
            )

    def best(self, wanted: Mapping[str, int], policy: QueuePolicy) -> dict[str, list[int]]:
        """What was given before is given again, in its place: a better job may have come meanwhile, and is then the next."""
        given = {name: self._given.setdefault(name, []) for name in wanted}
        statement, terms = _order_of(policy)
        found = self._run(
            statement,
            **terms,
            lanes=list(wanted),
            numbers=[number - len(given[name]) for name, number in wanted.items()],
            known=[seq for seqs in given.values() for seq in seqs],
            now=self.now_us,
        ).fetchall()
        for lane, seq, is_ours in found:
            if is_ours:
                given[lane].append(seq)
        if elsewhere := list(dict.fromkeys(lane for lane, _, is_ours in found if not is_ours)):
            self.stir(elsewhere, self.now_us)
        return {name: list(seqs) for name, seqs in given.items()}

    def put_in_force(self, declared: str | None, overlay: str | None, policy: QueuePolicy) -> None:
        self._book = None
        self._run(
            "put_in_force", declared=declared, overlay=overlay, is_lifo=policy.order == "lifo", max_size=policy.max_size
        )
        if policy.max_size is None:
            bounds.let_all_in(self._connection, self._statements, self._queue)
        else:
            bounds.recount(self._connection, self._statements, [self._queue])

    def begin_to_flow(self, now_us: int) -> None:
        self._book = None
        self._connection.execute(self._statements["begin_to_flow"], {"queues": [self._queue], "now": now_us})

    def stir(self, names: Sequence[str], now_us: int) -> None:
        arrivals = of_arrivals([(self._queue, name) for name in names], now_us)
        leave_news(self._connection, self._statements, arrivals)

    def stir_all(self, now_us: int) -> None:
        self._run("stir_lanes", now=now_us)

    def _run(self, statement: str, /, **values: object) -> Cursor[tuple[Any, ...]]:
        return self._connection.execute(self._statements[statement], {"queue": self._queue, **values})

    def _do(self, text: str, /, **values: object) -> Cursor[tuple[Any, ...]]:
        return self._connection.execute(self._statements.of(text), {"queue": self._queue, **values})


def _order_of(policy: QueuePolicy) -> tuple[str, dict[str, int]]:
    """Give the statement that finds the best jobs by the order of a policy, and what it has to know of it."""
    if policy.order == "lifo":
        return "best_lifo", {}
    if policy.ageing_us is None:
        return "best_fifo", {}
    return "best_ageing", {"ageing": policy.ageing_us, "most": most_priority(policy.ageing_us)}


def lock_queues(
    connection: Connection,
    statements: Statements,
    queues: Iterable[str],
    now_us: int | None,
    *,
    bounded: Iterable[str] = (),
) -> dict[str, PostgresLedger]:
    """Lock queues, by name, until the transaction is over: before any job, and after any lease.

    `bounded` are those that are locked only if they have a bound.
    """
    always = set(queues)
    if_bounded = set(bounded) - always
    names = sorted(always | if_bounded)
    if not names:
        return {}
    rows = connection.execute(
        statements["lock_queues"], {"queues": names, "bounded": list(if_bounded), "now": now_us}
    ).fetchall()
    moment = rows[-1][-1:] if rows else ()  # read when the last of them was locked
    return {row[0]: PostgresLedger(connection, statements, row[0], (*row[:-1], *moment)) for row in rows}


def leave_news(connection: Connection, statements: Statements, lines: Sequence[Line]) -> None:
    queues, lanes, kinds, moments, numbers = (list(column) for column in zip(*lines, strict=True))
    values = {"queues": queues, "lanes": lanes, "kinds": kinds, "moments": moments, "numbers": numbers}
    connection.execute(statements["leave_lane_news"], values)
