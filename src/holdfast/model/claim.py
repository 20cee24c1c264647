"""A claim: one job in one worker's hands, with the token that fences every write about it."""

import msgspec


class Claim(msgspec.Struct, frozen=True, array_like=True):
    """A job handed to a worker.

    `token` is never issued again, to anyone: whoever presents another one changes nothing. `failures` and `crashes`
    are those of this generation so far, so `attempt` is 1 on the first run and does not count runs that were
    released or snoozed.
    """

    id: str
    token: str
    queue: str
    task: str
    envelope: bytes
    seal: bytes | None
    failures: int
    crashes: int
    crash_budget: int
    claimed_us: int
    due_us: int = 0
    """When the job became due: what it was claimed after that, it was late."""
    is_limited: bool = False
    """Whether its queue has limits: then it was counted as started when it was handed out, and should start at once."""

    @property
    def attempt(self) -> int:
        return self.failures + self.crashes + 1


class Progress(msgspec.Struct, frozen=True, array_like=True):
    """How far a run has come, as its task tells it. Fenced by the token like every other write."""

    id: str
    token: str
    queue: str
    fraction: float | None = None
    note: str | None = None
