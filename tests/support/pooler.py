"""A pooler by transaction, as pgbouncer is one, and stricter: no client keeps a session for two transactions in a row.

It listens on loopback, speaks PostgreSQL's protocol far enough to see where transactions end, and lends each of its few
sessions until the server says that it is idle again (`ReadyForQuery` with `I`). The next transaction of the same client is
another session's, so whatever relies on a prepared statement, a setting, a notice or a lock of the session fails at once.

A client that goes away inside a transaction takes its session with it; a new one takes its place.
"""

import atexit
import contextlib
import os
import queue
import select
import socket
import struct
import threading
from collections.abc import Iterator
from functools import cache
from typing import Self

from tests.support.servers_postgres import server

SESSIONS = 4
_CHUNK = 65_536
_NO_ENCRYPTION = (80877103, 80877104)
"""Codes of the requests for TLS and GSSAPI: the answer is no."""


def pooled_url(*options: str) -> str:
    """Give the URL of the shared server, by way of a pooler that all tests of this process share."""
    query = f"?{'&'.join(options)}" if options else ""
    return f"postgresql://holdfast@127.0.0.1:{shared_pooler().port}/postgres{query}"


@cache
def shared_pooler() -> "Pooler":
    pooler = Pooler(str(server().folder / ".s.PGSQL.5432"))
    atexit.register(pooler.close)
    return pooler


class Pooler:
    """A pooler in front of the server at the socket `path`, until `close`."""

    def __init__(self, path: str, user: str = "holdfast", database: str = "postgres") -> None:
        self._path = path
        self._hello = _startup(user=user, database=database, client_encoding="UTF8")
        self._idle: queue.SimpleQueue[_Session] = queue.SimpleQueue()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.port: int = self._listener.getsockname()[1]
        self._ends: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._is_closed = False
        for _ in range(SESSIONS):
            self._idle.put(self._opened())
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        # A thread that sleeps in `accept` or `recv` does not hear of a close: it is woken by a shutdown.
        for end in (self._listener, *tuple(self._ends)):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            self._is_closed = True
            while not self._idle.empty():
                self._idle.get().end.close()

    def _opened(self) -> "_Session":
        end = socket.socket(socket.AF_UNIX)
        end.connect(self._path)
        self._ends.add(end)
        return _Session(end, self._hello)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._ends.add(client)
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError, EOFError), client:
            if _greeted(client):
                self._welcome(client)
                self._lend(client)
        self._ends.discard(client)

    def _welcome(self, client: socket.socket) -> None:
        session = self._idle.get()
        self._take_back(session, is_whole=True)
        # A process number of our own: this client is nobody's in particular.
        key = struct.pack("!c3i", b"K", 12, int.from_bytes(os.urandom(3), "big") + 2**24, 0)
        client.sendall(_message(b"R", struct.pack("!i", 0)) + session.settings + key + _message(b"Z", b"I"))

    def _lend(self, client: socket.socket) -> None:
        """Carry transactions out, each in the session that has been idle for the longest."""
        requests = _Frames()
        while True:
            frames = list(requests.of(_received(client)))
            session = self._idle.get()
            is_over = False
            try:
                is_over = session.carry_out(client, frames, requests)
            finally:
                self._take_back(session, is_whole=is_over)

    def _take_back(self, session: "_Session", *, is_whole: bool) -> None:
        with self._lock:
            if is_whole and not self._is_closed:
                self._idle.put(session)
                return
            session.end.close()
            self._ends.discard(session.end)
            if not self._is_closed:
                self._idle.put(self._opened())


class _Session:
    """One session with the server."""

    def __init__(self, end: socket.socket, hello: bytes) -> None:
        self.end = end
        self.settings = b""
        end.sendall(hello)
        frames = _Frames()
        while True:
            for kind, frame in frames.of(_received(end)):
                assert kind != b"E", f"the server does not let the pooler in: {frame!r}"
                if kind == b"S":
                    self.settings += frame
                if kind == b"Z":
                    return

    def carry_out(self, client: socket.socket, frames: list[tuple[bytes, bytes]], requests: "_Frames") -> bool:
        """Pass on one transaction's requests and answers. Tell whether the session is as it was before."""
        answers = _Frames()
        asked = self._pass_on(frames)
        while True:
            ready, _, _ = select.select([client, self.end], [], [])
            if client in ready:
                asked += self._pass_on(list(requests.of(_received(client))))
            if self.end in ready:
                data = _received(self.end)
                told = [frame[5:] for kind, frame in answers.of(data) if kind == b"Z"]
                client.sendall(data)
                asked -= len(told)
                if asked == 0 and told and told[-1] == b"I":
                    return True

    def _pass_on(self, frames: list[tuple[bytes, bytes]]) -> int:
        """Send requests, and give how many of them the server will call answered."""
        if any(kind == b"X" for kind, _ in frames):
            raise EOFError
        self.end.sendall(b"".join(frame for _, frame in frames))
        return sum(kind in (b"Q", b"S") for kind, _ in frames)


class _Frames:
    """Takes a stream apart into messages."""

    def __init__(self) -> None:
        self._rest = b""

    def of(self, data: bytes) -> Iterator[tuple[bytes, bytes]]:
        self._rest += data
        while len(self._rest) >= 5:
            end = 1 + struct.unpack("!i", self._rest[1:5])[0]
            if len(self._rest) < end:
                return
            frame, self._rest = self._rest[:end], self._rest[end:]
            yield frame[:1], frame


def _greeted(client: socket.socket) -> bool:
    """Read a client's first words. Tell whether it wants a session: one that wants to cancel another's step does not."""
    while True:
        first = client.recv(8, socket.MSG_WAITALL)
        if len(first) < 8:
            return False
        length, code = struct.unpack("!2i", first)
        if length > 8:
            client.recv(length - 8, socket.MSG_WAITALL)
        if code not in _NO_ENCRYPTION:
            return bool(code == 3 << 16)
        client.sendall(b"N")


def _startup(**parameters: str) -> bytes:
    pairs = b"".join(f"{name}\0{value}\0".encode() for name, value in parameters.items()) + b"\0"
    return struct.pack("!2i", 8 + len(pairs), 3 << 16) + pairs


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!i", 4 + len(body)) + body


def _received(end: socket.socket) -> bytes:
    data = end.recv(_CHUNK)
    if not data:
        raise EOFError
    return data
