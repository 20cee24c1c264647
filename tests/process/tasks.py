"""The tasks that worker processes run in these tests. The store comes from HOLDFAST_URL, the diary from DIARY."""

import asyncio
import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from holdfast import Holdfast, RateLimited, Retry, TaskTimeout, current_job

app = Holdfast()

if "HARD_AFTER_US" in os.environ and hasattr(sys.modules["__main__"], "HARD_AFTER_US"):
    sys.modules["__main__"].HARD_AFTER_US = int(os.environ["HARD_AFTER_US"])  # type: ignore[attr-defined]


def _plant_fault(point: str) -> None:
    """Let this process, a child, die once at a named point: see `tests.process.faults`."""
    from tests.process.faults import die, wrap

    child = sys.modules["__main__"].Child  # type: ignore[attr-defined]
    wrap(child, {"before-run": "_on_start", "after-run": "_end"}[point], die, None)


if os.environ.get("FAULT") and hasattr(sys.modules["__main__"], "Child"):
    _plant_fault(os.environ["FAULT"])


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
def stamp() -> None:
    """Write down the moment."""
    write_down(f"stamp {time.time():.6f}")


@app.task
async def stamp_on_loop() -> None:
    """As `stamp`, beside as many others as there are."""
    write_down(f"stamp {time.time():.6f}")


@app.task
def slow_down(retry_after: float) -> None:
    """Be told to slow down by others, whenever it is tried."""
    write_down(f"slowed {time.time():.6f}")
    raise RateLimited(retry_after)


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


_KEPT: list[bytes] = []

# --- tasks that harm their process ------------------------------------------------------------------------------


@app.task(crash_budget=1)
def segfault() -> None:
    ctypes.string_at(0)


@app.task(crash_budget=1)
def last_words(code: int) -> None:
    print("these are my last words", flush=True)
    os._exit(code)


@app.task
def exit_politely() -> None:
    sys.exit(3)


@app.task
def interrupt() -> None:
    raise KeyboardInterrupt


@app.task
def silence() -> None:
    """Close standard output and error, as objects and as descriptors."""
    sys.stdout.close()
    sys.stderr.close()
    for fd in (1, 2):
        with contextlib.suppress(OSError):
            os.close(fd)


@app.task
def wander() -> None:
    """Go to a folder that then vanishes."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)


@app.task
def take_signals() -> None:
    for number in (signal.SIGTERM, signal.SIGALRM, signal.SIGUSR2, signal.SIGCHLD):
        signal.signal(number, signal.SIG_IGN)


@app.task
def leak() -> int:
    """Leave behind a thread, descriptors, and a process. Give the process."""
    threading.Thread(target=threading.Event().wait, daemon=False).start()
    for _ in range(50):
        os.dup(1)
    return subprocess.Popen(["sleep", "60"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL).pid


@app.task
def grow(mebibytes: int) -> int:
    """Take up memory, and keep it."""
    _KEPT.append(b"x" * (mebibytes * 2**20))
    return len(_KEPT)


@app.task
def orphan() -> None:
    """Leave behind a process that ends when its parent, the child, is long gone."""
    subprocess.Popen(["sleep", "1"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


@app.task
def look_around(word: str) -> tuple[int, str, list[str]]:
    """Say a word, and tell the process, its folder, and which of its signals are ignored."""
    print(word, flush=True)
    numbers = (signal.SIGTERM, signal.SIGALRM, signal.SIGUSR2, signal.SIGCHLD)
    ignored = [number.name for number in numbers if signal.getsignal(number) is signal.SIG_IGN]
    return os.getpid(), str(Path.cwd()), ignored


# --- tasks that take too long -----------------------------------------------------------------------------------


@app.task(timeout=0.3, slot="thread")
def overstay_in_thread() -> None:
    while True:
        time.sleep(0.01)


@app.task(timeout=0.3)
async def overstay_on_loop() -> None:
    await asyncio.sleep(60)


@app.task(timeout=0.3)
def swallow() -> None:
    """Ignore the timeout."""
    write_down("swallow")
    while True:
        with contextlib.suppress(TaskTimeout):
            time.sleep(60)


@app.task(timeout=0.3)
def deaf() -> int:
    """Stay in one call that never comes back to the interpreter."""
    write_down("deaf")
    return sum(range(10**11))


@app.task(slot="thread")
def hold_in_thread(gate: str) -> str:
    return hold(gate)


@app.task(timeout=0.5)
def ask_for_more(slices: int) -> int:
    """Work for 0.2 s a slice, and ask for as much before each."""
    for _ in range(slices):
        current_job().extend(0.2)
        time.sleep(0.2)
    return slices
