"""What a supervisor and a child say to each other. One struct is one packet.

| from       | message  | meaning                                                                  |
|------------|----------|--------------------------------------------------------------------------|
| supervisor | Begin    | be a child of this kind, for this app                                    |
| child      | Hello    | the app is imported; these are its store, tasks and queues               |
| child      | Sorry    | the app cannot be imported; this is why                                  |
| supervisor | Work     | claims to run, each with its place in the ledger                         |
| child      | Ended    | verdicts on claims                                                       |
| child      | Handed   | claims given back unstarted, as asked by TakeBack                        |
| child      | Told     | progress of running jobs                                                 |
| child      | Ask      | jobs that a task enqueued; the child's task waits for the Answer         |
| supervisor | Answer   | what became of them, or the store's error                                |
| supervisor | TakeBack | give back what has not been started                                      |
| supervisor | Cancelled| these running jobs were cancelled by someone                             |
| supervisor | Hook     | write down the job of a queue's hook: it has drained                     |
| child      | Written  | that job, if it can be written down                                      |
| supervisor | Stop     | no more work will come; end when what is running has ended               |
"""

from typing import Literal

import msgspec

from holdfast.model.claim import Claim, Progress
from holdfast.model.job import NewJob, Pushed
from holdfast.model.queue import Drained, QueuePolicy
from holdfast.model.verdict import Verdict

Slot = Literal["main", "thread", "loop"]
"""Where a task runs: one at a time in the child's main thread, in one of its threads, or on its event loop."""


class TaskInfo(msgspec.Struct, frozen=True, array_like=True):
    """What a supervisor needs to know of a task that it never imports."""

    name: str
    slot: Slot
    retries: int
    first_us: int
    cap_us: int
    factor: float
    jitter: float
    table_us: tuple[int, ...]
    gives_up_on_timeout: bool


class Begin(msgspec.Struct, frozen=True, tag=True):
    target: str
    threads: int
    coroutines: int
    log_level: str
    logs_json: bool
    names_files: bool
    """Whether to name the source files it has loaded."""


class Hello(msgspec.Struct, frozen=True, tag=True):
    url: str
    namespace: str
    tier: str | None
    is_signed: bool
    threads: int
    """How many threads for tasks it has."""
    tasks: tuple[TaskInfo, ...]
    names: tuple[str, ...]
    """Every name this child answers to, aliases included."""
    queues: dict[str, QueuePolicy]
    files: tuple[str, ...] = ()
    """The source files it has loaded, if it was asked for them."""


class Sorry(msgspec.Struct, frozen=True, tag=True):
    why: str
    traceback: str
    files: tuple[str, ...] = ()


class Work(msgspec.Struct, frozen=True, tag=True):
    claims: list[tuple[int, Claim]]


class Ended(msgspec.Struct, frozen=True, tag=True):
    verdicts: list[tuple[int, Verdict]]


class Handed(msgspec.Struct, frozen=True, tag=True):
    places: list[int]


class Told(msgspec.Struct, frozen=True, tag=True):
    notes: list[Progress]


class Ask(msgspec.Struct, frozen=True, tag=True):
    number: int
    jobs: list[NewJob]


class Answer(msgspec.Struct, frozen=True, tag=True):
    number: int
    pushed: list[Pushed] | None = None
    error: str | None = None


class TakeBack(msgspec.Struct, frozen=True, tag=True):
    pass


class Cancelled(msgspec.Struct, frozen=True, tag=True):
    tokens: list[str]


class Hook(msgspec.Struct, frozen=True, tag=True):
    drained: Drained


class Written(msgspec.Struct, frozen=True, tag=True):
    drained: Drained
    job: NewJob | None = None
    """None if it cannot be written down, or this child's app declares no such hook (any more)."""


class Stop(msgspec.Struct, frozen=True, tag=True):
    pass


Message = (
    Begin | Hello | Sorry | Work | Ended | Handed | Told | Ask | Answer | TakeBack | Cancelled | Hook | Written | Stop
)
