"""What `find` and `count` ask for, as a condition in SQL. For all stores that speak it, each in its own spelling.

The question is put together from constant parts; every value is a parameter.
"""

from typing import Final

from holdfast.model.query import Query
from holdfast.model.states import STATES, UNFINISHED

_DEAD: Final = frozenset(("failed", "cancelled", "expired", "parked"))
_IS_DEAD: Final = "state in ('failed', 'cancelled', 'expired', 'parked')"
"""Word for word the condition of the index of dead letters, in every store."""
_UNFINISHED: Final = frozenset(UNFINISHED)
_HOLDING: Final = _UNFINISHED - {"waiting"}


class Conditions:
    """Makes conditions in the spelling of one driver."""

    def __init__(self, parameter: str, now: str, *, no_lane: str, has_lane: str) -> None:
        """`parameter` is how the driver marks one, with {} for its name; `now` is how the moment is asked for; `no_lane`
        and `has_lane` are the conditions of the jobs without a lane and of those with one."""
        self._parameter = parameter
        self._no_lane, self._has_lane = no_lane, has_lane
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
        if query.lane is not None:
            parts += self._of_lane(query)
            values["lane"] = query.lane
        if query.key is not None:
            parts += self._of_key(query)
            values["key"] = query.key
        given = {"queue": query.queue, "task": query.task, "tag": query.tag, "since": query.since_us}
        for name, value in given.items():
            if value is not None:
                values[name] = value
                parts.append(_ASKED[name].format(self._parameter.format(name)))
        return " and ".join(parts), values

    def _of_lane(self, query: Query) -> list[str]:
        if not query.lane:
            return [self._no_lane]
        parts = [f"lane = {self._parameter.format('lane')}", self._has_lane]
        is_unfinished = query.states and _UNFINISHED.issuperset(query.states)
        return [*parts, "keep_until_us is null"] if is_unfinished else parts

    def _of_key(self, query: Query) -> list[str]:
        """Ask for a key in the words of the index of those that hold one, where it serves."""
        parts = [f"key = {self._parameter.format('key')}", "key is not null"]
        if query.states and _HOLDING.issuperset(query.states):
            parts += ["keep_until_us is null", "state <> 'waiting'"]
        return parts


_ASKED: Final = {
    "queue": "queue = {}",
    "task": "task = {}",
    "tag": "seq in (select job from ns_tag where tag = {})",
    "since": "coalesce(finished_us, created_us) >= {}",
}
