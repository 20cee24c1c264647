"""How long to go on trying, and how long to rest in between. One for each batch."""

from collections.abc import Sequence
from typing import Final

from redis.exceptions import AskError, BusyLoadingError, ClusterDownError, NoScriptError, ReadOnlyError, TryAgainError

_MOST_HOPS: Final = 20
_LOST_S: Final = (0.0, 0.05, 0.25)
"""Rests before an order that got no answer is sent again. A restart takes longer: that is for the caller to sit out."""
_BRIEF_S: Final = (0.0,)
_NOT_NOW_S: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.2, 0.3, 0.3, 0.4, 0.5)
"""Rests before an order that was put off is sent again: what moves a small slot is over by then."""


class Patience:
    """What is left of the tries for one batch."""

    def __init__(self, is_brief: bool = False) -> None:
        self._hops = _MOST_HOPS
        self._lost = list(_BRIEF_S if is_brief else _LOST_S)
        self._not_now = list(_NOT_NOW_S[:2] if is_brief else _NOT_NOW_S)

    def pause_s(self, errors: Sequence[object]) -> float | None:
        """Tell how long to rest before the next round, or None: to give up."""
        rests = [self._rest_s(kind) for kind in sorted({_kind(error) for error in errors})]
        known = [rest for rest in rests if rest is not None]
        return max(known) if len(known) == len(rests) else None

    def _rest_s(self, kind: str) -> float | None:
        if kind == "hop":
            self._hops -= 1
            return 0.0 if self._hops >= 0 else None
        rests = self._not_now if kind == "not now" else self._lost
        return rests.pop(0) if rests else None


def _kind(error: object) -> str:
    if isinstance(error, NoScriptError | AskError):
        return "hop"
    if isinstance(error, TryAgainError | ClusterDownError | BusyLoadingError | ReadOnlyError):
        return "not now"
    return "lost"
