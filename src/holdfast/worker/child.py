"""A child: imports the app, runs claims, says how they ended. Knows no lease, claims nothing, settles nothing.

    main thread     receives work when it is free, runs sync tasks one at a time
    threads         run sync tasks beside it, if there are any for that
    loop thread     runs async tasks, started with the first one
    talk thread     hears the supervisor: answers, cancellations, requests to hand back; its end is the child's end
    outbox thread   sends verdicts that have waited for some milliseconds

Before a task's first line runs, its start is in the ledger; after its last, the verdict is in the outbox. If the child
dies between the two, the supervisor finds a start without a verdict: the job crashed. If it dies after the verdict was
sent, the job is settled. If the supervisor dies, the kernel kills the child; should it not, the closed channel does, and
should the child be deaf to that, the guard.
"""

import contextlib
import ctypes
import faulthandler
import logging
import os
import signal
import sys
import threading
import time
import traceback
from collections import deque
from types import FrameType
from typing import Final

from holdfast.app.app import Holdfast
from holdfast.app.target import load_app
from holdfast.errors import Cancel
from holdfast.model.claim import Claim, Progress
from holdfast.model.queue import Drained
from holdfast.model.verdict import Verdict
from holdfast.run.attempt import run_attempt
from holdfast.run.loop import Loop
from holdfast.run.notices import Notices
from holdfast.run.threads import Threads
from holdfast.store.connect import connect
from holdfast.worker.channel import Channel, ChannelClosed
from holdfast.worker.hello import hello_of, slot_of, source_files
from holdfast.worker.ledger import Ledger, monotonic_us
from holdfast.worker.logs import set_up_logs
from holdfast.worker.messages import (
    Answer,
    Begin,
    Cancelled,
    Handed,
    Hello,
    Hook,
    Sorry,
    TakeBack,
    Told,
    Work,
    Written,
)
from holdfast.worker.outbox import Outbox
from holdfast.worker.relay import Relay
from holdfast.worker.surroundings import Surroundings

log = logging.getLogger("holdfast.worker")

HARD_AFTER_US: Final = 10_000_000
"""How long after its soft timeout a run is killed."""
_PR_SET_PDEATHSIG: Final = 1


def main(arguments: list[str]) -> int:
    """Be a child: `WORK_FD TALK_FD LEDGER_FD`."""
    work, talk, ledger = map(int, arguments)
    _die_with_parent()
    _leave_signals_to_parent()
    channel = Channel.inherited(talk)
    begin = channel.receive()
    assert isinstance(begin, Begin)
    set_up_logs(begin.log_level, is_json=begin.logs_json)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # it is a pipe now, and was a terminal
    try:
        app = load_app(begin.target)
        relay = Relay(channel, lambda: connect(app.url, tier=app.tier, namespace=app.namespace))
        app.load_imports()
        hello = hello_of(app, begin)
        app.attach(relay)
    except BaseException as error:  # noqa: BLE001  # the top of a process: whatever the import raised is reported
        files = source_files() if begin.names_files else ()
        channel.send(Sorry(f"{type(error).__name__}: {error}", "".join(traceback.format_exception(error)), files))
        return 1
    child = Child(app, begin, hello, Channel.inherited(work), channel, Ledger(ledger), relay)
    channel.send(hello)
    with contextlib.suppress(ChannelClosed):  # the supervisor is gone: it knows what was not settled
        child.run()
    with contextlib.suppress(OSError, ValueError):  # nobody reads it any more
        sys.stdout.flush()
    os._exit(0)  # threads that a task has left behind must not hold up the end


