"""Plain HTTP for tests of the wire: a client that does nothing on its own, and a receiver of webhooks."""

import http.client
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

Json = dict[str, Any]
TOKEN = {"Authorization": "Bearer test"}


@dataclass(frozen=True)
class Reply:
    """An answer as it came: status, lower-case headers, bytes."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


def call(
    url: str, method: str, path: str, body: Json | None = None, *, timeout: float = 10, **headers: str | None
) -> Reply:
    """One request on a fresh connection: no retries, no redirects. Headers by keyword: ``if_match='"19"'``; None
    leaves one out, the bearer token too. Whatever goes wrong is raised as http.client raises it."""
    sent = {**TOKEN, **{name.replace("_", "-").title(): value for name, value in headers.items()}}
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=timeout)
    try:
        data = None if body is None else json.dumps(body).encode()
        connection.request(method, path, data, {name: value for name, value in sent.items() if value is not None})
        answer = connection.getresponse()
        names = {name.lower(): value for name, value in answer.getheaders()}
        return Reply(answer.status, names, answer.read())
    finally:
        connection.close()


class Receiver(ThreadingHTTPServer):
    """Takes webhooks and keeps them as they came."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), ReceiverHandler)
        self.received: list[Reply] = []
        self.answer_status = 200

    @property
    def url(self) -> str:
        """Where to send webhooks."""
        return f"http://127.0.0.1:{self.server_address[1]}/hook?tenant=1"


class ReceiverHandler(BaseHTTPRequestHandler):
    """Stores one webhook before answering."""

    server: Receiver

    def do_POST(self) -> None:
        """Store and answer."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        names = {name.lower(): value for name, value in self.headers.items()}
        self.server.received.append(Reply(0, names, body))
        self.send_response(self.server.answer_status)
        self.end_headers()

    def log_message(self, *args: Any) -> None:
        """Stay silent."""


@contextmanager
def receiver() -> Iterator[Receiver]:
    """A receiver that runs for the length of the block."""
    server = Receiver()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
