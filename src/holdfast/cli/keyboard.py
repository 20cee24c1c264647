"""The terminal while a live view is on it: keys come one by one, unseen; signals ask, and never tear a picture apart.

    q, Ctrl-C, SIGTERM    ask to stop; the view does so between two pictures, when nothing is half drawn
    a second of these     ends whatever hangs, by KeyboardInterrupt: once, for what follows puts the terminal back
    Ctrl-Z                does nothing: a view that is stopped would leave its screen behind
    a new size            wakes the view

All of it is put back at the end of the block, however it ends. Without a keyboard (`< /dev/null`) signals work alone.
"""

import os
import select
import signal
import sys
import termios
from contextlib import ExitStack
from types import FrameType
from typing import Any, Final, Self

_QUIT: Final = "qQ"
_LOCAL, _SPECIAL = 3, 6
_OFF: Final = b"\x00"


class Keyboard:
    """Keys and signals, for the time of a `with` block in the main thread."""

    def __init__(self) -> None:
        self.stopped_by: int | None = None
        """The signal that asked to stop: SIGINT for a key too."""
        self._is_hushed = False
        self._undo = ExitStack()
        self._keys: int | None = None

    def __enter__(self) -> Self:
        with ExitStack() as undo:
            self._bell, self._ringer = os.pipe()
            for end in (self._bell, self._ringer):
                os.set_blocking(end, False)
                undo.callback(os.close, end)
            # The system's handler rings, not ours: ours runs too late if the signal comes just before the sleep.
            undo.callback(signal.set_wakeup_fd, signal.set_wakeup_fd(self._ringer, warn_on_full_buffer=False))
            for number in (signal.SIGINT, signal.SIGTERM):
                undo.callback(signal.signal, number, signal.signal(number, self._stop))
            undo.callback(signal.signal, signal.SIGWINCH, signal.signal(signal.SIGWINCH, _draw_again))
            if sys.stdin.isatty():
                self._keys = sys.stdin.fileno()
                undo.callback(termios.tcsetattr, self._keys, termios.TCSADRAIN, _one_by_one(self._keys))
            self._undo = undo.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._undo.close()

    @property
    def is_told_to_stop(self) -> bool:
        return self.stopped_by is not None

    def hush(self) -> None:
        """Let no further signal interrupt: the view ends, and the terminal is about to be put back."""
        self._is_hushed = True

    def rest(self, seconds: float) -> None:
        """Sleep until the time is over, someone wants to stop, or there is reason to draw again."""
        sources = [self._bell] if self._keys is None else [self._bell, self._keys]
        ready, _, _ = select.select(sources, [], [], max(0.0, seconds))
        if self._bell in ready:
            os.read(self._bell, 1024)
        if self._keys in ready:
            self._read_keys()

    def _read_keys(self) -> None:
        assert self._keys is not None
        try:
            typed = os.read(self._keys, 1024).decode("utf-8", "replace")
        except OSError:  # the terminal is gone, and with it whoever looked on
            typed = ""
        if not typed or any(key in _QUIT for key in typed):
            self.stopped_by = signal.SIGINT

    def _stop(self, number: int, _frame: FrameType | None) -> None:
        if self.is_told_to_stop and not self._is_hushed:
            self.hush()
            raise KeyboardInterrupt
        self.stopped_by = self.stopped_by or number


def _draw_again(_number: int, _frame: FrameType | None) -> None:
    """Have nothing done but the waking: without a handler the signal would be ignored, and ring no bell."""


def _one_by_one(keys: int) -> list[Any]:
    """Let keys arrive as they are pressed, without being shown. Give how it was before."""
    before, changed = termios.tcgetattr(keys), termios.tcgetattr(keys)
    changed[_LOCAL] &= ~(termios.ICANON | termios.ECHO)
    changed[_SPECIAL][termios.VMIN], changed[_SPECIAL][termios.VTIME] = 1, 0
    changed[_SPECIAL][termios.VSUSP] = _OFF
    termios.tcsetattr(keys, termios.TCSADRAIN, changed)
    return before
