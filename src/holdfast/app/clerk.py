"""Writes calls down as jobs: arguments checked and packed, the envelope closed and sealed.

This is the hot path of every producer. All that is the same for each call of a task has been worked out in its
terms; what is left is one pass over the arguments, one id, one envelope.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from holdfast.app.call import Call
from holdfast.app.ids import new_id
from holdfast.app.options import Named
from holdfast.app.terms import Terms
from holdfast.errors import DeclarationError, InvalidInput
from holdfast.model.job import NewJob
from holdfast.model.seen import SeenMark
from holdfast.policy.names import check_key, check_lane
from holdfast.policy.seen import digest
from holdfast.store.protocol import Store
from holdfast.wire.envelope import FORMAT, Envelope, seal_in
from holdfast.wire.payload import pack
from holdfast.wire.seal import KeyRing, seal_job

if TYPE_CHECKING:
    from holdfast.app.app import Holdfast


class Clerk:
    """Writes the jobs of one app. Made for one batch."""

    __slots__ = ("_app", "_codec", "_ring", "_store")

    def __init__(self, app: "Holdfast", store: Store, ring: KeyRing | None) -> None:
        self._app = app
        self._codec = app.codec()
        self._store = store
        self._ring = ring

    def write_all(self, calls: Iterable[Call[Any]]) -> list[NewJob]:
        """Write every call down, or raise for the first that is wrong. Nothing is stored here."""
        if not isinstance(calls, Iterable):
            raise InvalidInput(f"expected calls, each made by task.s(…), got: {calls!r}")
        return [self.write(call) for call in calls]

    def write(self, call: Call[Any]) -> NewJob:
        """Write one call down."""
        if type(call) is not Call:
            raise InvalidInput(f"expected a call, made by task.s(…), got: {call!r}")
        task, args, kwargs = call.task, call.args, call.kwargs
        if task.app is not self._app:
            raise DeclarationError(f"the task {task.name} belongs to another app; enqueue it there: task.enqueue(…)")
        terms = task.terms
        parameters = task.parameters
        parameters.check(args, kwargs)
        payload = pack(args, kwargs, self._codec, parameters.place)
        lane = _given(terms.lane, call, check_lane, "lane")
        key = _given(terms.key, call, check_key, "key")
        job_id = terms.id or new_id()
        expires_us = terms.expires_at_us if terms.expires_in_us is None else self._expires_us(terms)
        envelope = seal_in(
            Envelope(
                FORMAT, job_id, task.name, terms.queue, terms.priority, terms.delay_us, terms.at_us, expires_us, payload,
                lane, key, terms.version, terms.retries, terms.timeout_us, terms.headers,
            )
        )  # fmt: skip
        return NewJob(
            job_id, terms.queue, task.name, envelope, seal_job(self._ring, job_id, envelope), terms.priority,
            terms.delay_us, terms.at_us, expires_us, terms.crash_budget, terms.keep_done_s, terms.keep_dead_s,
            terms.result_ttl_s, terms.tags, lane, key, terms.on_conflict, terms.fresh_for_us, terms.version,
            terms.is_forced, terms.runs_after, _mark(terms, key),
        )  # fmt: skip

    def _expires_us(self, terms: Terms) -> int:
        """Resolve "in ten minutes" on the store's clock: the caller's may be wrong."""
        assert terms.expires_in_us is not None
        return self._store.now() + terms.expires_in_us


def _mark(terms: Terms, key: str | None) -> SeenMark | None:
    """Give the mark that a job leaves in the seen-set of its queue, and is kept out by."""
    if key is None or not terms.is_once:
        return None
    return SeenMark(digest(key, terms.version), terms.once_for_us, terms.forgets_failure)


def _given(named: Named, call: Call[Any], check: Callable[[object, str], str], what: str) -> str | None:
    """Give the lane or the key of a call: as it was given, or as the function says that was given instead."""
    if named is None or isinstance(named, str):
        return named
    try:
        name = named(*call.args, **call.kwargs)
    except Exception as error:  # a user's function: whatever it raises is about this call
        raise InvalidInput(
            f"the function given as {what} of {call.task.name} raised {type(error).__name__}: {error}; it is called with "
            "the arguments of the call, as they were given"
        ) from error
    return None if name is None else check(name, f"what the {what} function of {call.task.name} gives")
