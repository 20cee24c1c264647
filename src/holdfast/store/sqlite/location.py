"""Where the file may live: on this machine, on a file system whose locks can be trusted.

SQLite's locks (and our doorbells) do not work across machines. On a network file system two workers would both
believe that they hold the write lock, and the file would be corrupted. So such a place is refused when it is opened.
"""

from pathlib import Path
from typing import Final

from holdfast.errors import StoreUnavailable, StoreUnsafe

_MOUNTS: Final = Path("/proc/self/mountinfo")
_REMOTE: Final = frozenset(
    {"9p", "afs", "beegfs", "ceph", "cifs", "coda", "gfs2", "glusterfs", "lustre", "ncpfs", "nfs", "nfs4", "ocfs2",
     "smb2", "smb3", "smbfs", "virtiofs"}
)  # fmt: skip


def check_location(path: Path, *, trust: bool = False) -> None:
    """Refuse a path where a database cannot be written, or not safely."""
    folder = path.parent
    if not folder.is_dir():
        raise StoreUnavailable(f"cannot open {path}: the folder {folder} does not exist; create it first")
    if path.is_dir():
        raise StoreUnavailable(f"cannot open {path}: it is a folder; name a file in it, e.g. {path / 'jobs.db'}")
    if not trust and _MOUNTS.exists():
        kind = filesystem_of(folder.resolve(), _MOUNTS.read_text("utf-8", "replace"))
        check_filesystem(path, kind)


def check_filesystem(path: Path, kind: str) -> None:
    """Refuse a file system that is shared between machines."""
    if kind in _REMOTE or kind.startswith("fuse."):
        raise StoreUnsafe(
            f"{path} is on a network file system ({kind}), where SQLite's locks cannot be trusted and the file would "
            "be corrupted; use a local disk, or postgresql:// for many machines. If you know that this mount is local, "
            "add ?trust_filesystem=1 to the URL"
        )


def filesystem_of(folder: Path, mountinfo: str) -> str:
    """Name the type of the file system that holds `folder`, by the kernel's table of mounts."""
    best, kind = "", "unknown"
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        fields = left.split(" ")
        if not right or len(fields) < 5:
            continue
        mount = fields[4].replace("\\040", " ")
        # `>=`: of two mounts on one point the later one is the one that is seen.
        if len(mount) >= len(best) and folder.is_relative_to(mount):
            best, kind = mount, right.split(" ", 1)[0]
    return kind
