"""A worker as the store knows it: who it is, what it can run, and how long its silence is believed."""

import msgspec


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


class Beat(msgspec.Struct, frozen=True):
    """The answer to a beat: whether the lease lives on, and the tokens of running jobs that someone cancelled."""

    is_alive: bool
    cancelled: tuple[str, ...] = ()


class Rescued(msgspec.Struct, frozen=True):
    """A dead worker and the jobs that were taken from it."""

    worker: str
    jobs: tuple[str, ...]