class Child:
    """Runs claims and reports verdicts."""

    def __init__(
        self, app: Holdfast, begin: Begin, hello: Hello, work: Channel, talk: Channel, ledger: Ledger, relay: Relay
    ) -> None:
        self._work = work
        self._talk = talk
        self._ledger = ledger
        self._relay = relay
        self._outbox = Outbox(talk)
        self._notices = Notices()
        self._bench = app.bench(
            report=self._tell,
            is_cancelled=self._notices.is_told,
            now_us=lambda: time.time_ns() // 1000,
            on_start=self._on_start,
            on_limit=self._on_limit,
        )
        specs = {name: self._bench.registry.find(name) for name in hello.names}
        self._slots = {name: slot_of(spec, begin.threads) for name, spec in specs.items() if spec}
        self._threads = Threads(self._bench, hello.threads, self._end_beside)
        self._loop = Loop(self._bench, self._notices, self._end_beside)
        self._lock = threading.Lock()
        self._pending: deque[Claim] = deque()
        self._places: dict[str, tuple[int, Claim]] = {}
        self._current: str | None = None

    def run(self) -> None:
        """Run what is sent until the supervisor says stop."""
        signal.signal(signal.SIGUSR2, self._interrupt)
        self._surroundings = Surroundings()
        threading.Thread(target=self._listen, name="holdfast-talk", daemon=True).start()
        while isinstance(message := self._work.receive(), Work):
            self._accept(message)
            while (claim := self._next()) is not None:
                self._run(claim)
            self._outbox.flush()

    def _accept(self, work: Work) -> None:
        beside: list[Claim] = []
        with self._lock:
            for place, claim in work.claims:
                self._places[claim.token] = (place, claim)
                if self._slots.get(claim.task, "main") == "main":
                    self._pending.append(claim)
                else:
                    beside.append(claim)
        for claim in beside:
            (self._loop if self._slots[claim.task] == "loop" else self._threads).start(claim)

    def _next(self) -> Claim | None:
        with self._lock:  # what is taken out here can no longer be handed back
            return self._pending.popleft() if self._pending else None

    def _run(self, claim: Claim) -> None:
        self._current = claim.token
        try:
            verdict = run_attempt(claim, self._bench)
        except Cancel as control:  # the signal came a moment too late, outside of the task
            verdict = Verdict(claim.id, claim.token, claim.queue, "cancelled", reason=control.reason)
        finally:
            self._current = None
        self._end(verdict)
        self._surroundings.put_back()

    def _end_beside(self, verdict: Verdict) -> None:
        self._surroundings.put_back_shared()
        self._end(verdict)

    def _end(self, verdict: Verdict) -> None:
        place, claim = self._places.pop(verdict.token)
        verdict = self._notices.file(verdict)
        if verdict.traceback and verdict.outcome in ("failed", "retry", "crashed"):
            log.error("job %s (%s) %s: %s\n%s", claim.id, claim.task, verdict.outcome, verdict.error, verdict.traceback)
        elif verdict.outcome == "parked":
            log.warning("job %s (%s) parked: %s", claim.id, claim.task, verdict.error)
        self._outbox.put(place, verdict)

    # --- what the supervisor reads in the ledger ----------------------------------------------------------

    def _on_start(self, claim: Claim) -> None:
        self._ledger.start(self._places[claim.token][0])

    def _on_limit(self, token: str, seconds: float | None) -> None:
        moment_us = 0 if seconds is None else monotonic_us() + int(seconds * 1e6) + HARD_AFTER_US
        self._ledger.set_deadline(self._places[token][0], moment_us)

    # --- the supervisor's word ----------------------------------------------------------------------------

    def _listen(self) -> None:
        try:
            while True:
                match self._talk.receive():
                    case Answer() as answer:
                        self._relay.answer(answer)
                    case TakeBack():
                        self._hand_back()
                    case Cancelled(tokens):
                        self._cancel(tokens)
                    case Hook(drained):
                        # Functions of the user's may give lane and key: they must not keep this thread from listening.
                        threading.Thread(target=self._write_down, args=(drained,), daemon=True).start()
        except ChannelClosed:
            os._exit(1)  # no supervisor, no work: end before anything else does harm

    def _write_down(self, drained: Drained) -> None:
        """Write down the job of a hook, for the supervisor to push."""
        job, write = None, self._bench.hooks.get(drained.queue)
        try:
            job = None if write is None else write(drained.number)
        except Exception:  # functions of the user's give lane and key
            log.exception("the hook of queue %s could not be written down; it is tried again", drained.queue)
        with contextlib.suppress(ChannelClosed):
            self._talk.send(Written(drained, job))

    def _hand_back(self) -> None:
        with self._lock:
            places = [self._places.pop(claim.token)[0] for claim in self._pending]
            self._pending.clear()
        self._talk.send(Handed(places))

    def _cancel(self, tokens: list[str]) -> None:
        self._notices.cancel(tokens)
        self._loop.cancel(tokens)
        if self._current in tokens:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR2)

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        if self._current is not None and self._notices.is_cancelled(self._current):
            raise Cancel("cancelled while it ran")

    def _tell(self, note: Progress) -> None:
        self._talk.send(Told([note]))


def _die_with_parent() -> None:
    """Ask the kernel to kill this process when its parent's main thread ends; the closed channel is the second line."""
    parent = os.getppid()
    with contextlib.suppress(OSError, AttributeError):  # not on Linux: the channel alone has to do
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)  # it ended before we could ask


def _leave_signals_to_parent() -> None:
    # A Ctrl-C goes to the whole group; the supervisor decides what becomes of its children. Heard and not heeded, rather
    # than ignored: what is ignored here would be ignored by every program that a task starts.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGTTIN, signal.SIGTTOU):
        signal.signal(number, _not_for_us)
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1, all_threads=True)


def _not_for_us(_number: int, _frame: FrameType | None) -> None:
    """Do nothing."""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
