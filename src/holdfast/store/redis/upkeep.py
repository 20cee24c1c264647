"""One slice of upkeep: in every queue end what has expired, drop what is past its term, free the ids of those gone."""

from typing import Final

from holdfast.errors import StoreUnavailable
from holdfast.model.query import Tidied
from holdfast.store.redis.link import Call, Link, answered
from holdfast.store.redis.relay import MARK_US, forget_marks

SLICE: Final = 1000


def tidy(link: Link, queues: list[str], now_us: int | None) -> Tidied:
    """Do one slice in each queue, each a step of its own. A queue whose node is down is left for the next time."""
    tried = answered(link.try_run([Call("tidy", queue, (SLICE, MARK_US)) for queue in queues], now_us))
    done = {q: answer for q, answer in zip(queues, tried, strict=True) if not isinstance(answer, StoreUnavailable)}
    forget_marks(link, {queue: (answer[3], answer[4]) for queue, answer in done.items()})
    answers = list(done.values())
    expired, pruned = sum(answer[0] for answer in answers), sum(answer[1] for answer in answers)
    is_more = any(SLICE in (answer[0], answer[1]) for answer in answers)
    return Tidied(expired, pruned, is_more, min((int(answer[2]) for answer in answers if answer[2]), default=None))
