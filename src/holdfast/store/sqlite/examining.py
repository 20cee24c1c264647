"""What the doctor asks about a SQLite file: who may touch it, how large it is, what is left."""

import shutil
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from holdfast.model.finding import Finding

_MIB: Final = 1024 * 1024
_LOG_LARGE: Final = 64 * _MIB
"""Many times what a checkpoint waits for: something has kept it from happening."""
_SPACE_SHORT: Final = 256 * _MIB
_FIXED: Final = ((3, 51, 3), (3, 50, 7), (3, 44, 6))
_FAULT: Final = Finding(
    "warn",
    "library",
    f"SQLite {sqlite3.sqlite_version} has the WAL-reset fault; Holdfast checkpoints under the write lock, which avoids it",
    "for Holdfast alone nothing has to be done; other programs that write to this file should set wal_autocheckpoint=0",
)


def examine(path: Path, folder: Path) -> Iterator[Finding]:
    """Examine an open file, and the folder of bells and leases beside it."""
    yield Finding("ok", "sqlite", f"library {sqlite3.sqlite_version}; {path}, {path.stat().st_size / _MIB:,.1f} MiB")
    if not is_fixed(sqlite3.sqlite_version_info):
        yield _FAULT
    yield _permissions(path)
    yield _permissions(folder)
    yield _log(Path(f"{path}-wal"))
    yield _space(path)


def _permissions(path: Path) -> Finding:
    mode = stat.S_IMODE(path.stat().st_mode)
    detail = f"{path} is {stat.filemode(path.stat().st_mode)}"
    remedy = f"chmod {'700' if path.is_dir() else '600'} {path}"
    if mode & stat.S_IWOTH:
        return Finding("FAIL", "permissions", f"{detail}: everyone on this machine can make workers run tasks", remedy)
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        return Finding("warn", "permissions", f"{detail}: others can read what jobs carry, or write it", remedy)
    return Finding("ok", "permissions", detail)


def _log(path: Path) -> Finding:
    size = path.stat().st_size if path.exists() else 0
    detail = f"the write-ahead log has {size / _MIB:,.1f} MiB"
    if size <= _LOG_LARGE:
        return Finding("ok", "log", detail)
    return Finding("warn", "log", detail, "a program keeps an old read open on the file; end it, and the log shrinks")


def _space(path: Path) -> Finding:
    free = shutil.disk_usage(path.parent).free
    detail = f"{free / _MIB:,.0f} MiB are free beside the file"
    if free >= _SPACE_SHORT:
        return Finding("ok", "disk", detail)
    return Finding("warn", "disk", detail, "make room: with a full disk nothing can be enqueued nor finished")


def is_fixed(version: tuple[int, int, int]) -> bool:
    """Tell whether a version of SQLite is without the fault that can lose commits when a log is begun anew."""
    return version >= _FIXED[0] or any(version[:2] == fixed[:2] and version >= fixed for fixed in _FIXED[1:])
