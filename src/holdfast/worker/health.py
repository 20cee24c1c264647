"""How a worker is, for those who watch it from outside: `/live`, `/ready` and `/metrics` over HTTP.

    /live      200 while the main loop and the store thread turn; else 503: the process should be started anew
    /ready     200 while it can take jobs; else 503 with the reason
    /metrics   what it has counted, and what the queues hold

The threads that matter leave marks (`Vitals`) as they go round, and never wait for whoever reads them. The door is served
by threads of its own: one that accepts, and one for each connection, of which there are a few at most. A client that
sends nothing, or reads nothing, is cut off after some seconds; one that comes when all places are taken has the place of
the oldest. Nothing here is asked by the job path, and if all of it hangs, the jobs run on.

The door knows no password, and tells names of queues and tasks: it belongs on this machine, or behind a wall.
"""

import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from holdfast import __version__
from holdfast.errors import InvalidInput, StoreError
from holdfast.model.worker import Beat, WorkerReport
from holdfast.store.protocol import Store
from holdfast.worker.crew import Crew
from holdfast.worker.metrics import CONTENT_TYPE, Depths, Page, Reading, Tally
from holdfast.worker.nursery import Nursery

DEADLINE_S: Final = 5.0
"""How long a client may take to ask, and to take the answer."""
MOST_CLIENTS: Final = 8
_MOST_THREADS: Final = 2 * MOST_CLIENTS
"""Those of clients that were cut off count until they have ended."""
_PLACE_S: Final = 1.0
_LONGEST_HEAD: Final = 8192
_LEAST_PATIENCE_S: Final = 30.0
_LATELY_S: Final = 5.0
_LOCAL: Final = "127.0.0.1"
_KNOWN: Final = "PORT, HOST:PORT or unix:/path"
_WORDS: Final = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed", 503: "Service Unavailable"}


# --- marks --------------------------------------------------------------------------------------------------------


class Vitals:
    """The marks that a worker's threads leave. Moments are monotonic; each is written by one thread and read by any."""

    def __init__(self, lease_s: float) -> None:
        self.patience_s = max(lease_s, _LEAST_PATIENCE_S)
        self.lately_s = max(lease_s, _LATELY_S)
        self.main_turned = time.monotonic()
        self.keeper_turned: float | None = None
        """None until there is a store thread."""
        self.reached = 0.0
        """When the store last did what the store thread asked."""
        self.is_store_failing = False
        self.is_stopping = False
        self.lease_until = 0.0
        self.worker = ""
        """The id under which the worker is enlisted."""
        self._lock = threading.Lock()
        self.renewals = self.failed_renewals = self.store_errors = 0

    def reach(self) -> None:
        """Mark that the store has just done what it was asked. Called by the store thread."""
        self.reached = self.keeper_turned = time.monotonic()
        self.is_store_failing = False

    def renew(self, seconds: float) -> None:
        """Mark that the lease can be relied on for so long from now."""
        with self._lock:
            self.renewals += 1
        self.lease_until = time.monotonic() + seconds

    def fail_to_renew(self) -> None:
        with self._lock:
            self.failed_renewals += 1

    def fail(self) -> None:
        """Mark that the store could not do what it was asked."""
        with self._lock:
            self.store_errors += 1


class MarkedBeats:
    """The store as a `Beater` uses it, with a mark for each beat that renewed nothing."""

    def __init__(self, store: Store, vitals: Vitals) -> None:
        self._store = store
        self._vitals = vitals

    def beat(self, worker: str, now_us: int | None = None, report: WorkerReport | None = None) -> Beat:
        try:
            beat = self._store.beat(worker, now_us, report)
        except StoreError:
            self._vitals.fail()
            self._vitals.fail_to_renew()
            raise
        if not beat.is_alive:
            self._vitals.fail_to_renew()
        return beat


# --- judgement ----------------------------------------------------------------------------------------------------


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


# --- the address --------------------------------------------------------------------------------------------------


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


# --- the door -----------------------------------------------------------------------------------------------------


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
