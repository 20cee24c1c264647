"""Tells when source files have changed: for people who develop, not for production."""

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

_EVERY_S: Final = 0.5


class SourceWatch:
    """Watches files by their times, twice a second."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}
        self._due = 0.0

    def watch(self, files: Iterable[str]) -> None:
        """Watch these files from now on, too."""
        for file in files:
            if file not in self._seen:
                self._seen[file] = _changed_ns(file)

    def has_changed(self) -> bool:
        """Tell whether any file is not as it was when last asked."""
        if time.monotonic() < self._due:
            return False
        self._due = time.monotonic() + _EVERY_S
        now = {file: _changed_ns(file) for file in self._seen}
        changed, self._seen = now != self._seen, now
        return changed


def _changed_ns(file: str) -> int:
    try:
        return Path(file).stat().st_mtime_ns
    except OSError:
        return 0  # gone for a moment, as editors do it
