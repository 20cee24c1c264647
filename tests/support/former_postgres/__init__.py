"""A worker of the version before: its statements, word for word, as they were at schema 2, prepared as it prepared them.

`sql/` is a copy that is never edited. When a migration is added, the next copy takes its place.
"""

import os
from typing import Any, Final

import psycopg

from holdfast.store.texts import Texts

SCHEMA: Final = 2
_NOTHING: Final = {
    "failures": 0, "crashes": 0, "expiries": None, "result_untils": None, "results": None, "reasons": None, "errors": None,
    "tracebacks": None, "took": 1, "run_reasons": None, "run_errors": None, "run_tracebacks": None, "are_runs": True,
}  # fmt: skip
_DAY_US: Final = 86_400_000_000


class FormerWorker:
    """Pushes to, claims from and settles in one queue, as the former version did."""

    def __init__(self, url: str, namespace: str, queue: str) -> None:
        self.statements = Texts(__name__, namespace, '"{}".')
        self._connection = psycopg.connect(url, autocommit=True, prepare_threshold=1)
        self._queue = queue
        self._id = f"former-{os.urandom(4).hex()}"
        lists = {"tasks": ["t"], "queues": [queue]}
        self._run("enlist", id=self._id, host="h", pid=1, lease=_DAY_US, now=None, **lists)

    def push(self, delay_us: int = 0) -> int:
        values: dict[str, Any] = {
            "ids": os.urandom(8).hex(), "queues": self._queue, "tasks": "t", "priorities": 0, "delays": delay_us,
            "ats": None, "expiries": None, "budgets": 3, "keep_done": 9999, "keep_dead": 9999, "result_ttls": 9999,
            "tags": None, "seals": None, "envelopes": b"",
        }  # fmt: skip
        return len(self._run("push", now=None, **{name: [value] for name, value in values.items()}))

    def claim(self, limit: int) -> list[str]:
        """Give the ids of the claimed jobs."""
        self._run("look", queues=[self._queue], now=None, shelved=[])
        with self._connection.transaction():
            ((_, _, now_us),) = self._run("hold_lease", worker=self._id, now=None)
            values = {"queue": self._queue, "now": now_us, "limit": limit, "worker": self._id, "nonce": "n"}
            self._connection.execute(self.statements["promote"], values)
            return [row[3] for row in self._run("claim_fifo", **values)]

    def settle(self, ids: list[str], state: str) -> int:
        with self._connection.transaction():
            held = self._run("held", ids=ids, now=None)
            assert {row[2] for row in held} == {"running"}
            now_us, is_final = held[-1][-1], state == "succeeded"
            ends = {"finished": now_us if is_final else None, "kept": now_us + _DAY_US if is_final else None}
            whole = {**_NOTHING, **ends, "states": state, "outcomes": "done"}
            lists = {name: [value] * len(held) for name, value in whole.items()}
            of_rows = {"seqs": [row[1] for row in held], "dues": [row[4] for row in held]}
            self._connection.execute(self.statements["land"], {**lists, **of_rows, "now": now_us})
        return len(held)

    def beat(self) -> bool:
        return bool(self._run("beat", worker=self._id, now=None, report=None))

    def close(self) -> None:
        self._connection.close()

    def _run(self, statement: str, **values: object) -> list[tuple[Any, ...]]:
        return self._connection.execute(self.statements[statement], values).fetchall()
