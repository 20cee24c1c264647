"""TLS in front of a server that has none: a terminator on a loopback port, and the authority that signed its certificate.

The Valkey of the tests is built without TLS. To the client it makes no difference who ends the TLS: the handshake, the
certificate and the checks are real.
"""

import contextlib
import socket
import ssl
import threading
from pathlib import Path
from typing import Self

import trustme

HOST = "127.0.0.1"
_CHUNK = 65_536


class Authority:
    """An authority that signs certificates, with its own in a file."""

    def __init__(self, folder: Path) -> None:
        self._authority = trustme.CA()
        self.path = folder / f"ca-{id(self)}.pem"
        self._authority.cert_pem.write_to_path(self.path)

    def server_context(self, name: str = HOST) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._authority.issue_cert(name).configure_cert(context)
        return context


class Terminator:
    """Speaks TLS on a port of its own, and plainly to the server's unix socket, until `close`."""

    def __init__(self, path: str, context: ssl.SSLContext) -> None:
        self._path = path
        self._context = context
        self._listener = socket.create_server((HOST, 0))
        self.port: int = self._listener.getsockname()[1]
        self.handshakes = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError), self._context.wrap_socket(client, server_side=True) as inside:
            self.handshakes += 1
            with socket.socket(socket.AF_UNIX) as server:
                server.connect(self._path)
                answers = threading.Thread(target=_pass_on, args=(server, inside), daemon=True)
                answers.start()
                _pass_on(inside, server)
                answers.join(5)


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(_CHUNK):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_RDWR)
