"""Verdicts and notes on their way into the queues' scripts.

**If the answer is lost**, the caller gets an error and settles again. A verdict that had been carried out is then not
refused: its token is remembered here, and the call that brings it again is marked. On a cluster that is common, because a
batch fails as a whole when one of its nodes is down, and the other nodes have done their part.
"""

from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

from holdfast.errors import StoreError
from holdfast.model.claim import Progress
from holdfast.model.verdict import Lost, Verdict
from holdfast.policy.flow import result_of
from holdfast.store.redis import rows
from holdfast.store.redis.link import Call
from holdfast.store.redis.plans import plan

_by_queue = attrgetter("queue")
_MOST: Final = 10_000


class Batch:
    """Writes that present tokens, as calls: one for each run of neighbours of one queue, in the order given."""

    def __init__(self, writes: Sequence[Verdict] | Sequence[Progress], unanswered: Container[str] = ()) -> None:
        self._groups: list[tuple[str, list[Any]]] = [
            (queue, list(group)) for queue, group in groupby(writes, _by_queue)
        ]
        self.calls = [
            _call(queue, group)._replace(is_again=any(one.token in unanswered for one in group))
            for queue, group in self._groups
        ]

    def lost(self, answers: Sequence[Any]) -> list[Lost]:
        """List the writes that the answers to the calls refuse."""
        return [
            Lost(group[place - 1].id, group[place - 1].token, why.decode())
            for (_, group), answer in zip(self._groups, answers, strict=True)
            for place, why in zip(answer[::2], answer[1::2], strict=True)
        ]


class Unanswered:
    """The tokens of verdicts whose answers were lost. Those that nobody brings again are let go of in time."""

    def __init__(self) -> None:
        self._tokens: dict[str, None] = {}

    @contextmanager
    def batch(self, verdicts: Sequence[Verdict]) -> Iterator[Batch]:
        """Give the verdicts as calls. If the block fails, remember them; if not, forget them."""
        try:
            yield Batch(verdicts, self._tokens)
        except StoreError:
            self._tokens.update(dict.fromkeys(one.token for one in verdicts))
            for token in list(self._tokens)[: max(len(self._tokens) - _MOST, 0)]:
                self._tokens.pop(token, None)
            raise
        if self._tokens:
            for one in verdicts:
                self._tokens.pop(one.token, None)


def _call(queue: str, group: list[Any]) -> Call:
    if isinstance(group[0], Verdict):
        return Call("settle", queue, (rows.pack([_verdict(one) for one in group]),))
    return Call("note", queue, (rows.pack([_note(one) for one in group]),))


def _verdict(verdict: Verdict) -> tuple[Any, ...]:
    return (
        rows.stamp_of(verdict.token), verdict.id, verdict.token,
        plan(verdict.outcome, verdict.reason, verdict.delay_us, verdict.again_us), verdict.took_us,
        verdict.outcome if verdict.is_of_a_run else None, verdict.reason,
        verdict.error, verdict.traceback, rows.raw(verdict.result), result_of(verdict.outcome), verdict.slows_us,
    )  # fmt: skip


def _note(note: Progress) -> tuple[Any, ...]:
    return rows.stamp_of(note.token), note.id, note.token, rows.raw(rows.pack((note.fraction, note.note)))
