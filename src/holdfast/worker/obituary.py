"""How a child ended, in words: for the log, and for the record of the runs that died with it."""

import os
import resource
import signal

import msgspec


class Obituary(msgspec.Struct, frozen=True):
    """The evidence a dead child leaves: its exit code (negative: the signal), what it used, what it said last."""

    pid: int
    code: int
    cpu_s: float = 0.0
    max_rss_bytes: int = 0
    last_lines: tuple[str, ...] = ()

    @property
    def how(self) -> str:
        if self.code < 0:
            return f"was killed by {signal_name(-self.code)}"
        return f"exited with code {self.code} in the middle of the run"

    @property
    def error(self) -> str:
        """Say in one sentence what happened to a run in this process."""
        used = f"{self.cpu_s:.1f} s of CPU, {self.max_rss_bytes / 2**20:.0f} MiB at most"
        hint = "; the system kills the largest process when memory runs out" if self.code == -signal.SIGKILL else ""
        return f"its process {self.pid} {self.how} ({used}){hint}"

    @property
    def traceback(self) -> str | None:
        """Give the last output of the process, which is where a fault leaves its stack."""
        return "last output of the process:\n" + "\n".join(self.last_lines) if self.last_lines else None


def obituary(pid: int, status: int, usage: resource.struct_rusage, last_lines: list[str]) -> Obituary:
    """Write down what `wait4` told."""
    cpu_s = usage.ru_utime + usage.ru_stime
    return Obituary(pid, os.waitstatus_to_exitcode(status), cpu_s, usage.ru_maxrss * 1024, tuple(last_lines))


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal has no name
        return f"signal {number}"
