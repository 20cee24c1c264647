"""What crosses from a queue to others: the ids of jobs that are gone are freed, and workers are roused.

A queue's script that drops jobs leaves a mark for each in `gone`. Whoever called it has the house forget the ids.
If it dies before that, upkeep does so a while later, from the marks. The marks stand that long in any case: they
turn away a push that had looked up the id before it was freed.
"""

from collections.abc import Sequence
from typing import Final

from holdfast.policy.moments import SECOND
from holdfast.store.redis import rows
from holdfast.store.redis.keys import EVERYBODY
from holdfast.store.redis.link import Call, Link

MARK_US: Final = 60 * SECOND
"""How long a mark stands: longer than any call is under way."""


def forget(link: Link, gone: Sequence[tuple[str, str]]) -> None:
    """Free ids, each only while it has this stamp. Repeating it is harmless."""
    if gone:
        link.call("forget", None, rows.pack(gone), now_us=None)


def rouse(link: Link) -> None:
    """Have all workers beat now, and so learn what is wanted. If that is not heard, they do so with their next beat."""
    link.ask(("PUBLISH", link.keys.bell, EVERYBODY))


def forget_marks(link: Link, marks: dict[str, tuple[int, list[bytes]]]) -> None:
    """Free the ids of marks, by queue; then take away those that are old enough, which stand first."""
    forget(link, [rows.mark(one) for _, found in marks.values() for one in found])
    link.run([Call("forgotten", queue, tuple(found[:old])) for queue, (old, found) in marks.items() if old], None)
