"""When shelves are used, and by whom: see `shelf`.

Only while the table of jobs has many dead rows: without them the index is as quick, and knows what other workers have taken.
Either way is right, so the estimate that the server keeps will do to choose by.
"""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from holdfast.store.forking import tell_of_forks
from holdfast.store.postgres.schema import Connection, Statements
from holdfast.store.postgres.shelf import Shelf

MANY_DEAD: Final = 20_000
_ASK_EVERY_S: Final = 1.0
_DEAD: Final = "select pg_stat_get_dead_tuples(%s::regclass)"
_STILL_READY: Final = """
select - priority, due_us, seq from ns_job where seq = any (%s::bigint[]) and state || '' = 'ready'
"""


class Shelves:
    """The shelves of one process, one for each queue, and whether they are in use."""

    def __init__(self, statements: Statements) -> None:
        self._statements = statements
        self._begin()
        tell_of_forks(self)

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._shelves: dict[str, Shelf] = {}
        self._is_used = False
        self._asked_at = float("-inf")

    def is_used(self, connection: Connection) -> bool:
        """Tell whether ready jobs are to be found by shelves now."""
        if time.monotonic() - self._asked_at > _ASK_EVERY_S:
            self._asked_at = time.monotonic()
            row = connection.execute(_DEAD, (self._statements.of("ns_job"),)).fetchone()
            self._is_used = row is not None and row[0] > MANY_DEAD
            if not self._is_used:
                self.forget()
        return self._is_used

    def among(self, connection: Connection, queues: Sequence[str] | None) -> list[str]:
        """List those of the queues (None: of all) whose ready jobs are known here."""
        if not self.is_used(connection):
            return []
        with self._lock:
            return [name for name in self._shelves if queues is None or name in queues]

    def has_any(self, connection: Connection, queue: str) -> bool:
        with self._lock:
            return self._of(queue).refresh(connection, self._statements)

    def take(self, connection: Connection, values: dict[str, Any]) -> list[tuple[Any, ...]]:
        """Claim up to `limit` jobs of a queue; give the rows of `claim_known`."""
        rows: list[tuple[Any, ...]] = []
        with self._lock:
            shelf, locked = self._of(values["queue"]), []
            while len(rows) < values["limit"] and shelf.refresh(connection, self._statements):
                seqs = shelf.best(values["limit"] - len(rows))
                found = connection.execute(self._statements["claim_known"], {**values, "seqs": seqs}, binary=True)
                rows += found.fetchall()
                missed = set(seqs).difference(row[2] for row in rows)
                locked += self._still_ready(connection, list(missed)) if missed else []
            shelf.put_back(locked)
        return rows

    def forget(self) -> None:
        """Know nothing any more; the next use scans."""
        with self._lock:
            self._shelves.clear()

    @contextmanager
    def kept_if_done(self) -> Iterator[None]:
        """Forget all if this fails: what was taken is then perhaps not taken. Around a step, and inside what it repeats."""
        try:
            yield
        except BaseException:
            self.forget()
            raise

    def _of(self, queue: str) -> Shelf:
        return self._shelves.setdefault(queue, Shelf(queue))

    def _still_ready(self, connection: Connection, seqs: list[int]) -> list[tuple[int, int, int]]:
        return connection.execute(self._statements.of(_STILL_READY), (seqs,)).fetchall()

    # --- forks ------------------------------------------------------------------------------------------

    def before_fork(self) -> None:
        self._lock.acquire()

    def after_fork_in_parent(self) -> None:
        self._lock.release()

    def after_fork_in_child(self) -> None:
        self._begin()
