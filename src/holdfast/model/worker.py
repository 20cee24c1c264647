"""A worker as the store knows it: who it is, what it can run, and how long its silence is believed."""

import msgspec


class ChildReport(msgspec.Struct, frozen=True):
    """One process of a worker: how much memory it has in use, how many runs it has ended, which jobs it runs now."""

    pid: int
    rss_bytes: int
    runs: int
    running: tuple[str, ...] = ()


class WorkerReport(msgspec.Struct, frozen=True):
    """What a worker says of itself with its beats. For people to look at: nothing is decided by it."""

    children: tuple[ChildReport, ...] = ()


class WorkerRecord(msgspec.Struct, frozen=True):
    """One worker. `id` is new for every start: once rescued it is dead for ever.

    `tasks` are the names it can run; jobs parked for an unknown task go only to workers that know it.
    """

    id: str
    host: str
    pid: int
    tasks: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()
    lease_us: int = 10_000_000
    started_us: int = 0
    is_leaving: bool = False
    """Whether someone has asked it to stop."""
    report: WorkerReport | None = None


class Beat(msgspec.Struct, frozen=True):
    """The answer to a beat: whether the lease lives on, and what people want of the worker.

    `cancelled` are the tokens of running jobs to be stopped; `must_leave`: the worker itself is to stop, in order.
    """

    is_alive: bool
    cancelled: tuple[str, ...] = ()
    must_leave: bool = False


class Rescued(msgspec.Struct, frozen=True):
    """A dead worker and the jobs that were taken from it."""

    worker: str
    jobs: tuple[str, ...]
