"""A way to a server that can be cut, stalled and closed at chosen moments.

It listens on a port of its own on loopback and passes everything on to the server's unix socket. A `Fault` waits for a
request that contains certain bytes, and strikes once:

    before     the request is swallowed and the line cut: the server never saw it
    after      the request is passed on and the line cut when the server answers: done, and nobody was told
    within     a few bytes of the answer are passed on, then the line is cut
"""

import contextlib
import select
import socket
import threading
import time
from typing import Literal, NamedTuple, Self

Moment = Literal["before", "after", "within"]
MOMENTS: tuple[Moment, ...] = ("before", "after", "within")
_CHUNK = 65_536


class Fault(NamedTuple):
    """Strike at the first request that contains these bytes."""

    moment: Moment
    request: bytes


class Proxy:
    """A way to the server at `path`, until `close`."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._lines: set[_Line] = set()
        self._lock = threading.Lock()
        self._flowing = threading.Event()
        self._flowing.set()
        self.fault: Fault | None = None
        self.struck = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._is_refusing = False
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def strike(self, moment: Moment, request: bytes) -> None:
        """Strike once, at the next request with these bytes in it."""
        self.struck.clear()
        self.fault = Fault(moment, request)

    def cut(self) -> None:
        """Cut every line."""
        with self._lock:
            lines = list(self._lines)
        for line in lines:
            line.cut()

    def stall(self) -> None:
        """Pass nothing on, in either direction, until `flow`."""
        self._flowing.clear()

    def flow(self) -> None:
        self._flowing.set()

    def refuse(self, is_refusing: bool = True) -> None:
        """Cut every line and let nobody in, or let them in again."""
        self._is_refusing = is_refusing
        if is_refusing:
            self.cut()

    def close(self) -> None:
        self._is_refusing = True
        self.flow()
        # A thread that sleeps in `accept` does not hear of a close: it is woken first.
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self._is_refusing:
                    client.close()
                    if self._listener.fileno() < 0:
                        return
                    continue
                server = socket.socket(socket.AF_UNIX)
                try:
                    server.connect(self._path)
                except OSError:  # the server is down: whoever came hears so
                    client.close()
                    server.close()
                    continue
                line = _Line(self, client, server)
                with self._lock:
                    self._lines.add(line)
                threading.Thread(target=self._serve, args=(line,), daemon=True).start()

    def _serve(self, line: "_Line") -> None:
        with contextlib.suppress(OSError):
            line.pass_on()
        with self._lock:
            self._lines.discard(line)
        line.end()

    def take_fault(self, request: bytes) -> Fault | None:
        """Give the fault that this request calls for, once."""
        with self._lock:
            if self.fault is None or self.fault.request not in request:
                return None
            fault, self.fault = self.fault, None
            return fault

    def await_flow(self) -> None:
        self._flowing.wait()


class _Line:
    """One client's line to the server."""

    def __init__(self, proxy: Proxy, client: socket.socket, server: socket.socket) -> None:
        self._proxy = proxy
        self._client = client
        self._server = server

    def cut(self) -> None:
        """Let both ends find that nobody is there. The sockets are closed by the thread that uses them."""
        for side in (self._client, self._server):
            with contextlib.suppress(OSError):
                side.shutdown(socket.SHUT_RDWR)

    def end(self) -> None:
        self.cut()
        self._client.close()
        self._server.close()

    def pass_on(self) -> None:
        fault: Fault | None = None
        while True:
            ready, _, _ = select.select([self._client, self._server], [], [])
            for side in ready:
                data = side.recv(_CHUNK)
                self._proxy.await_flow()
                if not data:
                    return
                if side is self._client:
                    fault = fault or self._proxy.take_fault(data)
                    if fault and fault.moment == "before":
                        self._proxy.struck.set()
                        return
                    self._server.sendall(data)
                elif fault:
                    if fault.moment == "within":
                        self._client.sendall(data[: len(data) // 2])
                        time.sleep(0.005)  # so that the half answer arrives before the end does
                    self._proxy.struck.set()
                    return
                else:
                    self._client.sendall(data)
