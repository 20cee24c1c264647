"""What a worker was asked to do."""

import msgspec


class Plan(msgspec.Struct, frozen=True):
    """The options of one worker. Zero stands for "no limit" in the three that recycle children."""

    target: str
    processes: int = 1
    threads: int = 0
    coroutines: int = 100
    queues: tuple[str, ...] = ()
    weights: dict[str, int] = {}
    """The shares of the queues, if they are not to take turns."""
    is_strict: bool = False
    is_burst: bool = False
    lease_s: float = 10.0
    grace_s: float = 25.0
    max_runs: int = 0
    max_rss_bytes: int = 0
    max_age_s: float = 0.0
    reloads: bool = False
    log_level: str = "INFO"
    logs_json: bool = False
    health: str = ""
    """The address at which the worker tells how it is; none if empty."""
