"""The tasks of `holdfast demo`. Run by a real worker: `holdfast worker holdfast.cli.demo_tasks:app`.

Each writes one line when its work is done, by one write to a file opened for appending: such writes are whole and never
mix, so the lines count what was done without asking the store that is on trial. A worker that is killed between the line
and the commit leaves a line too many. That is the "twice" which the demo counts, and which no queue can rule out.
"""

import asyncio
import os
import time
from typing import Final

from holdfast.app.app import Holdfast
from holdfast.run.context import current_job

LINES: Final = "HOLDFAST_DEMO_LINES"
"""The variable that names the file."""

app = Holdfast()


@app.task(name="demo.quick")
def quick(number: int) -> int:
    """Do next to nothing: what is seen is the cost of the queue."""
    _write("quick")
    return number * number


@app.task(name="demo.slow")
def slow() -> None:
    """Take a while."""
    time.sleep(0.15)
    _write("slow")


@app.task(name="demo.flaky", retries=5, retry_delay=0.4)
def flaky() -> int:
    """Fail twice, then succeed."""
    attempt = current_job().attempt
    if attempt < 3:
        raise ConnectionError(f"the other side hung up (attempt {attempt})")
    _write("flaky")
    return attempt


@app.task(name="demo.waiting")
async def waiting() -> None:
    """Wait for something, as calls over a network do, a hundred at a time."""
    await asyncio.sleep(0.3)
    _write("waiting")


@app.task(name="demo.later")
def later() -> None:
    """Be enqueued for a moment some seconds ahead."""
    _write("later")


@app.task(name="demo.urgent", priority=10)
def urgent() -> None:
    """Be enqueued last and run first."""
    _write("urgent")


def _write(kind: str) -> None:
    lines = os.open(os.environ[LINES], os.O_WRONLY | os.O_APPEND)
    try:
        os.write(lines, f"{kind} {current_job().id}\n".encode())
    finally:
        os.close(lines)
