"""What `find` and `count` ask for, as a condition in SQL. For all stores that speak it, each in its own spelling.

The question is put together from constant parts; every value is a parameter.
"""

from typing import Final

from holdfast.model.query import Query
from holdfast.model.states import STATES

_DEAD: Final = frozenset(("failed", "cancelled", "expired", "parked"))
_IS_DEAD: Final = "state in ('failed', 'cancelled', 'expired', 'parked')"
"""Word for word the condition of the index of dead letters, in every store."""


class Conditions:
    """Makes conditions in the spelling of one driver."""

    def __init__(self, parameter: str, now: str) -> None:
        """`parameter` is how the driver marks one, with {} for its name; `now` is how the moment is asked for."""
        self._parameter = parameter
        self._seen_as = {state: f"state = '{state}'" for state in STATES} | {
            "ready": f"(state = 'ready' or (state = 'scheduled' and due_us <= {now}))",
            "scheduled": f"(state = 'scheduled' and due_us > {now})",
        }

    def of(self, query: Query, now_us: int | None) -> tuple[str, dict[str, object]]:
        """Give the condition and all values, with those that `find` needs besides: now, limit, after."""
        values: dict[str, object] = {"now": now_us, "limit": query.limit, "after": query.after}
        parts = ["1 = 1"]
        if query.states:
            # Spelt out, not passed as parameters: only so can a planner see that an index for these states will do.
            parts.append(f"({' or '.join(self._seen_as[state] for state in query.states)})")
            if _DEAD.issuperset(query.states):
                parts.append(_IS_DEAD)
        given = {"queue": query.queue, "task": query.task, "tag": query.tag, "since": query.since_us}
        for name, value in given.items():
            if value is not None:
                values[name] = value
                parts.append(_ASKED[name].format(self._parameter.format(name)))
        return " and ".join(parts), values


_ASKED: Final = {
    "queue": "queue = {}",
    "task": "task = {}",
    "tag": "seq in (select job from ns_tag where tag = {})",
    "since": "coalesce(finished_us, created_us) >= {}",
}
