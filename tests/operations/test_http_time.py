"""Every wait of a call is bounded, and what begins too late is not sent."""

import socket
import threading
import time
from typing import Any

import pytest

from operations.core.outcomes import Phase
from operations.core.render import RenderedRequest
from tests.operations.http_server import Server, post
from tests.support.sockets import SocketServer, answer

pytestmark = pytest.mark.usefixtures("cold")


# Time --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("begin", ["head", "body"])
def test_a_drip_ends_with_the_whole_call(begin: str) -> None:
    """Each byte comes well within the read time-out; only the bound on the whole call can end it."""

    def drip(connection: socket.socket) -> None:
        if begin == "body":
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        else:
            connection.sendall(b"HTTP/1.1 200 OK\r\nX-Never-Ends: ")
        while not server.stopping.wait(0.05):
            connection.sendall(b"1")

    with Server(drip) as server:
        started = time.monotonic()
        got = post(server.url, read=5, total=0.4)
        took = time.monotonic() - started
    assert (got.phase, got.status, got.complete) == (Phase.WAITING, 200 if begin == "body" else None, False)
    assert got.error.startswith("ReadTimeout")
    assert 0.3 < took < 2


def test_a_provider_that_does_not_read_ends_with_the_whole_call_and_gets_no_more_bytes() -> None:
    """After our end of the call nothing of it may still be on its way: the connection is reset, not drained."""
    done, result = threading.Event(), []

    def deaf(connection: socket.socket) -> None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        assert done.wait(10)
        got = b""
        try:
            while piece := connection.recv(65536):
                got += piece
            result.append(("closed in order", len(got)))
        except ConnectionResetError:
            result.append(("reset", len(got)))

    big = RenderedRequest(method="POST", path="/", headers=(), body=b"x" * 8_000_000)
    with SocketServer(deaf) as server:
        started = time.monotonic()
        got = post(server.url, big, read=5, total=0.4)
        took = time.monotonic() - started
        done.set()
    assert took < 2
    assert (got.phase, got.status) == (Phase.SENDING, None)
    ((how, received),) = result
    assert how == "reset"
    assert received < len(big.body)


def test_a_read_time_out_is_an_answer_lost() -> None:
    def silent(connection: socket.socket) -> None:
        connection.recv(1)

    with Server(silent) as server:
        got = post(server.url, read=0.2)
    assert (got.phase, got.status, got.error) == (Phase.WAITING, None, "ReadTimeout")


def test_what_begins_too_late_is_not_sent() -> None:
    """As after a SIGSTOP between the last look at the database and the first byte."""
    with Server(answer(200)) as server:
        got = post(server.url, begin_by=time.monotonic() - 0.001)
        assert (got.phase, got.status, got.error) == (Phase.CONNECTING, None, "TooLate")
        assert server.received == []

        assert post(server.url).status == 200  # on a warm connection too
        assert post(server.url, begin_by=time.monotonic() - 0.001).error == "TooLate"
        assert len(server.received) == 1


def test_a_pause_before_the_first_byte_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock jumps while the connection is made, as it does for a process that was stopped meanwhile."""
    really, jump = time.monotonic, [0.0]
    connect = socket.create_connection

    def slow(*arguments: Any, **more: Any) -> Any:
        made = connect(*arguments, **more)
        jump[0] = 3.0
        return made

    with Server(answer(200)) as server:
        begin_by = really() + 2.5
        monkeypatch.setattr(time, "monotonic", lambda: really() + jump[0])
        monkeypatch.setattr(socket, "create_connection", slow)
        got = post(server.url, total=10, begin_by=begin_by)
        monkeypatch.undo()
    assert (got.phase, got.error) == (Phase.CONNECTING, "TooLate")
    assert server.received == []
