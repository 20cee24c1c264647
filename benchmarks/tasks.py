"""The tasks that the benchmarks run. The store comes from HOLDFAST_URL, the file for stamps from BENCH_STAMPS."""

import os
import struct
import time
from pathlib import Path

from holdfast import Holdfast

app = Holdfast()
_STAMP = struct.Struct("=qq")


@app.task
def nothing(number: int) -> None:
    """Do nothing: what is measured is the queue."""


@app.task
def stamp(sent_ns: int) -> None:
    """Write when this was sent (or due) and when it began, in one append."""
    began_ns = time.time_ns()
    fd = os.open(os.environ["BENCH_STAMPS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(fd, _STAMP.pack(sent_ns, began_ns))
    os.close(fd)


def read_stamps(path: str) -> list[tuple[int, int]]:
    """Read back what `stamp` has written."""
    return list(_STAMP.iter_unpack(Path(path).read_bytes()))
