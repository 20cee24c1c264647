"""The ready jobs of a queue as one process knows them: how claims stay quick while someone's transaction stays open.

A transaction that stays open, anyone's in this database, keeps the server from clearing away whatever was changed since it
began. A job that has left the index of ready jobs stays in it as a dead entry, and each claim walks over all of them to find
the first one alive. So when there are many dead rows, a process remembers what it has found:

    scan     read the best ready jobs, once, together with the server's snapshot: which transactions were over
    news     before each use, read the jobs that were made ready by transactions that were not; each row bears the number
             of the one that did (`born`), in an index
    take     hand out the best of what is known, by key. The row decides, as ever: who locks it while it is ready has it

What is known is thus never less than what is ready and committed: the order is kept, and nothing is missed. It may be more:
others claim too, and such jobs are dropped when they are met. One that is locked is put back: its claim may be rolled back.

A step that fails after it took from a shelf leaves nobody knowing what became of that: all is forgotten, and scanned anew.
And so it is every few seconds, because forgetting is cheap and a mistake here would not be. Numbers that came with a dump
from another server are at worst news every time.
"""

import heapq
import time
from typing import Any, Final

from holdfast.store.postgres.schema import Connection, Statements

SIZE: Final = 10_000
"""How many jobs are known at most: when they are used up, the next scan pays for the walk."""
MAX_AGE_S: Final = 10.0

Place = tuple[int, int, int]
"""Where a job stands: priority turned around, due time, seq. The smallest is the best."""


class Shelf:
    """The ready jobs of one queue, first in, first out. For one thread at a time."""

    def __init__(self, queue: str) -> None:
        self._queue = queue
        self._places: list[Place] = []
        self._known: dict[int, Place] = {}
        self._last: Place | None = None  # the last that the scan reached, if it did not reach all
        self._since, self._under_way = 0, list[int]()
        self._scanned_at = float("-inf")

    def refresh(self, connection: Connection, statements: Statements) -> bool:
        """Learn what is new. Tell whether there is anything."""
        is_used_up = self._last is not None and not self._known
        if is_used_up or time.monotonic() - self._scanned_at > MAX_AGE_S:
            self._scan(connection, statements)
        else:
            values = {"queue": self._queue, "since": self._since, "under_way": self._under_way}
            self._learn(connection.execute(statements["shelf_news"], values).fetchall())
        return bool(self._known)

    def best(self, number: int) -> list[int]:
        """Take the best jobs off the shelf, by their seqs."""
        taken: list[int] = []
        while self._places and len(taken) < number:
            place = heapq.heappop(self._places)
            if self._known.get(place[2]) == place:  # else it is here twice, or has another place by now
                del self._known[place[2]]
                taken.append(place[2])
        return taken

    def put_back(self, places: list[Place]) -> None:
        for place in places:
            if self._last is None or place <= self._last:  # beyond it, the next scan finds it
                self._known[place[2]] = place
                heapq.heappush(self._places, place)

    def _scan(self, connection: Connection, statements: Statements) -> None:
        values = {"queue": self._queue, "limit": SIZE}
        found = connection.execute(statements["shelf"], values).fetchall()
        self._places, self._known, self._last = [], {}, None
        self._learn(found)
        self._last = max(self._places) if len(self._places) == SIZE else None
        self._scanned_at = time.monotonic()

    def _learn(self, rows: list[tuple[Any, ...]]) -> None:
        self._since, self._under_way = rows[0][0], rows[0][1]
        self.put_back([row[2:] for row in rows if row[4] is not None])
