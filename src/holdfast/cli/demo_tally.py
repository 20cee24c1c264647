"""Counting what was done, from the lines that tasks wrote and from nothing else."""

from collections import Counter
from pathlib import Path


class Tally:
    """Reads the file on from where it was; a line that is not whole yet waits for the next time."""

    def __init__(self, path: Path) -> None:
        path.touch()
        self._file = path.open("rb")
        self._rest = b""
        self.lines: Counter[str] = Counter()
        """How often each job did its work, by job id."""
        self.by_kind: Counter[str] = Counter()
        """How many jobs of each kind have done their work at least once."""

    def update(self) -> None:
        """Count what was written since the last time."""
        *whole, self._rest = (self._rest + self._file.read()).split(b"\n")
        for line in whole:
            kind, job_id = line.decode().split()
            self.by_kind[kind] += job_id not in self.lines
            self.lines[job_id] += 1

    @property
    def finished(self) -> int:
        return len(self.lines)

    def close(self) -> None:
        self._file.close()
