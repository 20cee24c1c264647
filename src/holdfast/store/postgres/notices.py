"""What processes tell each other by NOTIFY: on one channel for each kind of bell, a sign and who gave it.

Whoever gave it skips it: its own waiters were rung at once.
"""

from typing import Final, Literal

Kind = Literal["work", "done", "room"]

NEWS: Final = "."
LOOK: Final = "?"
"""Look for yourself: nobody knows whether there is news."""
WAKE: Final = "!"
"""Return, whatever you wait for: someone wants something of you."""


def channel(namespace: str, kind: Kind) -> str:
    return f"{namespace}:{kind}"
