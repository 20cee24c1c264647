"""A child: imports the app, runs claims, says how they ended. Knows no lease, claims nothing, settles nothing.

    main thread     receives work when it is free, runs sync tasks one at a time
    loop thread     runs async tasks, started with the first one
    talk thread     hears the supervisor: answers, cancellations, requests to hand back; its end is the child's end
    outbox thread   sends verdicts that have waited for some milliseconds

Before a task's first line runs, its start is in the ledger; after its last, the verdict is in the outbox. If the child
dies between the two, the supervisor finds a start without a verdict: the job crashed. If it dies after the verdict was
sent, the job is settled. If the supervisor dies, the kernel kills the child (and should it not, the closed channel does).
"""

import asyncio
import contextlib
import ctypes
import logging
import os
import signal
import sys
import threading
import time
import traceback
from collections import deque
from typing import Final

from holdfast.app.app import Holdfast
from holdfast.app.target import load_app
from holdfast.errors import Cancel
from holdfast.model.claim import Claim, Progress
from holdfast.model.verdict import Verdict
from holdfast.run.attempt import arun_attempt, run_attempt
from holdfast.run.bench import Bench
from holdfast.store.connect import connect
from holdfast.worker.channel import Channel, ChannelClosed
from holdfast.worker.hello import hello_of
from holdfast.worker.ledger import Ledger
from holdfast.worker.messages import Answer, Cancelled, Handed, Sorry, Stop, TakeBack, Told, Work
from holdfast.worker.outbox import Outbox
from holdfast.worker.relay import Relay

log = logging.getLogger("holdfast.worker")

_PR_SET_PDEATHSIG: Final = 1


def main(arguments: list[str]) -> int:
    """Be a child: `TARGET WORK_FD TALK_FD LEDGER_FD COROUTINES LOG_LEVEL`."""
    target, work, talk, ledger, coroutines, level = arguments
    _die_with_parent()
    _leave_signals_to_parent()
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)-7s %(process)d %(name)s: %(message)s")
    channel = Channel.inherited(int(talk))
    try:
        app = load_app(target)
        relay = Relay(channel, lambda: connect(app.url, tier=app.tier, namespace=app.namespace))
        app.load_imports()
        hello = hello_of(app)
        app.attach(relay)
    except BaseException as error:  # noqa: BLE001  # the top of a process: whatever the import raised is reported
        channel.send(Sorry(f"{type(error).__name__}: {error}", "".join(traceback.format_exception(error))))
        return 1
    channel.send(hello)
    child = Child(app, Channel.inherited(int(work)), channel, Ledger(int(ledger)), relay, int(coroutines))
    with contextlib.suppress(ChannelClosed):  # the supervisor is gone: it knows what was not settled
        child.run()
    sys.stdout.flush()
    os._exit(0)  # threads that a task has left behind must not hold up the end


class Child:
    """Runs claims and reports verdicts."""

    def __init__(
        self, app: Holdfast, work: Channel, talk: Channel, ledger: Ledger, relay: Relay, coroutines: int
    ) -> None:
        self._work = work
        self._talk = talk
        self._ledger = ledger
        self._relay = relay
        self._outbox = Outbox(talk)
        self._bench: Bench = app.bench(
            report=self._tell, is_cancelled=self._is_cancelled, now_us=lambda: time.time_ns() // 1000
        )
        self._coroutines = coroutines
        self._lock = threading.Lock()
        self._pending: deque[tuple[int, Claim]] = deque()
        self._cancelled: set[str] = set()
        self._current: str | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._async_runs: dict[str, asyncio.Task[None]] = {}

    def run(self) -> None:
        """Run what is sent until the supervisor says stop."""
        signal.signal(signal.SIGUSR2, self._interrupt)
        threading.Thread(target=self._listen, name="holdfast-talk", daemon=True).start()
        while isinstance(message := self._work.receive(), Work):
            self._accept(message)
            while (item := self._next()) is not None:
                self._run(*item)
            self._outbox.flush()

    def _accept(self, work: Work) -> None:
        with self._lock:
            for place, claim in work.claims:
                spec = self._bench.registry.find(claim.task)
                if spec is not None and spec.kind == "async":
                    asyncio.run_coroutine_threadsafe(self._arun(place, claim), self._running_loop())
                else:
                    self._pending.append((place, claim))

    def _next(self) -> tuple[int, Claim] | None:
        with self._lock:
            if not self._pending:
                return None
            place, claim = self._pending.popleft()
            # Under the lock: what is started here can no longer be handed back.
            self._ledger.start(place)
            return place, claim

    def _run(self, place: int, claim: Claim) -> None:
        self._current = claim.token
        try:
            verdict = run_attempt(claim, self._bench)
        except Cancel as control:  # the signal came a moment too late, outside of the task
            verdict = _cancelled(claim, control.reason)
        finally:
            self._current = None
        self._conclude(place, claim, verdict)

    def _conclude(self, place: int, claim: Claim, verdict: Verdict) -> None:
        self._cancelled.discard(claim.token)
        if verdict.traceback and verdict.outcome in ("failed", "retry"):
            log.error("job %s (%s) %s: %s\n%s", claim.id, claim.task, verdict.outcome, verdict.error, verdict.traceback)
        elif verdict.outcome == "parked":
            log.warning("job %s (%s) parked: %s", claim.id, claim.task, verdict.error)
        self._outbox.put(place, verdict)

    # --- async tasks --------------------------------------------------------------------------------------

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=self._loop.run_forever, name="holdfast-loop", daemon=True).start()
        return self._loop

    async def _arun(self, place: int, claim: Claim) -> None:
        self._ledger.start(place)
        task = asyncio.current_task()
        assert task is not None
        self._async_runs[claim.token] = task
        try:
            verdict = await arun_attempt(claim, self._bench)
        except asyncio.CancelledError:
            verdict = _cancelled(claim, "cancelled while it ran")
        del self._async_runs[claim.token]
        self._conclude(place, claim, verdict)

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
                    case Stop():
                        continue
        except ChannelClosed:
            os._exit(1)  # no supervisor, no work: end before anything else does harm

    def _hand_back(self) -> None:
        with self._lock:
            places = [place for place, _ in self._pending]
            self._pending.clear()
        self._talk.send(Handed(places))

    def _cancel(self, tokens: list[str]) -> None:
        self._cancelled.update(tokens)
        for token in tokens:
            task = self._async_runs.get(token)
            if task is not None and self._loop is not None:
                self._loop.call_soon_threadsafe(task.cancel)
            elif token == self._current:
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR2)

    def _interrupt(self, _number: int, _frame: object) -> None:
        if self._current in self._cancelled:
            raise Cancel("cancelled while it ran")

    def _is_cancelled(self, token: str) -> bool:
        return token in self._cancelled

    def _tell(self, note: Progress) -> None:
        self._talk.send(Told([note]))


def _cancelled(claim: Claim, reason: str) -> Verdict:
    return Verdict(claim.id, claim.token, claim.queue, "cancelled", reason=reason)


def _die_with_parent() -> None:
    """Ask the kernel to kill this process when its parent's main thread ends; the closed channel is the second line."""
    parent = os.getppid()
    with contextlib.suppress(OSError, AttributeError):  # not on Linux: the channel alone has to do
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)  # it ended before we could ask


def _leave_signals_to_parent() -> None:
    # A Ctrl-C goes to the whole group; the supervisor decides what becomes of its children.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
