"""The door at which a worker can be asked how it is: HTTP, on an address of one's choice.

It is served by threads of its own: one that accepts, and one for each connection, of which there are a few at most. A
client that sends nothing, or reads nothing, is cut off after some seconds; one that comes when all places are taken has the
place of the oldest. Nothing here is asked by the job path, and if all of it hangs, the jobs run on.

The door knows no password, and tells names of queues and tasks: it belongs on this machine, or behind a wall.
"""

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from holdfast.errors import InvalidInput
from holdfast.worker.checkup import Reply

DEADLINE_S: Final = 5.0
"""How long a client may take to ask, and to take the answer."""
MOST_CLIENTS: Final = 8
_MOST_THREADS: Final = 2 * MOST_CLIENTS
"""Those of clients that were cut off count until they have ended."""
_PLACE_S: Final = 1.0
_LONGEST_HEAD: Final = 8192
_LOCAL: Final = "127.0.0.1"
_KNOWN: Final = "PORT, HOST:PORT or unix:/path"
_WORDS: Final = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed", 503: "Service Unavailable"}


class Address(msgspec.Struct, frozen=True):
    """Where a door is: a host and a port, or a socket in the file system."""

    host: str = ""
    port: int = 0
    path: str = ""

    @property
    def url(self) -> str:
        if self.path:
            return f"unix:{self.path}"
        return f"http://[{self.host}]:{self.port}" if ":" in self.host else f"http://{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    """Read `9100`, `0.0.0.0:9100`, `[::1]:9100` or `unix:/run/shop.sock`."""
    if text.startswith("unix:"):
        if text.removeprefix("unix:"):
            return Address(path=text.removeprefix("unix:"))
    else:
        host, colon, port = text.rpartition(":")
        is_bare = ":" in host and not (host.startswith("[") and host.endswith("]"))
        if port.isdecimal() and int(port) < 2**16 and (host or not colon) and not is_bare:
            return Address(host.strip("[]") or _LOCAL, int(port))
    raise InvalidInput(f"expected the address of the health door as {_KNOWN}, got: {text!r}")


class Door:
    """Listens at an address from the moment it is opened, and answers from `start` on."""

    def __init__(self, text: str) -> None:
        """Open the door. Raises InvalidInput if nobody can listen there."""
        address = parse_address(text)
        try:
            self._listener = _listen(address)
        except OSError as error:
            raise InvalidInput(f"cannot listen on {text} for --health: {error.strerror or error}") from error
        self._clients: dict[socket.socket, None] = {}
        self._threads = threading.BoundedSemaphore(_MOST_THREADS)
        self._lock = threading.Lock()
        self._is_closed = threading.Event()
        self.address = address if address.path else Address(address.host, self._listener.getsockname()[1])

    def start(self, answer: Callable[[str], Reply]) -> None:
        self._answer = answer
        threading.Thread(target=self._accept, name="holdfast-health", daemon=True).start()

    def close(self) -> None:
        self._is_closed.set()
        with contextlib.suppress(OSError):  # it is what wakes the thread that accepts, where the system lets it
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        if self.address.path:
            Path(self.address.path).unlink(missing_ok=True)

    def _accept(self) -> None:
        while not self._is_closed.is_set():
            try:
                client, _ = self._listener.accept()
            except OSError:  # closed; or no descriptor is left, which may pass
                self._is_closed.wait(0.1)
                continue
            if self._threads.acquire(timeout=_PLACE_S):
                self._note(client)
                threading.Thread(target=self._serve, args=(client,), name="holdfast-client", daemon=True).start()
            else:
                client.close()  # all threads hang in their answers: nobody can be told anything

    def _note(self, client: socket.socket) -> None:
        """Give a client a place, if need be that of the oldest, which is cut off."""
        with self._lock:
            if len(self._clients) >= MOST_CLIENTS:
                oldest = next(iter(self._clients))
                del self._clients[oldest]
                with contextlib.suppress(OSError):  # it is gone already
                    oldest.shutdown(socket.SHUT_RDWR)
            self._clients[client] = None

    def _serve(self, client: socket.socket) -> None:
        try:
            with client, contextlib.suppress(OSError):  # it was too slow, or is gone: it knows that it has no answer
                head = _receive_head(client)
                if head:
                    client.settimeout(DEADLINE_S)
                    client.sendall(self._respond(head))
        finally:
            with self._lock:
                self._clients.pop(client, None)
            self._threads.release()

    def _respond(self, head: bytes) -> bytes:
        """Give the response to the head of a request."""
        words = head.partition(b"\r\n")[0].decode("latin-1").split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            return _response(Reply(400, "expected a request of HTTP/1.1"))
        if words[0] not in ("GET", "HEAD"):
            return _response(Reply(405, "expected GET"))
        return _response(self._answer(words[1].partition("?")[0]), has_body=words[0] == "GET")


def _listen(address: Address) -> socket.socket:
    if address.path:
        _remove_left_over(address.path)
        listener = socket.socket(socket.AF_UNIX)
        try:
            listener.bind(address.path)
            listener.listen(MOST_CLIENTS)
        except OSError:
            listener.close()
            raise
        return listener
    family, *_, where = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)[0]
    return socket.create_server(where[:2], family=family, backlog=MOST_CLIENTS)


def _remove_left_over(path: str) -> None:
    """Remove the socket of a worker that was killed. One at which somebody answers stays, and so does any other file."""
    if not Path(path).is_socket():
        return
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            Path(path).unlink(missing_ok=True)


def _receive_head(client: socket.socket) -> bytes:
    """Receive up to the end of a request's head; nothing if the client ended, was too slow, or talks too much."""
    head = b""
    deadline = time.monotonic() + DEADLINE_S
    while b"\r\n\r\n" not in head:
        left_s = deadline - time.monotonic()
        if left_s <= 0 or len(head) > _LONGEST_HEAD:
            return b""
        client.settimeout(left_s)
        chunk = client.recv(_LONGEST_HEAD)
        if not chunk:
            return b""
        head += chunk
    return head


def _response(reply: Reply, *, has_body: bool = True) -> bytes:
    body = (reply.text if reply.text.endswith("\n") else f"{reply.text}\n").encode("utf-8", "replace")
    head = (
        f"HTTP/1.1 {reply.code} {_WORDS[reply.code]}\r\nContent-Type: {reply.kind}\r\nContent-Length: {len(body)}\r\n"
        "Cache-Control: no-store\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + (body if has_body else b"")
