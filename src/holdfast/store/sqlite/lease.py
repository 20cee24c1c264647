"""Leases, kept beside the file: one small lock file for each worker.

A worker holds a lock (flock) on `jobs.db-holdfast/lease-ID` for as long as its process lives, and beats by setting the
file's time. So a beat needs no write to the database and no long transaction of someone else can starve it; and the death
of a process is seen at once, because the system drops its lock.

    lock free                  the process is gone: its jobs can be taken now
    lock held, time too old    the process hangs or was stopped: its lease has ended
    lock held, time recent     alive
    no file                    left, rescued, or removed by hand: dead

What makes a worker dead *for ever* is the row in `ns_worker`, written under the database's write lock in the same step
that takes its jobs. These files are only evidence.

What a worker says of itself with a beat lies in `report-ID` beside it: for people, who may find it half written.

Times here are those of the boot clock, which nobody sets: a step of the wall clock ends no lease. A reboot frees all locks.
"""

import contextlib
import fcntl
import os
import time
from pathlib import Path

import msgspec

from holdfast.errors import LeaseLost
from holdfast.model.worker import WorkerReport
from holdfast.store.forking import tell_of_forks


class Leases:
    """The lock files of one database."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: dict[str, int] = {}
        tell_of_forks(self)

    def begin(self, worker: str, now_us: int) -> None:
        """Take the lock of a new worker, and beat for the first time."""
        path = self._path(worker)
        try:
            fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except FileExistsError:
            raise LeaseLost(f"worker {worker} is enlisted already; every start needs a new id") from None
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._held[worker] = fd
        self.beat(worker, now_us)

    def beat(self, worker: str, now_us: int) -> None:
        with contextlib.suppress(FileNotFoundError):  # removed: `beat_us` tells the worker that it is dead
            os.utime(self._path(worker), ns=(now_us * 1000, now_us * 1000))

    def write_report(self, worker: str, report: WorkerReport) -> None:
        self._report_path(worker).write_bytes(msgspec.json.encode(report))

    def report(self, worker: str) -> WorkerReport | None:
        """Give what the worker last said of itself, if it can be read just now."""
        try:
            return msgspec.json.decode(self._report_path(worker).read_bytes(), type=WorkerReport)
        except (FileNotFoundError, msgspec.DecodeError):
            return None

    def beat_us(self, worker: str) -> int | None:
        """Tell when the worker last beat, or None if its file is gone."""
        try:
            return self._path(worker).stat().st_mtime_ns // 1000
        except FileNotFoundError:
            return None

    def is_alive(self, worker: str, lease_us: int, now_us: int) -> bool:
        """Judge by the evidence: the lock is held and the last beat is recent."""
        beat_us = self.beat_us(worker)
        if beat_us is None or now_us > beat_us + lease_us:
            return False
        return worker in self._held or self._is_locked(worker)

    def end(self, worker: str) -> None:
        """Remove the file; give up the lock if it is ours."""
        self._path(worker).unlink(missing_ok=True)
        self._report_path(worker).unlink(missing_ok=True)
        held = self._held.pop(worker, None)
        if held is not None:
            os.close(held)

    def close(self) -> None:
        for fd in self._held.values():
            os.close(fd)
        self._held = {}

    def before_fork(self) -> None:
        """Nothing is to be done: the locks are the parent's, and stay."""

    def after_fork_in_parent(self) -> None:
        """Nothing has changed."""

    def after_fork_in_child(self) -> None:
        """Let go of the parent's locks, which it keeps by descriptors of its own."""
        self.close()

    def _is_locked(self, worker: str) -> bool:
        try:
            fd = os.open(self._path(worker), os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        else:
            return False
        finally:
            os.close(fd)

    def _path(self, worker: str) -> Path:
        return self._folder / f"lease-{worker}"

    def _report_path(self, worker: str) -> Path:
        return self._folder / f"report-{worker}"


def boot_us() -> int:
    """Tell the time since boot, suspension included, in microseconds."""
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.clock_gettime_ns(clock) // 1000
