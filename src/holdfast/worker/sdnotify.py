"""What systemd wants to know of a service (`Type=notify`, `WatchdogSec=`): a datagram now and then, from the main loop.

    READY=1       once, when the worker first is ready
    STATUS=…      one sentence, when it has changed
    WATCHDOG=1    every half of the time systemd grants, but only while the worker is live: a worker whose main loop or
                  store thread hangs is killed and started anew
    STOPPING=1    once, when it begins to stop

Without $NOTIFY_SOCKET all of this is nothing. What cannot be sent is dropped: systemd hears the next one, or acts on the
silence, which is its office.
"""

import contextlib
import os
import socket
import time
from collections.abc import MutableMapping
from typing import Final

_EVERY_S: Final = 1.0


class Herald:
    """Speaks to whoever listens on $NOTIFY_SOCKET. To be used from the main thread.

    Takes its variables out of the environment: the programs that tasks start are not the service.
    """

    def __init__(self, environment: MutableMapping[str, str]) -> None:
        self._address = _socket_address(environment.pop("NOTIFY_SOCKET", ""))
        watchdog_s = _watchdog_s(environment.pop("WATCHDOG_USEC", ""), environment.pop("WATCHDOG_PID", ""))
        self._dog_every_s = watchdog_s / 2 if watchdog_s else float("inf")
        self._dog_at = 0.0
        self._speak_at = 0.0 if self._address else float("inf")
        self._has_been_ready = False
        self._status = ""

    def left_s(self) -> float:
        """Tell for how long there is nothing to say."""
        return self._speak_at - time.monotonic()

    def tell(self, status: str, *, is_live: bool, is_ready: bool) -> None:
        """Say what is new."""
        now = time.monotonic()
        words: list[str] = []
        if is_ready and not self._has_been_ready:
            self._has_been_ready = True
            words.append("READY=1")
        if status != self._status:
            self._status = status
            words.append(f"STATUS={status}")
        if is_live and now >= self._dog_at and self._dog_every_s < float("inf"):
            self._dog_at = now + self._dog_every_s
            words.append("WATCHDOG=1")
        self._send(words)
        if self._address:
            dog_at = self._dog_at if self._dog_at > now else now + self._dog_every_s  # past, if the worker is not live
            self._speak_at = min(now + _EVERY_S, dog_at)

    def stopping(self) -> None:
        """Say that the worker stops."""
        self._send(["STOPPING=1"])

    def _send(self, words: list[str]) -> None:
        if not words or not self._address:
            return
        with (
            contextlib.suppress(OSError),  # nobody listens, or has no room: the next word will tell as much
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as voice,
        ):
            voice.setblocking(False)
            voice.sendto("\n".join(words).encode(), self._address)


def _socket_address(named: str) -> str:
    """Give the address of a socket in the file system, or of an abstract one; of another kind none."""
    if named.startswith("@"):
        return f"\0{named[1:]}"
    return named if named.startswith("/") else ""


def _watchdog_s(microseconds: str, pid: str) -> float:
    """Give the time that is granted, 0 if none is, or if it is meant for another process."""
    if not microseconds.isdecimal() or (pid and pid != str(os.getpid())):
        return 0.0
    return int(microseconds) / 1e6
