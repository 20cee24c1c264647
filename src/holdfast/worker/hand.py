"""One child as its supervisor sees it: a process, two channels, a ledger, and the claims it holds.

    spawned ──Hello──► ready ──(Stop or death)──► gone
       └──Sorry / death before Hello──► gone, and the supervisor decides whether to try again

The `work` channel carries claims and is read by the child only when it is free to run them; `talk` carries the rest. The
supervisor keeps a copy of the child's end of `work`: when the child is gone it reads what was never received and hands
those claims back uncharged. Of the claims that were received, the ledger tells which had been started: they crashed.
"""

import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from holdfast.model.claim import Claim
from holdfast.model.verdict import Verdict, crashed, released
from holdfast.worker.channel import Channel, ChannelClosed
from holdfast.worker.ledger import PLACES, Ledger, monotonic_us
from holdfast.worker.messages import Cancelled, Handed, Hello, Message, Stop, TakeBack, TaskInfo, Work
from holdfast.worker.pace import Pace

PACKET: Final = 50
OVERSTAYED_US: Final = 100_000


class Hand:
    """A child process and what it holds. Not thread-safe: the crew guards it with its lock."""

    def __init__(self, target: str, coroutines: int, log_level: str) -> None:
        self.work, self._work_end = Channel.pair()
        self.talk, talk_end = Channel.pair()
        self.ledger, ledger_fd = Ledger.create()
        fds = (self._work_end.fileno(), talk_end.fileno(), ledger_fd)
        command = [sys.executable, "-m", "holdfast.worker.child", target, *map(str, fds), str(coroutines), log_level]
        # Spawned from the main thread only: the death of the spawning thread would be taken for the parent's.
        self.process = subprocess.Popen(command, pass_fds=fds, stdin=subprocess.DEVNULL)  # noqa: S603  our own module
        talk_end.close()
        os.close(ledger_fd)
        self.pidfd = os.pidfd_open(self.process.pid) if hasattr(os, "pidfd_open") else None
        self.hello: Hello | None = None
        self.pace = Pace()
        self._coroutines = coroutines
        self._held: dict[int, Claim] = {}
        self._asyncs: set[int] = set()
        self._free: deque[int] = deque(range(PLACES))
        self._has_asked_back = False
        self._is_stopping = False

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def is_ready(self) -> bool:
        return self.hello is not None and not self._is_stopping

    @property
    def held(self) -> list[Claim]:
        return list(self._held.values())

    def greet(self, hello: Hello) -> None:
        self.hello = hello
        self._tasks: Mapping[str, TaskInfo] = {task.name: task for task in hello.tasks}
        self._has_async = any(task.is_async for task in hello.tasks)
        self._has_sync = not all(task.is_async for task in hello.tasks)

    def room(self) -> int:
        """Tell how many more claims to send: up to its depth, in batches worth a commit."""
        if not self.is_ready:
            return 0
        asyncs = len(self._asyncs)
        syncs = len(self._held) - asyncs
        depth = self.pace.depth
        sync_room = depth - syncs if syncs <= depth // 2 else 0
        async_room = self._coroutines - asyncs
        if not self._has_async:
            return sync_room
        if not self._has_sync:
            return max(async_room, 0)
        if sync_room > 0:
            return min(sync_room, max(async_room, 1))
        # One more, in case it is async. If it is not, it waits here and nothing more is taken.
        return 1 if async_room > 0 and syncs <= depth else 0

    def give(self, claims: Sequence[Claim]) -> None:
        """Send claims. A child that is gone leaves them held; its burial hands them back."""
        for start in range(0, len(claims), PACKET):
            packet = [(self._place(claim), claim) for claim in claims[start : start + PACKET]]
            self._tell(self.work, Work(packet))

    def end(self, verdicts: Iterable[tuple[int, Verdict]]) -> list[Verdict]:
        """Take verdicts on claims this child holds."""
        ended: list[Verdict] = []
        for place, verdict in verdicts:
            if place in self._held:
                if place not in self._asyncs:
                    self.pace.saw(verdict.took_us)
                self._forget(place)
                ended.append(verdict)
        self._has_asked_back = False
        return ended

    def hand_back(self, handed: Handed) -> list[Verdict]:
        """Take back claims the child had not started."""
        back = [released(self._held[place]) for place in handed.places if place in self._held]
        for place in handed.places:
            self._forget(place)
        return back

    def ask_back(self) -> None:
        """Ask for what has not been started."""
        if not self._has_asked_back:
            self._has_asked_back = True
            self._tell(self.talk, TakeBack())

    def longest_us(self) -> int:
        """Tell for how long the longest sync run has been under way."""
        begun = [self.ledger.started_us(place) for place in self._held if place not in self._asyncs]
        return monotonic_us() - min(filter(None, begun)) if any(begun) else 0

    def has_overstayed(self) -> bool:
        """Tell whether claims wait here behind a run that turned out to be long."""
        return len(self._held) - len(self._asyncs) > 1 and self.longest_us() > OVERSTAYED_US

    def slow_down(self) -> None:
        self.pace.saw(self.longest_us())

    def running(self) -> list[tuple[int, Claim]]:
        """List what has been started: since when (on the shared clock), and what."""
        started = [(self.ledger.started_us(place), claim) for place, claim in self._held.items()]
        return [(since, claim) for since, claim in started if since]

    def task(self, claim: Claim) -> TaskInfo | None:
        return self._tasks.get(claim.task)

    def tell(self, message: Message) -> None:
        self._tell(self.talk, message)

    def cancel(self, tokens: Sequence[str]) -> None:
        mine = [claim.token for claim in self._held.values() if claim.token in tokens]
        if mine:
            self._tell(self.talk, Cancelled(mine))

    def stop(self) -> None:
        self._is_stopping = True
        self._tell(self.work, Stop())
        self._tell(self.talk, Stop())

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)

    def bury(self, *, is_charged: bool) -> list[Verdict]:
        """Take everything from a child that is gone: what it had started crashed, the rest is handed back."""
        self._unread()
        how = describe_exit(self.process.wait())
        verdicts: list[Verdict] = []
        for place, claim in self._held.items():
            since = self.ledger.started_us(place)
            if since and is_charged:
                verdicts.append(crashed(claim, f"its process {self.pid} {how}", took_us=monotonic_us() - since))
            else:
                verdicts.append(released(claim))
        self._held.clear()
        self._close()
        return verdicts

    def _unread(self) -> list[Message]:
        """Receive, in the child's place, what it never received: nobody else can, now."""
        messages: list[Message] = []
        self.work.close()
        while True:
            try:
                message = self._work_end.receive(is_blocking=False)
            except ChannelClosed:
                return messages
            if message is None:
                return messages
            messages.append(message)

    def _place(self, claim: Claim) -> int:
        place = self._free.popleft()
        self.ledger.clear(place)
        self._held[place] = claim
        task = self._tasks.get(claim.task)
        if task is not None and task.is_async:
            self._asyncs.add(place)
        return place

    def _forget(self, place: int) -> None:
        if self._held.pop(place, None) is not None:
            self._asyncs.discard(place)
            self._free.append(place)

    def _tell(self, channel: Channel, message: Message) -> None:
        try:
            channel.send(message)
        except ChannelClosed:
            return  # it is gone; whoever watches the process buries it and takes back what it held

    def _close(self) -> None:
        for end in (self.work, self._work_end, self.talk):
            end.close()
        self.ledger.close()
        if self.pidfd is not None:
            os.close(self.pidfd)


def describe_exit(code: int) -> str:
    """Say in words how a process ended."""
    if code < 0:
        return f"was killed by {signal.Signals(-code).name}"
    return f"exited with code {code} in the middle of the run"
