"""The one HTTP client, at socket level: one request, bounded in time and size, and nothing done on its own."""

import gzip
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from operations.core.contract import MISSING
from operations.core.intent import sha256_of
from operations.core.outcomes import Answer, Phase
from operations.core.render import RenderedRequest
from operations.providers import http
from operations.providers.contract_files import load
from operations.providers.generic.adapter import HttpReader, HttpWriter
from operations.providers.http import MAX_ANSWER, MAX_HEADER, send
from operations.providers.ports import Limits
from operations.providers.registry import OWN
from tests.support.sockets import SocketServer, answer, free_port, read_request

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


@pytest.fixture(autouse=True)
def cold() -> Iterator[None]:
    """Each test begins and ends without a warm connection."""
    yield
    http.close()


def test_the_request_is_what_was_rendered_and_nothing_else() -> None:
    with Server(answer(201, b'{"id":"p_1"}', "Request-Id: r_1")) as server:
        got = post(server.url + "/")

    assert got == Answer(
        phase=Phase.ANSWERED,
        status=201,
        headers={"content-length": "12", "content-type": "application/json", "request-id": "r_1"},
        body={"id": "p_1"},
        raw_digest=sha256_of(b'{"id":"p_1"}'),
    )
    head, _, body = server.received[0].partition(b"\r\n\r\n")
    assert body == POST.body
    assert sorted(head.lower().split(b"\r\n")) == sorted(
        [
            b"post /v1/payments?x=1 http/1.1",
            b"host: 127.0.0.1:%d" % server.port,
            b"connection: keep-alive",
            b"user-agent: opsconsole",
            b"content-type: application/json",
            b"idempotency-key: op_1",
            b"accept: application/json",
            b"accept-encoding: identity",
            b"authorization: bearer sk_test_very_secret",
            b"content-length: 12",
        ]
    )


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_redirect_is_followed(status: int) -> None:
    with Server(answer(200, b"[]")) as other, Server(answer(status, b"", f"Location: {other.url}/x")) as server:
        got = post(server.url)
        assert (got.phase, got.status) == (Phase.ANSWERED, status)
        assert (len(server.received), other.connections) == (1, 0)


@pytest.mark.parametrize("status", [401, 407, 408, 425, 429, 500, 502, 503, 504])
def test_no_answer_is_repeated(status: int) -> None:
    with Server(answer(status, b"{}", "Retry-After: 0")) as server:
        assert post(server.url).status == status
        assert len(server.received) == 1


def test_a_warm_connection_that_closes_is_not_repeated() -> None:
    """The moment in which other clients send again by themselves (case P10 a)."""

    def serve(connection: socket.socket) -> None:
        for reply in (answer(200), b""):
            received.append(read_request(connection))
            connection.sendall(reply)

    received: list[bytes] = []
    with SocketServer(serve) as server:
        assert post(server.url).phase is Phase.ANSWERED
        got = post(server.url)
        assert server.connections == 1
    assert (got.phase, got.status, got.error) == (Phase.WAITING, None, "RemoteProtocolError")
    assert len(received) == 2


def test_an_early_hint_is_not_the_answer() -> None:
    with Server(b"HTTP/1.1 102 Processing\r\n\r\n" + answer(201, b'{"id":1}')) as server:
        assert post(server.url).status == 201


def test_no_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
    with Server(answer(200)) as server:
        assert post(server.url).status == 200


def test_no_cookie_travels_with_another_request() -> None:
    with Server(answer(200, b"{}", "Set-Cookie: session=of-somebody; Path=/")) as server:
        post(server.url)
        post(server.url, GET)
    assert len(server.received) == 2
    assert b"cookie" not in server.received[1].lower()


