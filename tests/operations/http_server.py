"""What the tests of the HTTP client share: a scripted server, one request, and no warm connection left over."""

import socket
from collections.abc import Callable
from typing import Any

from operations.core.outcomes import Answer
from operations.core.render import RenderedRequest
from operations.providers.http import send
from operations.providers.ports import Limits
from tests.support.sockets import SocketServer, read_request

SECRET = "sk_test_very_secret"
POST = RenderedRequest(
    method="POST",
    path="/v1/payments?x=1",
    headers=(("Content-Type", "application/json"), ("Idempotency-Key", "op_1")),
    body=b'{"amount":1}',
)
GET = RenderedRequest(method="GET", path="/v1/payments", headers=(), body=b"")


def limits(*, read: float = 2, total: float = 4, begin_by: float | None = None) -> Limits:
    return Limits(connect=2, read=read, total=total, begin_by=begin_by)


def post(url: str, request: RenderedRequest = POST, **more: Any) -> Answer:
    return send(url, request, {"Authorization": f"Bearer {SECRET}"}, limits=limits(**more))


class Server(SocketServer):
    """Answers each request with the same bytes and keeps what it received."""

    def __init__(self, reply: bytes | Callable[[socket.socket], None]) -> None:
        self.received: list[bytes] = []
        self._reply = reply
        super().__init__(self._serve_all)

    def _serve_all(self, connection: socket.socket) -> None:
        while request := read_request(connection):
            self.received.append(request)
            if isinstance(self._reply, bytes):
                connection.sendall(self._reply)
            else:
                self._reply(connection)
                return
