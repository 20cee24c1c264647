"""How a worker is, judged by its marks, in answer to three questions.

/live      200 while the main loop and the store thread turn; else 503: the process should be started anew
/ready     200 while it can take jobs; else 503 with the reason
/metrics   what it has counted, and what the queues hold
"""

import os
import time

import msgspec

from holdfast import __version__
from holdfast.worker.crew import Crew
from holdfast.worker.depths import Depths, Reading
from holdfast.worker.metrics import CONTENT_TYPE, Page
from holdfast.worker.nursery import Nursery
from holdfast.worker.tally import Tally
from holdfast.worker.vitals import Vitals


class Reply(msgspec.Struct, frozen=True):
    code: int
    text: str
    kind: str = "text/plain; charset=utf-8"


class Checkup:
    """Judges a worker by its marks, and answers what is asked at the door."""

    def __init__(self, vitals: Vitals, crew: Crew, nursery: Nursery, tally: Tally | None) -> None:
        self._vitals = vitals
        self._crew = crew
        self._nursery = nursery
        self._tally = tally
        self.depths: Depths | None = None
        """None until the store is known."""

    def why_not_live(self, now: float | None = None) -> str | None:
        """Tell in one sentence which thread does not turn; None if all do."""
        now = time.monotonic() if now is None else now
        vitals = self._vitals
        for what, turned in (("the main loop", vitals.main_turned), ("the store thread", vitals.keeper_turned)):
            if turned is not None and now - turned > vitals.patience_s:
                return f"{what} has not turned for {now - turned:.0f} s"
        return None

    def why_not_ready(self, now: float | None = None) -> str | None:
        """Tell in one sentence why no job can be taken just now; None if one can."""
        now = time.monotonic() if now is None else now
        vitals = self._vitals
        if vitals.is_stopping:
            return "the worker is stopping"
        if not self._crew.states()["ready"]:
            return "no child is ready"
        if vitals.keeper_turned is None:
            return "the worker has not begun to claim"
        if now >= vitals.lease_until:
            return "the worker holds no live lease"
        if now - vitals.reached > vitals.lately_s:
            return f"the store has not been reached for {now - vitals.reached:.0f} s"
        return self.why_not_live(now)

    def status(self) -> str:
        """Tell in one sentence how the worker is."""
        ready, held = self._crew.states()["ready"], self._crew.held()
        children = "1 child" if ready == 1 else f"{ready} children"
        return self.why_not_ready() or f"ready: {children}, {held} job{'' if held == 1 else 's'} held"

    def answer(self, path: str) -> Reply:
        """Answer a request for this path."""
        match path:
            case "/live":
                return _verdict("live", self.why_not_live())
            case "/ready":
                return _verdict("ready", self.why_not_ready())
            case "/metrics":
                return Reply(200, self._metrics(), CONTENT_TYPE)
            case _:
                return Reply(404, "there are /live, /ready and /metrics")

    def _metrics(self) -> str:
        vitals = self._vitals
        reading = self.depths.look() if self.depths is not None else Reading()
        is_up = reading.is_good and not vitals.is_store_failing
        left_s = max(0.0, vitals.lease_until - time.monotonic())
        about = {"worker": vitals.worker, "version": __version__, "pid": str(os.getpid())}
        page = Page()
        page.add("holdfast_worker_info", "gauge", "Who this worker is.", [(about, 1)])
        page.add("holdfast_store_up", "gauge", "Whether the store can be used.", [({}, int(is_up))])
        page.add("holdfast_store_errors_total", "counter", "Errors of the store.", [({}, vitals.store_errors)])
        page.add("holdfast_lease_seconds_left", "gauge", "How long the lease can be relied on.", [({}, left_s)])
        page.add("holdfast_lease_renewals_total", "counter", "Renewals of the lease.", [({}, vitals.renewals)])
        page.add(
            "holdfast_lease_renewal_failures_total", "counter", "Attempts to renew the lease that did not.",
            [({}, vitals.failed_renewals)],
        )  # fmt: skip
        page.add(
            "holdfast_children", "gauge", "Processes that run jobs, by state.",
            (({"state": state}, number) for state, number in self._crew.states().items()),
        )  # fmt: skip
        page.add("holdfast_child_crashes_total", "counter", "Children that died.", [({}, self._nursery.crashes)])
        page.add("holdfast_jobs_held", "gauge", "Jobs sent to a child and not yet ended.", [({}, self._crew.held())])
        if self._tally is not None:
            page.add_runs(self._tally.series())
        page.add_queues(reading)
        return page.text


def _verdict(word: str, why_not: str | None) -> Reply:
    return Reply(200, word) if why_not is None else Reply(503, why_not)
