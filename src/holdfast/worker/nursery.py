"""Keeps the wanted number of children: spawns them, hears them, buries them, replaces them. Main thread only.

A child that dies is buried at once: what it had started is charged with a crash, the rest goes back, and a new child takes
its place: at once, if it was at work, for then its job is charged and that is bounded; after a pause that grows, if children
keep dying with nothing to do. A child that has run enough, grown too large or too
old, or whose code has changed, retires: it is given nothing more, ends what it runs, and is replaced.

A child whose app cannot be imported says so before it ends. If it was the first, the worker cannot start. If it was a
later one (somebody has just changed the code), the others work on and it is tried again.
"""

import contextlib
import logging
import os
import selectors
import time
from collections.abc import Callable, Sequence
from typing import Final

from holdfast.errors import HoldfastError
from holdfast.model.verdict import Verdict
from holdfast.worker.channel import ChannelClosed
from holdfast.worker.crew import Crew
from holdfast.worker.hand import Hand
from holdfast.worker.ledger import monotonic_us
from holdfast.worker.messages import Ask, Ended, Handed, Hello, Message, Sorry, Told, Written
from holdfast.worker.obituary import Obituary
from holdfast.worker.output import Output
from holdfast.worker.overdue import judge_overdue
from holdfast.worker.plan import Plan
from holdfast.worker.pulse import Pulse

log = logging.getLogger("holdfast.worker")

READY_S: Final = 60.0
"""How long a child may take to import the app."""
_LEAVE_S: Final = 5.0
_YOUNG_S: Final = 2.0
_FIRST_PAUSE_S: Final = 0.1
_LONGEST_PAUSE_S: Final = 30.0


class CannotStart(HoldfastError):
    """The app could not be imported, or the first child never got ready."""


