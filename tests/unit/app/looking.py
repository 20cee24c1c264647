"""Looking behind an app: what its store holds."""

import threading
import time
from collections.abc import Callable

from holdfast import Holdfast
from holdfast.model.job import JobRecord
from holdfast.model.query import Query
from holdfast.testing.contract.background_call import DEADLINE_S


def all_jobs(app: Holdfast) -> list[JobRecord]:
    return app.store.inspector.find(Query(limit=10_000))


def wait_until(is_so: Callable[[], object], what: str) -> None:
    """Wait for what other threads bring about and nobody signals. Looks often; fails loudly at the deadline."""
    deadline = time.monotonic() + DEADLINE_S
    look = threading.Event()
    while not is_so():
        assert time.monotonic() < deadline, f"not within {DEADLINE_S} s: {what}"
        look.wait(0.002)
