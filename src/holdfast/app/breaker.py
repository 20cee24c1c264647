"""A breaker, as a program declares it for a queue or for each of its lanes."""

from datetime import timedelta


class Breaker:
    """After `failures` in a row nothing starts for `pause` (seconds or a timedelta); then `probes` jobs are tried.

    One success among them closes it. If all of them fail, it pauses again.
    """

    __slots__ = ("failures", "pause", "probes")

    def __init__(self, failures: int = 10, pause: float | timedelta = 300, probes: int = 3) -> None:
        from holdfast.policy.rates import parse_breaker  # only for those who have one

        parse_breaker(failures, pause, probes)
        self.failures = failures
        self.pause = pause
        self.probes = probes

    def __repr__(self) -> str:
        return f"Breaker(failures={self.failures}, pause={self.pause!r}, probes={self.probes})"
