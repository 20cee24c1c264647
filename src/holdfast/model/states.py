"""The states of a job and the one table of moves between them.

    waiting ──► scheduled ──► ready ──► running ──► succeeded
    (for others)  (until due)   ▲        │   │       failed      retries or crash budget used up: the dead letters
                     ▲          └────────┘   │       cancelled
                     └── retry, snooze ──────┤       expired     not started before `expires`
                                             └────► parked       unknown task, bad signature: shown, never run

A final state absorbs. The one way out of it is a person's `retry`, which opens the job's next *generation*:
same id, fresh budgets, history kept. Every store, the model test and the checker read this table; a move that
is not in it is a bug wherever it happens.

A `waiting` job is the successor of one that holds its key and runs (`policy.identity`); it is scheduled when that one ends.
A `spilled` job found its queue full (`policy.bounds`); it is scheduled when there is room.
"""

from collections.abc import Mapping
from typing import Final, Literal

State = Literal[
    "waiting",
    "scheduled",
    "ready",
    "running",
    "parked",
    "spilled",
    "succeeded",
    "failed",
    "cancelled",
    "expired",
]

UNFINISHED: Final[tuple[State, ...]] = ("waiting", "scheduled", "ready", "running", "parked", "spilled")
FINAL: Final[tuple[State, ...]] = ("succeeded", "failed", "cancelled", "expired")
STATES: Final[tuple[State, ...]] = UNFINISHED + FINAL
RETRIABLE: Final[tuple[State, ...]] = ("failed", "cancelled", "expired")
"""The final states out of which a person may open the next generation."""

_QUEUED: Final[frozenset[State]] = frozenset({"scheduled", "ready", "cancelled", "expired"})

MOVES: Final[Mapping[State | None, frozenset[State]]] = {
    None: frozenset({"waiting", "scheduled", "ready", "spilled"}),
    "waiting": _QUEUED,
    "spilled": _QUEUED,
    "scheduled": frozenset({"ready", "cancelled", "expired"}),
    "ready": frozenset({"running", "cancelled", "expired"}),
    "running": frozenset({"succeeded", "failed", "cancelled", "scheduled", "ready", "parked"}),
    "parked": frozenset({"ready", "cancelled", "expired"}),
    "succeeded": frozenset(),
    "failed": frozenset({"ready"}),
    "cancelled": frozenset({"ready"}),
    "expired": frozenset({"ready"}),
}


def is_move(old: State | None, new: State) -> bool:
    """Tell whether a job may go from `old` (None: not there yet) to `new`."""
    return new in MOVES[old]


def seen_as(state: State, due_us: int, now_us: int) -> State:
    """Give the state a reader should see: a scheduled job whose time has come counts as ready.

    Jobs become ready inside `claim`; a reader must not see a difference that depends on when a worker last asked.
    """
    return "ready" if state == "scheduled" and due_us <= now_us else state
