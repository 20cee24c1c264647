"""What runs are told from outside: to stop, because their job was cancelled or because they no longer count.

The two must not be mixed up. A cancelled job is over: that is what was asked for. But a run whose worker lost the lease
must not end its job, not even as cancelled: nobody asked for that. And its token may still be good, when the lease was
lost only as far as the worker could know (I12). So whatever such a run says after it was told becomes a hand-back. A run
that ended without being told is believed: its token decides.

Told from any thread, asked from any thread: each step is one operation on a set.
"""

from collections.abc import Iterable

from holdfast.model.verdict import Verdict


class Notices:
    """The notices of one worker's runs, by token."""

    def __init__(self) -> None:
        self._cancelled: set[str] = set()
        self._void: set[str] = set()
        self._told_void: set[str] = set()

    def cancel(self, tokens: Iterable[str]) -> None:
        """Take note that the jobs of these runs were cancelled."""
        self._cancelled.update(tokens)

    def void(self, tokens: Iterable[str]) -> None:
        """Take note that these runs no longer count."""
        self._void.update(tokens)

    def is_told(self, token: str) -> bool:
        """Tell a run whether to stop."""
        if token in self._void:
            self._told_void.add(token)
        return token in self._void or token in self._cancelled

    def is_cancelled(self, token: str) -> bool:
        """Tell whether the run's job was cancelled, and the run still counts."""
        return token in self._cancelled and token not in self._void

    def file(self, verdict: Verdict) -> Verdict:
        """Put a run's notices away, and give what is to be settled of its verdict."""
        token = verdict.token
        is_void = token in self._told_void
        for notices in (self._cancelled, self._void, self._told_void):
            notices.discard(token)
        return _hand_back(verdict) if is_void else verdict


def _hand_back(verdict: Verdict) -> Verdict:
    reason = "its worker lost the lease while it ran"
    return Verdict(verdict.id, verdict.token, verdict.queue, "released", took_us=verdict.took_us, reason=reason)
