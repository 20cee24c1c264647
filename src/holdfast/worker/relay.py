"""The store as a child sees it: what a task enqueues goes through the supervisor.

Children open no write transaction beside user code: a busy interpreter can hold a lock for seconds. So `push` is sent to
the supervisor, and the task waits for the answer, which comes when the jobs are committed: to the task it is the same
promise. Everything else is rare, and goes to a store that is opened when it is first needed.
"""

import itertools
import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any

from holdfast.errors import StoreUnavailable
from holdfast.model.job import NewJob, Pushed
from holdfast.store.protocol import Store
from holdfast.worker.channel import Channel
from holdfast.worker.messages import Answer, Ask


class Relay:
    """A store whose pushes go through the supervisor. Has every other operation of the store it opens."""

    def __init__(self, talk: Channel, open_store: Callable[[], Store]) -> None:
        self._talk = talk
        self._open = open_store
        self._lock = threading.Lock()
        self._opened: Store | None = None
        self._numbers = itertools.count(1)
        self._asked: dict[int, SimpleQueue[Answer]] = {}

    def push(self, jobs: Sequence[NewJob], now_us: int | None = None) -> list[Pushed]:
        """Push through the supervisor; returns when it has committed. `now_us` is for tests, which have no supervisor."""
        number = next(self._numbers)
        reply: SimpleQueue[Answer] = SimpleQueue()
        self._asked[number] = reply
        self._talk.send(Ask(number, list(jobs)))
        answer = reply.get()
        if answer.pushed is None:
            raise StoreUnavailable(f"the supervisor could not store what this task enqueued: {answer.error}")
        return answer.pushed

    def answer(self, answer: Answer) -> None:
        """Give a waiting push its answer."""
        reply = self._asked.pop(answer.number, None)
        if reply is not None:
            reply.put(answer)

    def __getattr__(self, name: str) -> Any:
        with self._lock:
            if self._opened is None:
                self._opened = self._open()
        return getattr(self._opened, name)