class Nursery:
    """The children of one worker."""

    def __init__(self, plan: Plan, crew: Crew, selector: selectors.BaseSelector, pulse: Pulse) -> None:
        self._plan = plan
        self._crew = crew
        self._selector = selector
        self._pulse = pulse
        self._output = Output()
        self._output.start()
        self._wanted = plan.processes
        self._deaths = 0
        self._spawn_at: list[float] = []
        self._dismissed: dict[Hand, float] = {}
        self._sorry: Sorry | None = None
        self._has_started = False
        self.is_closing = False
        self.on_files: Callable[[Sequence[str]], None] = lambda _: None
        """Told which source files children have loaded."""
        self.crashes = 0
        """How many children died that should not have."""

    @property
    def hands(self) -> list[Hand]:
        return self._crew.hands

    # --- spawning -----------------------------------------------------------------------------------------

    def first(self, tick: Callable[[], None]) -> Hello:
        """Spawn the first child and wait, by `tick`, until it is ready. Raises CannotStart if it never is."""
        hand = self._spawn()
        while hand.hello is None:
            if hand not in self.hands:
                raise CannotStart(self._apology())
            tick()
        self._has_started = True
        self._spawn_at = [0.0] * (self._wanted - 1)
        return hand.hello

    def change(self, by: int) -> None:
        """Want more children, or fewer, but never none."""
        self._wanted = max(1, self._wanted + by)
        log.info("%d children are wanted now", self._wanted)
        for _ in range(len(self.hands) + len(self._spawn_at), self._wanted):
            self._spawn_at.append(0.0)
        for hand in self.hands[self._wanted :]:
            self._retire(hand)

    def look_after(self) -> None:
        """Replace the dead, retire the old, kill the overdue and the unready. Called with every round."""
        now = time.monotonic()
        for hand in list(self.hands):
            if hand.hello is None:
                if now - hand.born > READY_S:
                    log.error("child %d was not ready after %.0f s; what does the app do on import?", hand.pid, READY_S)
                    hand.kill(spare="its process was never ready")
            elif hand.is_retiring:
                self._see_off(hand, now)
            else:
                self._check(hand, now)
        self._respawn(now)
        self._pulse.keep_guard(hand.pidfd for hand in self.hands if hand.pidfd is not None)

    def renew(self) -> None:
        """Retire all children, so that new ones import the code as it is now."""
        for hand in self.hands:
            if hand.is_ready:
                self._retire(hand)
        self._spawn_at = [0.0 for _ in self._spawn_at]
        self._deaths = 0

    def dump(self) -> None:
        """Let all children print their stacks."""
        for hand in self.hands:
            hand.dump()

    def _spawn(self) -> Hand:
        hand = Hand(self._plan, self._output)
        with self._crew.lock:
            self.hands.append(hand)
        self._selector.register(hand.talk, selectors.EVENT_READ, hand)
        if hand.pidfd is not None:
            self._selector.register(hand.pidfd, selectors.EVENT_READ, hand)
            self._pulse.watch(hand.pidfd)
        return hand

    def _respawn(self, now: float) -> None:
        if self.is_closing:
            return
        due = [moment for moment in self._spawn_at if moment <= now]
        self._spawn_at = [moment for moment in self._spawn_at if moment > now]
        for _ in due:
            if len(self.hands) < self._wanted:
                self._spawn()

    # --- retiring -----------------------------------------------------------------------------------------

    def _check(self, hand: Hand, now: float) -> None:
        plan = self._plan
        with self._crew.lock:
            back: list[Verdict] = []
            if hand.has_overstayed():
                hand.slow_down()
                back = hand.take_back()
            hand.flush()
            place = hand.overdue_place()
        self._post(back)
        if place is not None:
            hand.overdue = place
            hand.kill()
        elif (
            (plan.max_runs and hand.runs >= plan.max_runs)
            or (plan.max_age_s and now - hand.born > plan.max_age_s)
            or (plan.max_rss_bytes and hand.rss_bytes() > plan.max_rss_bytes)
        ):
            log.info("child %d has done its part: %d runs, %.0f s", hand.pid, hand.runs, now - hand.born)
            self._retire(hand)

    def _retire(self, hand: Hand) -> None:
        with self._crew.lock:
            back = hand.retire()
        self._post(back)

    def _see_off(self, hand: Hand, now: float) -> None:
        """Tell a retiring child that holds nothing to end; kill it if it does not."""
        with self._crew.lock:
            place = hand.overdue_place()
            is_free = not len(hand)
            if is_free and hand not in self._dismissed:
                self._dismissed[hand] = now
                hand.stop()
        if place is not None:
            hand.overdue = place
            hand.kill()
        elif is_free and now - self._dismissed[hand] > _LEAVE_S:
            hand.kill(spare="its process was told to end")

    # --- hearing ------------------------------------------------------------------------------------------

    def hear(self, hand: Hand) -> None:
        """Take what a child has to say, or bury it if it is gone."""
        if hand not in self.hands:
            return
        is_gone = hand.is_gone()  # asked first: what it said before it ended is still to be heard
        try:
            while (message := hand.talk.receive(is_blocking=False)) is not None:
                self._heed(hand, message)
        except ChannelClosed:
            self.bury(hand)
        else:
            if is_gone:
                self.bury(hand)

    def _heed(self, hand: Hand, message: Message) -> None:
        match message:
            case Ended(verdicts):
                with self._crew.lock:
                    ended = hand.end(verdicts)
                self._post(ended)
            case Handed():
                with self._crew.lock:
                    back = hand.hand_back(message)
                self._post(back)
            case Told(notes):
                self._crew.post(notes=notes)
            case Ask():
                self._crew.post(asks=[(hand, message)])
            case Written():
                self._crew.take_written(hand, message)
            case Hello():
                with self._crew.lock:
                    hand.greet(message)
                self.on_files(message.files)
                self._crew.post()
            case Sorry():
                self._sorry = message
                self.on_files(message.files)
            case _:
                raise AssertionError(f"a child sent {message!r}")

    # --- burying ------------------------------------------------------------------------------------------

    def bury(self, hand: Hand, *, spare: str | None = None) -> None:
        """Take everything from a child that is gone, or kill it first."""
        self._selector.unregister(hand.talk)
        if hand.pidfd is not None:
            self._selector.unregister(hand.pidfd)
        hand.kill(spare=spare)
        is_expected = hand in self._dismissed or hand.spared is not None
        with self._crew.lock:
            self.hands.remove(hand)
            overdue = None
            if hand.overdue is not None:
                overdue = hand.claim_at(hand.overdue)
                since = monotonic_us() - hand.ledger.started_us(hand.overdue)
            words, verdicts = hand.bury()
        if overdue is not None:
            verdict = judge_overdue(overdue, hand.task(overdue), since)
            verdicts = [verdict if one.token == verdict.token else one for one in verdicts]
        self._post(verdicts)
        self._dismissed.pop(hand, None)
        self._mourn(hand, words, is_expected=is_expected, was_at_work=bool(verdicts))

    def _mourn(self, hand: Hand, words: Obituary, *, is_expected: bool, was_at_work: bool) -> None:
        """Plan the replacement of a child: at once, or later if children keep dying young and idle."""
        if self.is_closing or not self._has_started:
            return
        if is_expected:
            self._spawn_at.append(0.0)
            return
        self.crashes += hand.hello is not None
        is_young = time.monotonic() - hand.born < _YOUNG_S
        self._deaths = self._deaths + 1 if is_young and not was_at_work else 0
        if hand.hello is None:
            log.error("%s", self._apology() if self._sorry else f"child {hand.pid} {words.how} before it was ready")
        else:
            log.warning("child %d %s; a new one takes its place", hand.pid, words.how)
        pause_s = min(_FIRST_PAUSE_S * 2**self._deaths, _LONGEST_PAUSE_S) if self._deaths > 1 else 0.0
        self._spawn_at.append(time.monotonic() + pause_s)

    def _apology(self) -> str:
        if self._sorry is None:
            return f"the first child of {self._plan.target} ended before it was ready"
        return f"cannot import {self._plan.target}: {self._sorry.why}\n\n{self._sorry.traceback}".rstrip()

    # --- the end ------------------------------------------------------------------------------------------

    def retire_all(self) -> None:
        """Give nobody anything more, and replace nobody."""
        self.is_closing = True
        for hand in list(self.hands):
            if hand.hello is None:
                self.bury(hand, spare="the worker was stopped")
            else:
                self._retire(hand)

    def close(self, spare: str) -> None:
        """End all children at once: what they still run is handed back uncharged, for this reason."""
        self.is_closing = True
        for hand in list(self.hands):
            self.bury(hand, spare=spare)
        self._output.close()

    def reap_strangers(self) -> None:
        """Reap processes that tasks left behind, which are ours once their own parent is gone."""
        ours = {hand.pid for hand in self.hands}
        with contextlib.suppress(ChildProcessError):
            while True:
                found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                if found is None or found.si_pid in ours or found.si_pid == self._pulse.guard_pid:
                    return
                os.waitpid(found.si_pid, 0)

    def _post(self, verdicts: list[Verdict]) -> None:
        if verdicts:
            self._crew.post(verdicts=verdicts)
