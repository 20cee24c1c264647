"""The tasks that worker processes run in these tests. The store comes from HOLDFAST_URL, the diary from DIARY."""

import asyncio
import os
import signal
import time
from pathlib import Path

from holdfast import Holdfast, Retry, current_job

app = Holdfast()


def write_down(text: str) -> None:
    """Append one line to the diary, in one write, so that runs are counted apart from the store."""
    fd = os.open(os.environ["DIARY"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(fd, f"{text}\n".encode())
    os.close(fd)


@app.task
def note(number: int) -> int:
    write_down(f"note {number}")
    return number


@app.task
def work(number: int, ms: float) -> int:
    time.sleep(ms / 1000)
    write_down(f"work {number}")
    return number


@app.task
def brief(ms: float) -> None:
    """Work for so long, and write down start and end for the checker."""
    job = current_job()
    who = f"{job.id} {job.token} {os.getpid()} {os.getppid()}"
    write_down(f"run {time.time():.6f} start {who}")
    time.sleep(ms / 1000)
    write_down(f"run {time.time():.6f} end {who}")


@app.task
async def anote(number: int) -> int:
    await asyncio.sleep(0.001)
    write_down(f"anote {number}")
    return number


@app.task
def hold(gate: str) -> str:
    """Run until the file `gate` exists."""
    write_down(f"holding {os.getpid()}")
    while not Path(gate).exists():
        time.sleep(0.005)
    return "let go"


@app.task
def die() -> None:
    write_down("dying")
    os.kill(os.getpid(), signal.SIGKILL)


@app.task(crash_budget=2)
def leave() -> None:
    write_down("leaving")
    os._exit(0)


@app.task
def fail() -> None:
    raise ValueError("it went wrong here")


@app.task(retries=3, retry_delay=0)
def flaky(number: int) -> str:
    job = current_job()
    write_down(f"flaky {number} {job.attempt}")
    if job.attempt < 3:
        raise Retry(delay=0)
    return "third time lucky"


@app.task
def parent(children: int) -> list[str]:
    return [note.enqueue(number).id for number in range(children)]


@app.task(timeout=0.5)
def overstay() -> None:
    while True:
        time.sleep(0.01)


@app.task
def told(steps: int, gate: str) -> None:
    for step in range(steps):
        current_job().progress((step + 1) / steps, f"step {step + 1}")
    hold(gate)


@app.task
def large(size: int) -> bytes:
    return b"x" * size


@app.task
def measure(body: bytes) -> int:
    return len(body)
