"""A relay between our worker and a provider: it knows what was answered, and can lose an answer after the act."""

import socket
import threading

from tests.support.sockets import PATIENCE, SocketServer, read_head, read_request


class Between(SocketServer):
    """Passes requests on to a port of this machine, one after the other, and their answers back."""

    def __init__(self, upstream_port: int) -> None:
        self._upstream_port = upstream_port
        self._changed = threading.Condition()
        self._answered: list[str] = []
        self._to_lose = 0
        super().__init__(self._pass_on)

    def lose_answer(self, times: int = 1) -> None:
        """The next so many answers to a write arrive here and go no further."""
        self._to_lose += times

    def wait_for_answers(self, at_least: int, method: str = "POST") -> None:
        """Return once the provider has answered so many requests and each answer is passed on or lost."""
        with self._changed:
            came = self._changed.wait_for(lambda: self._answered.count(method) >= at_least, timeout=2 * PATIENCE)
        assert came, f"{self._answered.count(method)} of {at_least} answers to {method} came"

    def _pass_on(self, connection: socket.socket) -> None:
        connection.settimeout(2 * PATIENCE)
        with socket.create_connection(("127.0.0.1", self._upstream_port), 2 * PATIENCE) as upstream:
            while self._one_exchange(connection, upstream):
                pass

    def _one_exchange(self, connection: socket.socket, upstream: socket.socket) -> bool:
        head, body, length = read_head(connection)
        while len(body) < length and (piece := connection.recv(65536)):
            body += piece
        if not head:
            return False
        upstream.sendall(head + body)
        reply = read_request(upstream)
        method = head.split(b" ", 1)[0].decode()
        lost = method != "GET" and self._to_lose > 0
        if lost:
            self._to_lose -= 1
        elif reply:
            connection.sendall(reply)
        with self._changed:
            self._answered.append(method)
            self._changed.notify_all()
        return bool(reply) and not lost
