"""Servers at socket level: they see every byte and every connection, and answer or break off as told."""

import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

CERTIFICATE = Path(__file__).with_name("localhost.pem")
PATIENCE = 10.0

type Serve = Callable[[socket.socket], None]


def free_port() -> int:
    """A port on which nobody listens now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


class SocketServer:
    """Runs `serve` for each connection in a thread of its own, for the length of a `with` block."""

    def __init__(self, serve: Serve, *, port: int = 0, tls: bool = False) -> None:
        self._serve = serve
        self._context: ssl.SSLContext | None = None
        if tls:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._context.load_cert_chain(CERTIFICATE)
        self._listener = socket.create_server(("127.0.0.1", port))
        self._threads: list[threading.Thread] = []
        self._open: list[socket.socket] = []
        self.port = int(self._listener.getsockname()[1])
        self.connections = 0
        self.stopping = threading.Event()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"{'https' if self._context else 'http'}://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stopping.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self._open:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(PATIENCE)

    def _start(self, target: Callable[[], None]) -> None:
        thread = threading.Thread(target=target, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.connections += 1
                self._open.append(connection)
                self._start(lambda connection=connection: self._run(connection))  # type: ignore[misc]

    def _run(self, connection: socket.socket) -> None:
        with suppress(OSError), connection:
            connection.settimeout(PATIENCE)
            if self._context is None:
                self._serve(connection)
                return
            with self._context.wrap_socket(connection, server_side=True) as secured:
                self._open.append(secured)
                self._serve(secured)


def read_head(connection: socket.socket) -> tuple[bytes, bytes, int]:
    """The head of one request, what came after it already, and the length its body will have."""
    received = b""
    while b"\r\n\r\n" not in received:
        piece = connection.recv(65536)
        if not piece:
            return received, b"", 0
        received += piece
    head, _, rest = received.partition(b"\r\n\r\n")
    length = 0
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return head + b"\r\n\r\n", rest, length


def read_request(connection: socket.socket) -> bytes:
    """One request to its last byte; empty when the other side has closed."""
    head, body, length = read_head(connection)
    while len(body) < length and (piece := connection.recv(65536)):
        body += piece
    return head + body


def answer(status: int, body: bytes = b"{}", *headers: str) -> bytes:
    """The bytes of one answer."""
    lines = [f"HTTP/1.1 {status} Any", f"Content-Length: {len(body)}", "Content-Type: application/json", *headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


class Relay(SocketServer):
    """Passes whole connections on to another port, and can break off one request in the middle of its body."""

    def __init__(self, upstream_port: int, *, port: int = 0, tls: bool = False) -> None:
        self._upstream_port = upstream_port
        self.cut_bodies = 0  # so many requests with a body are still to be cut after their first half
        super().__init__(self._pass_on, port=port, tls=tls)

    def _pass_on(self, connection: socket.socket) -> None:
        with socket.create_connection(("127.0.0.1", self._upstream_port), PATIENCE) as upstream:
            while True:
                head, body, length = read_head(connection)
                if not head:
                    return
                while len(body) < length and (piece := connection.recv(65536)):
                    body += piece
                if length and self.cut_bodies:
                    self.cut_bodies -= 1
                    upstream.sendall(head + body[: length // 2])
                    return
                upstream.sendall(head + body)
                reply = read_request(upstream)
                if not reply:
                    return
                connection.sendall(reply)
