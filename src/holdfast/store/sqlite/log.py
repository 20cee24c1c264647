"""How long the write-ahead log is, told by two short reads.

The log is a header and then frames, one for each page that a commit has changed. Once all of it has been copied into the
database, the next commit starts again at the first frame and overwrites what is there, which is a good deal cheaper on
most file systems than making the file longer. So the file keeps its size, and its size says nothing.

What tells is the salt. It stands in the header and in every frame, and changes whenever the log starts again: a frame
whose salt is the header's belongs to the log as it is now. If the frame at a given place does, the log reaches that far.
"""

import os
from pathlib import Path
from typing import Final

_HEADER_BYTES: Final = 32
_FRAME_HEADER_BYTES: Final = 24
_SALT_BYTES: Final = 8
_SALT_IN_HEADER: Final = 16
_SALT_IN_FRAME: Final = 8


class Log:
    """The log of one database, watched by a process that has the database open. SQLite puts no locks on this file."""

    def __init__(self, path: Path, page_bytes: int, limit_bytes: int) -> None:
        frame_bytes = _FRAME_HEADER_BYTES + page_bytes
        self._mark = _HEADER_BYTES + limit_bytes // frame_bytes * frame_bytes + _SALT_IN_FRAME
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def is_long(self) -> bool:
        """Tell whether the log has grown past the limit since it last started again."""
        salt = os.pread(self._fd, _SALT_BYTES, self._mark)
        return len(salt) == _SALT_BYTES and salt == os.pread(self._fd, _SALT_BYTES, _SALT_IN_HEADER)

    def close(self) -> None:
        os.close(self._fd)
