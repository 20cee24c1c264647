"""A call made in a thread of its own, whose end a test awaits with a deadline."""

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

DEADLINE_S = 5.0
"""How long a test waits for what must happen at once. Long, because a busy machine must not fail it."""


class Call(Generic[T]):
    """A call under way. `result` gives what it returned, and fails if it does not return in time."""

    def __init__(self, act: Callable[[], T]) -> None:
        self._act = act
        self._answer: list[T] = []
        self._error: BaseException | None = None
        self.took_s = 0.0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def result(self, within_s: float = DEADLINE_S) -> T:
        self._thread.join(within_s)
        assert not self._thread.is_alive(), f"still not back after {within_s} s"
        if self._error is not None:
            raise self._error
        return self._answer[0]

    def is_back(self, within_s: float) -> bool:
        """Tell whether the call returns within so long. For what must not return: a wait, bounded."""
        self._thread.join(within_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        began = time.monotonic()
        try:
            self._answer.append(self._act())
        except BaseException as error:  # noqa: BLE001 - raised again, in the test's own thread, by `result`
            self._error = error
        finally:
            self.took_s = time.monotonic() - began
