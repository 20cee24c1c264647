"""Calls that are enqueued when a queue has drained: once for each drain.

    find a drain ──► write the job down, under an id made of queue and number ──► push it ──► note that it was acted on

The store tells of a drain until the last step is done. So if the process dies before it, whoever looks next writes the same
job down once more; if it was pushed already, the store knows its id, and there is one job all the same.

A job that finds its queue full is tried again with the next look, and so is one that cannot be written down: whoever mends
that finds the drain still untold.
"""

import logging
from collections.abc import Callable, Iterable, Mapping

from holdfast.model.job import NewJob
from holdfast.model.queue import Drained
from holdfast.policy.bounds import FULL
from holdfast.store.protocol import Store

log = logging.getLogger("holdfast.run")

Writer = Callable[[int], NewJob]
"""Writes down the job for the drain of this number, always the same."""


class DrainHooks:
    """The hooks of one program's queues. Those that have none cost nothing."""

    def __init__(self, store: Store, writers: Mapping[str, Writer]) -> None:
        self._store = store
        self._writers = writers

    def __bool__(self) -> bool:
        return bool(self._writers)

    def run_once(self, queues: Iterable[str] | None = None) -> list[NewJob]:
        """Look at these queues (None: at all), and give the jobs that were enqueued because one has drained."""
        names = [name for name in (self._writers if queues is None else queues) if name in self._writers]
        if not names:
            return []
        jobs = [self._act_on(drained) for drained in self._store.queues.find_drained(names)]
        return [job for job in jobs if job is not None]

    def _act_on(self, drained: Drained) -> NewJob | None:
        try:
            job = self._writers[drained.queue](drained.number)
        except Exception:  # functions of the user's give lane and key
            log.exception("the hook of queue %s could not be written down; it is tried again", drained.queue)
            return None
        return job if enqueue(self._store, drained, job) else None


def enqueue(store: Store, drained: Drained, job: NewJob) -> bool:
    """Push the job of a drain, and note that it was acted on. Return whether this has added a job."""
    pushed = store.push([job])[0]
    if pushed.decision == "refused" and pushed.reason == FULL:
        log.warning(
            "queue %s has drained, and its hook %s found no room in queue %s; it is tried again",
            drained.queue, job.task, job.queue,
        )  # fmt: skip
        return False
    # Only now: a process that dies before this has the job pushed again, under the same id.
    store.queues.tell_drained(drained.queue, drained.number)
    if pushed.reason is not None:  # by its key; that others were faster with the same id is nothing to tell
        log.info("the hook of queue %s was %s: %s", drained.queue, pushed.decision, pushed.reason)
    return pushed.decision == "created"