def test_a_netrc_file_adds_no_credential(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login somebody password else\n")
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    monkeypatch.setenv("HOME", str(tmp_path))
    with Server(answer(200)) as server:
        send(server.url, POST, {}, limits=limits())
    assert b"authorization" not in server.received[0].lower()


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


# Size and form -----------------------------------------------------------------------------------------------------


def test_an_answer_is_read_to_its_bound_only() -> None:
    def flood(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 900000000\r\n\r\n")
        while not server.stopping.is_set():
            connection.sendall(b" " * 65536)

    with Server(flood) as server:
        got = post(server.url)
    assert (got.phase, got.complete, got.error) == (Phase.WAITING, False, "AnswerTooLarge after the head of a 200")


def test_the_largest_answer_still_counts() -> None:
    body = b'"' + b"x" * (MAX_ANSWER - 2) + b'"'
    with Server(answer(200, body)) as server:
        assert post(server.url).body == "x" * (MAX_ANSWER - 2)


def test_a_gzip_bomb_stays_packed() -> None:
    bomb = gzip.compress(b'{"id":"' + b"0" * 50_000_000 + b'"}')
    with Server(answer(200, bomb, "Content-Encoding: gzip")) as server:
        got = post(server.url)
    assert (got.phase, got.status, got.body) == (Phase.ANSWERED, 200, MISSING)
    assert got.raw_digest == sha256_of(bomb)


def test_an_answer_cut_in_its_body_is_lost_but_its_headers_are_kept() -> None:
    def cut(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 201 Created\r\nRequest-Id: r_7\r\nContent-Length: 50\r\n\r\n" + b'{"id":')

    with Server(cut) as server:
        got = post(server.url)
    assert (got.phase, got.status, got.complete, got.body) == (Phase.WAITING, 201, False, MISSING)
    assert got.error == "RemoteProtocolError after the head of a 201"
    assert got.headers["request-id"] == "r_7"
    assert got.raw_digest == sha256_of(b'{"id":')


@pytest.mark.parametrize(
    "head",
    [b"SSH-2.0-OpenSSH\r\n\r\n", b"HTTP/1.1 two hundred\r\n\r\n", b"\x00\x01\x02\r\n\r\n"],
)
def test_what_is_not_http_is_an_answer_lost(head: bytes) -> None:
    def serve(connection: socket.socket) -> None:
        connection.sendall(head)

    with Server(serve) as server:
        got = post(server.url)
    assert (got.phase, got.status) == (Phase.WAITING, None)


def test_long_headers_are_cut() -> None:
    with Server(answer(503, b"{}", "Retry-After: " + "9" * 5000)) as server:
        assert len(post(server.url).headers["retry-after"]) == MAX_HEADER


def nested(levels: int) -> bytes:
    return b'{"a":' * levels + b"1" + b"}" * levels


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"OK",
        b"<html></html>",
        b'{"id":"a"',
        b'{"id":"mine","id":"theirs"}',
        b'{"data":[{"amount":1,"amount":2}]}',
        b'{"amount":NaN}',
        b'{"amount":-Infinity}',
        b'{"note":"\\u0000"}',
        b'{"note\\u0000":1}',
        b'{"note":"\\ud800"}',
        b'{"note":"\xff"}',
        '{"id":"utf-16"}'.encode("utf-16"),
        nested(32),
        nested(100_000),
        b"[" * 500_000,
        b'{"id":' + b"9" * 5000 + b"}",
    ],
    ids=lambda body: repr(body[:30]),
)
def test_json_that_can_be_read_in_two_ways_or_not_kept_is_unreadable(body: bytes) -> None:
    with Server(answer(200, body)) as server:
        got = post(server.url)
    assert (got.phase, got.status, got.body) == (Phase.ANSWERED, 200, MISSING)


def test_ordinary_json_is_read_exactly() -> None:
    body = '{"id":"п","none":null,"yes":true,"n":9007199254740993,"d":12500.000000000000000001}'.encode()
    with Server(answer(200, b"\xef\xbb\xbf" + body)) as server:
        got = post(server.url).body
    assert (got["id"], got["none"], got["yes"], got["n"]) == ("п", None, True, 2**53 + 1)
    assert got["d"] != 12500
    with Server(answer(200, nested(31))) as server:
        assert post(server.url).body is not MISSING


# What is kept of an error ------------------------------------------------------------------------------------------


def assert_discreet(got: Answer) -> None:
    for word in (SECRET, "127.0.0.1", "v1/payments", "amount", "echo"):
        assert word not in got.error


def test_errors_name_their_type_and_nothing_else() -> None:
    def echo(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 echo " + SECRET.encode() + b"\r\n\r\n")

    got = post(f"http://127.0.0.1:{free_port()}")
    assert (got.phase, got.error) == (Phase.CONNECTING, "ConnectError")
    with Server(echo) as server:
        got = post(server.url)
    assert_discreet(got)
    assert got.error == "RemoteProtocolError"


@pytest.mark.parametrize("secret", ["line\nbreak", "caf\u00e9\u2603", "\ud800"])
def test_a_secret_that_no_header_can_carry_is_not_sent(secret: str) -> None:
    with Server(answer(200)) as server:
        got = send(server.url, POST, {"Authorization": secret}, limits=limits())
    assert got.status is None
    assert server.received == []
    assert got.error.isidentifier()


@pytest.mark.parametrize("url", ["http://", "http://127.0.0.1:99999", "nothing", "ftp://127.0.0.1", "http://[::1"])
def test_an_unusable_address_is_not_sent(url: str) -> None:
    got = post(url)
    assert (got.phase, got.status) == (Phase.CONNECTING, None)
    assert got.error.isidentifier()


def test_doors_do_not_show_their_secret() -> None:
    contract = load(OWN / "simulated" / "payments_create.toml").contract
    for door in (
        HttpWriter("http://127.0.0.1:1", SECRET, contract),
        HttpReader("http://127.0.0.1:1", SECRET, contract),
    ):
        for text in (repr(door), str(door), f"{door}", repr([door])):
            assert SECRET not in text
            assert contract.cited in text
    assert SECRET not in repr(limits())


def test_a_forked_child_does_not_write_into_its_parent_s_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    with Server(answer(200)) as server:
        post(server.url)
        post(server.url)
        assert server.connections == 1
        monkeypatch.setattr(os, "getpid", lambda: -1)
        kept = http._local.kept
        post(server.url)
        assert server.connections == 2
        kept[1].close()


def test_a_request_without_a_body_has_no_length() -> None:
    with Server(answer(200)) as server:
        post(server.url, GET)
    assert b"content-length" not in server.received[0].lower()
