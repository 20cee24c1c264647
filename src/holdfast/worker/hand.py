"""One child as its supervisor sees it: a process, two channels, a ledger, and the claims it holds.

    spawned ──Hello──► ready ──retire──► retiring ──nothing held, Stop──► gone
       └──────────Sorry, or its death at any time──────────────────────────┘

The `work` channel carries claims and is read by the child only when it is free to run them; `talk` carries the rest. The
supervisor keeps a copy of the child's end of `work`: what the child has not received yet, the supervisor can receive
itself, and so take back, from a living child as from a dead one. Of the claims that were received, the ledger tells which
had been started: when the child dies, those crashed, and the others are handed back uncharged.
"""

import os
import resource
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from holdfast.model.claim import Claim
from holdfast.model.verdict import Verdict, crashed, released
from holdfast.worker.channel import Channel, ChannelClosed
from holdfast.worker.ledger import PLACES, Ledger, monotonic_us
from holdfast.worker.messages import Begin, Cancelled, Handed, Hello, Message, Slot, Stop, TakeBack, TaskInfo, Work
from holdfast.worker.obituary import Obituary, obituary
from holdfast.worker.output import Output
from holdfast.worker.pace import Pace
from holdfast.worker.plan import Plan
from holdfast.worker.sender import Sender

PACKET: Final = 50
OVERSTAYED_US: Final = 100_000


