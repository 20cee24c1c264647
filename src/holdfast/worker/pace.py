"""How many claims a child should hold: what it runs now, and about 50 ms of work ahead of it.

Tiny jobs are sent ahead by the hundred, so that no child waits for a commit; a job that takes longer than that is sent
only into a free slot, so that none waits behind it while another child is idle. The estimate starts at "long" and is
corrected by what is measured: one slow run brings it down at once, quick ones raise it step by step.
"""

from typing import Final

AHEAD_US: Final = 50_000
MOST_AHEAD: Final = 400


class Pace:
    """The measured run time of one child's sync tasks."""

    def __init__(self) -> None:
        self._usual_us = float(AHEAD_US)

    def saw(self, took_us: int) -> None:
        """Learn from a finished run. Slow runs weigh more than quick ones: hoarding is the worse mistake."""
        weight = 0.5 if took_us > self._usual_us else 0.2
        self._usual_us += weight * (max(took_us, 1) - self._usual_us)

    @property
    def depth(self) -> int:
        """How many claims to hold: one to run, and as many ahead as fit into the window."""
        return 1 + min(int(AHEAD_US / self._usual_us), MOST_AHEAD) if self._usual_us < AHEAD_US else 1
