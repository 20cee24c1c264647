"""The tasks that the benchmarks run. The store comes from HOLDFAST_URL, the file for stamps from BENCH_STAMPS."""

import os
import struct
import time
from pathlib import Path

from holdfast import Holdfast, current_job

app = Holdfast()
_STAMP = struct.Struct("=qq")


@app.task
def nothing(number: int) -> None:
    """Do nothing: what is measured is the queue."""


@app.task
def stamp(sent_ns: int) -> None:
    """Write when this was sent (or due) and when it began, in one append."""
    _write(sent_ns, time.time_ns())


@app.task
def compute(_number: int) -> int:
    """Use the processor for two milliseconds."""
    until = time.process_time_ns() + 2_000_000
    rounds = 0
    while time.process_time_ns() < until:
        rounds += 1
    return rounds


@app.task
def stay() -> None:
    """Write down the process and the time; stay for ever on the first run, end at once on the next."""
    _write(os.getpid(), time.time_ns())
    if current_job().attempt == 1:
        time.sleep(3600)


def read_stamps(path: str) -> list[tuple[int, int]]:
    """Read back what tasks have written."""
    return list(_STAMP.iter_unpack(Path(path).read_bytes())) if Path(path).exists() else []


def _write(first: int, second: int) -> None:
    fd = os.open(os.environ["BENCH_STAMPS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(fd, _STAMP.pack(first, second))
    os.close(fd)