class Hand:
    """A child process and what it holds. Not thread-safe: the crew guards it with its lock."""

    def __init__(self, plan: Plan, output: Output) -> None:
        self._work, self._work_end = Channel.pair()
        self.talk, talk_end = Channel.pair()
        self._claims, self._words = Sender(self._work), Sender(self.talk)
        self.ledger, ledger_fd = Ledger.create()
        self._output = output
        self._voice, pipes = output.add()
        fds = (self._work_end.fileno(), talk_end.fileno(), ledger_fd)
        command = [sys.executable, "-m", "holdfast.worker.child", *map(str, fds)]
        # Spawned from the main thread only: the death of the spawning thread would be taken for the parent's.
        self._process = subprocess.Popen(  # noqa: S603  our own module
            command, pass_fds=fds, stdin=subprocess.DEVNULL, stdout=pipes.out, stderr=pipes.err
        )
        talk_end.close()
        os.close(ledger_fd)
        pipes.close()
        self.pid = self._process.pid
        self.pidfd = os.pidfd_open(self.pid) if hasattr(os, "pidfd_open") else None
        self.born = time.monotonic()
        self.hello: Hello | None = None
        self.runs = 0
        """How many runs it has ended."""
        self.spared: str | None = None
        """Why we killed it, if we did and its jobs are not to blame."""
        self.overdue: int | None = None
        """The place of the run for whose sake we killed it, if we did."""
        self.writing: set[str] = set()
        """The queues whose hooks it was asked to write down, and has not."""
        self.pace = Pace()
        self._sizes: dict[Slot, int] = {"main": 1, "thread": 0, "loop": plan.coroutines}
        self._held: dict[int, tuple[Claim, Slot]] = {}
        self._counts: dict[Slot, int] = {"main": 0, "thread": 0, "loop": 0}
        self._max_runs = plan.max_runs
        self._free: deque[int] = deque(range(PLACES))
        self._has_asked_back = False
        self._is_retiring = False
        self._ended: tuple[int, resource.struct_rusage] | None = None
        self._words.send(
            Begin(plan.target, plan.threads, plan.coroutines, plan.log_level, plan.logs_json, names_files=plan.reloads)
        )

    @property
    def is_ready(self) -> bool:
        return self.hello is not None and not self._is_retiring

    @property
    def is_retiring(self) -> bool:
        return self._is_retiring

    @property
    def held(self) -> list[Claim]:
        return [claim for claim, _ in self._held.values()]

    def __len__(self) -> int:
        return len(self._held)

    def greet(self, hello: Hello) -> None:
        self.hello = hello
        self._tasks: Mapping[str, TaskInfo] = {task.name: task for task in hello.tasks}
        self._sizes["thread"] = hello.threads

    # --- what it can take ---------------------------------------------------------------------------------

    def slots(self) -> set[Slot]:
        """Tell in which kinds of slot its tasks run."""
        return {task.slot for task in self._tasks.values()} or {"main"}

    def slot_of(self, claim: Claim) -> Slot:
        task = self._tasks.get(claim.task)
        return "main" if task is None else task.slot

    def free(self, slot: Slot) -> int:
        """Tell how many more claims of this kind it can hold: for the main thread, some of them ahead of time."""
        if not self.is_ready:
            return 0
        size = self.pace.depth if slot == "main" else self._sizes[slot]
        return max(0, size - self._counts[slot])

    def idle(self, slot: Slot) -> int:
        """Tell how many more claims of this kind it could start at once."""
        return max(0, self._sizes[slot] - self._counts[slot]) if self.is_ready else 0

    def left(self) -> int:
        """Tell how many claims it may still be given before it has to be replaced."""
        return self._max_runs - self.runs - len(self._held) if self._max_runs else PLACES

    def room(self, slot: Slot) -> int:
        """Tell how many claims of this kind to send now: those that are free, once they are worth a commit."""
        if slot == "main" and self._counts["main"] > self.pace.depth // 2:
            return 0
        return self.free(slot)

    def give(self, claims: Sequence[Claim]) -> None:
        """Send claims. A child that is gone leaves them held; its burial hands them back."""
        for start in range(0, len(claims), PACKET):
            packet = [(self._place(claim), claim) for claim in claims[start : start + PACKET]]
            self._claims.send(Work(packet))

    # --- what comes back ----------------------------------------------------------------------------------

    def end(self, verdicts: Iterable[tuple[int, Verdict]]) -> list[Verdict]:
        """Take verdicts on claims this child holds."""
        ended: list[Verdict] = []
        for place, verdict in verdicts:
            held = self._held.get(place)
            if held is not None and held[0].token == verdict.token:
                if held[1] == "main":
                    self.pace.saw(verdict.took_us)
                self._forget(place)
                ended.append(verdict)
        self.runs += len(ended)
        self._has_asked_back = False
        self.flush()
        return ended

    def hand_back(self, handed: Handed) -> list[Verdict]:
        """Take back claims the child had not started."""
        return self._release(handed.places)

    def take_back(self) -> list[Verdict]:
        """Take back what the child has not received, and ask for what it has received and not started."""
        if self._has_asked_back:
            return []
        self._has_asked_back = True
        unread = self._unread()
        self._words.send(TakeBack())
        return self._release([place for work in unread for place, _ in work.claims])

    # --- what it is doing ---------------------------------------------------------------------------------

    def running(self) -> list[tuple[int, Claim]]:
        """List what has been started: since when (on the shared clock), and what."""
        started = [(self.ledger.started_us(place), claim) for place, (claim, _) in self._held.items()]
        return [(since, claim) for since, claim in started if since]

    def has_overstayed(self) -> bool:
        """Tell whether claims wait here behind a run in the main thread that turned out to be long."""
        return self._counts["main"] > 1 and self._longest_us() > OVERSTAYED_US

    def slow_down(self) -> None:
        """Learn from the run that is under way that runs are long."""
        self.pace.overstayed(self._longest_us())

    def overdue_place(self) -> int | None:
        """Tell which run is past the moment at which it is to be killed."""
        now = monotonic_us()
        for place in self._held:
            if 0 < self.ledger.deadline_us(place) < now:
                return place
        return None

    def claim_at(self, place: int) -> Claim:
        return self._held[place][0]

    def task(self, claim: Claim) -> TaskInfo | None:
        return self._tasks.get(claim.task)

    def rss_bytes(self) -> int:
        """Tell how much memory it has in use."""
        try:
            return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * resource.getpagesize()
        except (OSError, IndexError):
            return 0

    # --- telling it ---------------------------------------------------------------------------------------

    def tell(self, message: Message) -> None:
        self._words.send(message)

    def cancel(self, tokens: Sequence[str]) -> None:
        mine = [claim.token for claim, _ in self._held.values() if claim.token in tokens]
        if mine:
            self._words.send(Cancelled(mine))

    def retire(self) -> list[Verdict]:
        """Give it nothing more, and take back what it has not started."""
        self._is_retiring = True
        return self.take_back()

    def stop(self) -> None:
        """Tell it to end. Only to be said to a child that holds nothing."""
        self._is_retiring = True
        self._claims.send(Stop())

    def dump(self) -> None:
        """Let it print the stacks of its threads, whatever they are doing."""
        if self.hello is not None and not self.is_gone():
            os.kill(self.pid, signal.SIGUSR1)

    def flush(self) -> None:
        """Send what there was no room for."""
        self._claims.flush()
        self._words.flush()

    # --- its end ------------------------------------------------------------------------------------------

    def kill(self, *, spare: str | None = None) -> None:
        """Kill it. With `spare`, the jobs it was running are handed back uncharged, for that reason."""
        if spare is not None and self.spared is None:
            self.spared = spare
        if not self.is_gone():
            os.kill(self.pid, signal.SIGKILL)

    def is_gone(self) -> bool:
        """Tell whether the process has ended; if so it is reaped, and what it used is kept."""
        if self._ended is None:
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
            if pid:
                self._took_leave(status, usage)
        return self._ended is not None

    def bury(self) -> tuple[Obituary, list[Verdict]]:
        """Take everything from a child that was killed or has ended: what it had started crashed, the rest goes back."""
        if self._ended is None:
            _, status, usage = os.wait4(self.pid, 0)
            self._took_leave(status, usage)
        assert self._ended is not None
        self._unread()
        words = obituary(self.pid, *self._ended, self._output.last_lines(self._voice))
        verdicts = [self._verdict(place, claim, words) for place, (claim, _) in self._held.items()]
        self._held.clear()
        self._close()
        return words, verdicts

    def _verdict(self, place: int, claim: Claim, words: Obituary) -> Verdict:
        since = self.ledger.started_us(place)
        if not since:
            return released(claim, self.spared)
        took_us = max(1, monotonic_us() - since)
        if self.spared is not None or (self.overdue is not None and self.overdue != place):
            return released(claim, self.spared or "its process was killed for another job's sake", took_us)
        return crashed(claim, words.error, words.traceback, took_us)

    def _took_leave(self, status: int, usage: resource.struct_rusage) -> None:
        self._ended = (status, usage)
        self._process.returncode = os.waitstatus_to_exitcode(status)  # so that nobody waits for it again

    # --- inside -------------------------------------------------------------------------------------------

    def _longest_us(self) -> int:
        begun = [self.ledger.started_us(place) for place, (_, slot) in self._held.items() if slot == "main"]
        return monotonic_us() - min(filter(None, begun)) if any(begun) else 0

    def _unread(self) -> list[Work]:
        """Receive, in the child's place, what it has not received, and keep back what was not sent."""
        works = [message for message in self._claims.take_unsent() if isinstance(message, Work)]
        while True:
            try:
                message = self._work_end.receive(is_blocking=False)
            except ChannelClosed:
                return works
            if not isinstance(message, Work):
                return works
            works.append(message)

    def _release(self, places: Iterable[int]) -> list[Verdict]:
        back = [released(self._held[place][0]) for place in places if place in self._held]
        for place in places:
            self._forget(place)
        return back

    def _place(self, claim: Claim) -> int:
        place = self._free.popleft()
        self.ledger.clear(place)
        slot = self.slot_of(claim)
        self._held[place] = (claim, slot)
        self._counts[slot] += 1
        return place

    def _forget(self, place: int) -> None:
        held = self._held.pop(place, None)
        if held is not None:
            self._counts[held[1]] -= 1
            self._free.append(place)

    def _close(self) -> None:
        for end in (self._work, self._work_end, self.talk):
            end.close()
        self.ledger.close()
        if self.pidfd is not None:
            os.close(self.pidfd)
