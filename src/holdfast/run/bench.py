"""What every run needs at hand, given once by whoever runs jobs: the tasks, the codec, the keys, chance and time."""

import random
import time
from collections.abc import Callable, Mapping

import msgspec

from holdfast.model.claim import Claim, Progress
from holdfast.run.context import CancelCheck, Reporter
from holdfast.run.hooks import Writer
from holdfast.run.spec import Registry
from holdfast.wire.codec import Codec
from holdfast.wire.seal import KeyRing


def _keep_quiet(_progress: Progress) -> None:
    """Where nobody keeps progress, it goes nowhere."""


def _never(_token: str) -> bool:
    return False


def _no_start(_claim: Claim) -> None:
    """Where nobody keeps account of starts."""


def _no_limit(_token: str, _seconds: float | None) -> None:
    """Where nobody stands by to kill."""


def _wall_clock() -> int:
    return time.time_ns() // 1000


class Bench(msgspec.Struct, frozen=True):
    """A runner's bench. `stop_signals` are exceptions by which the runner itself is stopped: they are never judged."""

    registry: Registry
    codec: Codec
    ring: KeyRing | None = None
    report: Reporter = _keep_quiet
    is_cancelled: CancelCheck = _never
    now_us: Callable[[], int] = _wall_clock
    chance: Callable[[], float] = random.random
    on_start: Callable[[Claim], None] = _no_start
    """Called before anything of a claim is looked at."""
    on_limit: Callable[[str, float | None], None] = _no_limit
    """Told, by token, in how many seconds a run is to end: before its first line, and whenever that changes."""
    stop_signals: tuple[type[BaseException], ...] = ()
    hooks: Mapping[str, Writer] = {}
    """By queue, what writes down the job that is to be enqueued when it has drained."""
