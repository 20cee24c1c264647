"""Waking the processes that share a file, without polling it.

Beside `jobs.db` lies the folder `jobs.db-holdfast`. Whoever waits keeps a named pipe in it; whoever commits something of
interest writes one byte into each. There are three kinds: `work` bells ring when something may be claimable, `done` bells
when a job has ended, `room` bells when a queue that was full may have room.

No wake-up is lost in between: a waiter opens its pipe first, then looks at the store, then sleeps on the pipe; a byte
that arrives after the look is still in the pipe. A full pipe is a bell that rings already. A pipe without a reader is
left over from a killed process and is removed by whoever finds it. If bells cannot be had at all, the waiters' slow look
at the store (twice a second) still makes progress: a bell is a hint, never the truth.
"""

import contextlib
import os
import select
import threading
import time
import uuid
from itertools import chain
from pathlib import Path
from typing import Final, Literal

from holdfast.errors import StoreUnavailable
from holdfast.store.forking import tell_of_forks

Kind = Literal["work", "done", "room"]

NEWS: Final = b"."
WAKE: Final = b"!"
_SETTLED_NS: Final = 100_000_000


class Bell:
    """One waiter's pipe."""

    def __init__(self, folder: Path, kind: Kind) -> None:
        self.path = folder / f"{kind}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        # Under a name that nobody rings: a pipe that is found before it has its reader would be removed as left over.
        hidden = folder / f"new-{self.path.name}"
        os.mkfifo(hidden, 0o600)
        # Read and write: with a writer of its own the pipe never reports an end of file.
        self._fd = os.open(hidden, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        hidden.rename(self.path)

    def drain(self) -> bytes:
        """Take what has rung so far."""
        try:
            return os.read(self._fd, 4096)
        except BlockingIOError:
            return b""

    def listen(self, timeout_s: float) -> bytes:
        """Sleep until the bell rings or the time is up; return what rang."""
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        return self.drain() if poll.poll(max(0, timeout_s * 1000)) else b""

    def ring(self, news: bytes) -> None:
        with contextlib.suppress(BlockingIOError):  # full: it rings already
            os.write(self._fd, news)

    def close(self) -> None:
        self.path.unlink(missing_ok=True)
        self.let_go()

    def let_go(self) -> None:
        """Close our end. The pipe stays, for whoever else has it."""
        os.close(self._fd)


class Doorbell:
    """All bells of one file: rings those of others, lends ours to waiters."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._is_closed = False
        self._begin()
        tell_of_forks(self)

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._free: dict[Kind, list[Bell]] = {"work": [], "done": [], "room": []}
        self._lent: set[Bell] = set()
        self._wake_next = False
        self._listed: dict[Kind, tuple[int, list[Path]]] = {}
        self._pipes: dict[Path, int] = {}

    def lend(self, kind: Kind) -> Bell | None:
        """Give a bell to a waiter, or None if it must not sleep: someone has called `wake`. Raises StoreUnavailable."""
        with self._lock:
            if self._wake_next:
                self._wake_next = False
                return None
            bell = self._free[kind].pop() if self._free[kind] else self._new(kind)
            self._lent.add(bell)
            return bell

    def give_back(self, kind: Kind, bell: Bell) -> None:
        with self._lock:
            self._lent.discard(bell)
            if self._is_closed:
                bell.close()
            else:
                self._free[kind].append(bell)

    def wake(self) -> None:
        """End the waits of this process, or the next one if there is none."""
        with self._lock:
            self._wake_next = not self._lent
            for bell in self._lent:
                bell.ring(WAKE)

    def ring(self, kind: Kind, news: bytes = NEWS) -> None:
        """Tell every waiter of this kind, in all processes."""
        # What there is to tell is committed: a bell that fails must not make it look undone. Waiters look by themselves.
        with self._lock, contextlib.suppress(OSError):
            for path in self._paths(kind):
                self._write(path, news)

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            for bell in chain(*self._free.values()):
                bell.close()
            for bell in self._lent:
                bell.ring(WAKE)
            for pipe in self._pipes.values():
                os.close(pipe)
            self._free, self._pipes, self._listed = {"work": [], "done": [], "room": []}, {}, {}

    def before_fork(self) -> None:
        self._lock.acquire()

    def after_fork_in_parent(self) -> None:
        self._lock.release()

    def after_fork_in_child(self) -> None:
        """Let go of the parent's bells, without removing their pipes: they are still rung there."""
        for bell in chain(*self._free.values(), self._lent):
            bell.let_go()
        for pipe in self._pipes.values():
            os.close(pipe)
        self._begin()

    def _new(self, kind: Kind) -> Bell:
        try:
            return Bell(self._folder, kind)
        except OSError as error:
            raise StoreUnavailable(
                f"no pipe to wait on can be made in {self._folder}: {error.strerror}. The folder belongs to the jobs beside "
                "it; if it was removed, start this process anew"
            ) from error

    def _paths(self, kind: Kind) -> list[Path]:
        """List the pipes of this kind, anew only when the folder has changed since."""
        changed_ns = self._folder.stat().st_mtime_ns
        known = self._listed.get(kind)
        if known is not None and known[0] == changed_ns:
            return known[1]
        paths = [self._folder / name for name in os.listdir(self._folder) if name.startswith(kind)]  # noqa: PTH208  a third of the cost of iterdir
        for path in [path for path in self._pipes if path.name.startswith(kind) and path not in paths]:
            os.close(self._pipes.pop(path))
        # Folder times are coarse: a list made within one tick of the change may miss a pipe made later in that tick.
        if time.time_ns() - changed_ns > _SETTLED_NS:
            self._listed[kind] = (changed_ns, paths)
        return paths

    def _write(self, path: Path, news: bytes) -> None:
        try:
            pipe = self._pipes.get(path)
            if pipe is None:
                pipe = self._pipes[path] = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            os.write(pipe, news)
        except BlockingIOError:
            return  # full: it rings already
        except OSError:
            # Nobody reads it: its process was killed, or has just closed it. Removing it loses no one's wake-up.
            if path in self._pipes:
                os.close(self._pipes.pop(path))
            path.unlink(missing_ok=True)
