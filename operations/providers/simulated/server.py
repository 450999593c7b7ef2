"""The sockets: reading requests to the byte, and answering them well, badly or not at all."""

import os
import socket
import socketserver
import struct
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from operations.providers.simulated.admin import Admin
from operations.providers.simulated.bodies import spoil
from operations.providers.simulated.engine import Provider
from operations.providers.simulated.gates import Stopping
from operations.providers.simulated.messages import Answer, Request, decode, error
from operations.providers.simulated.plan import Delivery, Plan

DRIP_PIECES = 10
BODYLESS = (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)
LONGEST_BODY = 20_000_000


class SimulatedServer(socketserver.ThreadingTCPServer):
    """One thread per connection, so that a held request holds up nobody else."""

    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 512

    def __init__(self, address: tuple[str, int], provider: Provider) -> None:
        self.provider = provider
        self.admin = Admin(provider)
        super().__init__(address, Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is nothing to report; everything else is."""
        if not isinstance(sys.exception(), ConnectionError | Stopping):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: SimulatedServer

    def handle_any(self) -> None:
        """Read one request in full, then hand it to the switches or to the provider."""
        body, complete = self._read_body()
        address = urlsplit(self.path)
        if address.path.startswith("/_"):
            query = dict(parse_qsl(address.query, keep_blank_values=True))
            answer = self.server.admin.answer(self.command, address.path, query, decode(body))
            self._send(answer, request_id=None)
            return
        request = self.server.provider.log.append(
            method=self.command,
            path=address.path,
            query=address.query,
            headers={name.lower(): ", ".join(self.headers.get_all(name, [])) for name in self.headers},
            body=body,
            complete=complete,
        )
        try:
            self._serve(request)
        finally:
            self.server.provider.log.ended(request)

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = do_HEAD = do_OPTIONS = handle_any

    def log_message(self, *args: Any) -> None:
        """Say nothing; the request log says it all."""

    def _read_body(self) -> tuple[bytes, bool]:
        """The body, and whether all of it came. A write must say how long it is, or it is not complete."""
        length = self.headers.get("Content-Length")
        if length is None:
            return b"", self.command not in ("POST", "PATCH", "PUT") and "Transfer-Encoding" not in self.headers
        if not length.isdecimal() or int(length) > LONGEST_BODY:
            return b"", False
        body = b""
        try:
            while len(body) < int(length) and (piece := self.rfile.read1(min(65536, int(length) - len(body)))):
                body += piece
        except ConnectionError:
            return body, False
        return body, len(body) == int(length)

    def _serve(self, request: Request) -> None:
        if not request.complete:
            self.close_connection = True
            if "content-length" not in request.headers:
                refusal = error(411, "invalid_request", "length_required", "Send Content-Length.")
                self._send(refusal, request_id=request.request_id)
            return
        answer, plan = self.server.provider.serve(request)
        if plan.delivery is Delivery.RESET:
            self._reset()
        elif answer is None or plan.delivery is Delivery.NOTHING:
            self.close_connection = True
        else:
            spoiled = spoil(answer, plan.spoil) if plan.spoil else answer
            self._send(spoiled, request_id=request.request_id, plan=plan)

    def _send(self, answer: Answer, *, request_id: str | None, plan: Plan | None = None) -> None:
        plan = plan or Plan()
        if plan.delivery is not Delivery.WHOLE:
            self.close_connection = True
        body = b"" if answer.status in BODYLESS else answer.body
        head = self._head(answer, len(body), request_id)
        if self.command == "HEAD" or plan.delivery is Delivery.HEADERS_ONLY:
            body = b""
        elif plan.delivery is Delivery.HALF_BODY:
            body = body[: len(body) // 2]
        try:
            self._write(head + body, plan.drip)
        except ConnectionError:
            # The client has gone. What was done stays done.
            self.close_connection = True

    def _head(self, answer: Answer, length: int, request_id: str | None) -> bytes:
        headers = {"Content-Length": str(length), "Connection": "close" if self.close_connection else "keep-alive"}
        if request_id:
            headers["Request-Id"] = request_id
        given = {name.lower() for name in answer.headers}
        headers = {name: value for name, value in headers.items() if name.lower() not in given} | dict(answer.headers)
        try:
            reason = HTTPStatus(answer.status).phrase
        except ValueError:
            reason = "Unnamed"
        lines = [f"HTTP/1.1 {answer.status} {reason}", *(f"{name}: {value}" for name, value in headers.items())]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")

    def _write(self, content: bytes, drip: float) -> None:
        if not drip:
            self.wfile.write(content)
            return
        size = -(-len(content) // DRIP_PIECES)
        for start in range(0, len(content), size):
            self.server.provider.gates.pause(drip / DRIP_PIECES)
            self.wfile.write(content[start : start + size])

    def _reset(self) -> None:
        """Close with a TCP reset: a linger time of zero, and no orderly shutdown before it."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.close(self.connection.detach())
