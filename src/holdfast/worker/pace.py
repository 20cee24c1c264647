"""How many claims a child should hold: what it runs now, and about 50 ms of work ahead of it.

Tiny jobs are sent ahead by the hundred, so that no child waits for a commit; a job that takes longer than that is sent
only into a free slot, so that none waits behind it while another child is idle. The estimate starts at "long" and is
corrected by what is measured: one slow run brings it down at once, quick ones raise it step by step.

Where quick and slow runs are mixed, an average says little: now and then a run overstays, and all that was sent behind it
has to be taken back. That is work for nothing, so it is kept to a small share: with so many runs from one such moment to
the next, at most a tenth as many claims are sent ahead.
"""

from typing import Final

AHEAD_US: Final = 50_000
MOST_AHEAD: Final = 400
_SHARE_TAKEN_BACK: Final = 0.1


class Pace:
    """The measured run time of one child's sync tasks."""

    def __init__(self) -> None:
        self._usual_us = float(AHEAD_US)
        self._streak = 0
        self._usual_streak: float | None = None

    def saw(self, took_us: int) -> None:
        """Learn from a finished run. Slow runs weigh more than quick ones: hoarding is the worse mistake."""
        self._streak += 1
        self._weigh(took_us)

    def overstayed(self, so_far_us: int) -> None:
        """Learn from a run that is under way, and behind which others waited in vain."""
        before = self._streak if self._usual_streak is None else self._usual_streak
        self._usual_streak = (before + self._streak) / 2
        self._streak = 0
        self._weigh(so_far_us)

    @property
    def depth(self) -> int:
        """How many claims to hold: one to run, and as many ahead as fit into the window."""
        if self._usual_us >= AHEAD_US:
            return 1
        return 1 + min(int(AHEAD_US / self._usual_us), self._most())

    def _most(self) -> int:
        if self._usual_streak is None:
            return MOST_AHEAD
        return min(MOST_AHEAD, int(max(self._usual_streak, self._streak) * _SHARE_TAKEN_BACK))

    def _weigh(self, took_us: int) -> None:
        weight = 0.5 if took_us > self._usual_us else 0.2
        self._usual_us += weight * (max(took_us, 1) - self._usual_us)
