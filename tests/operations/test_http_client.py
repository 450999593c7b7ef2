"""The one HTTP client, at socket level: one request, bounded in time and size, and nothing done on its own."""

import os
import socket
from typing import Any

import pytest

from operations.core.intent import sha256_of
from operations.core.outcomes import Answer, Phase
from operations.providers import http
from operations.providers.contract_files import load
from operations.providers.generic.adapter import HttpReader, HttpWriter
from operations.providers.http import send
from operations.providers.registry import OWN
from tests.operations.http_server import GET, POST, SECRET, Server, limits, post
from tests.support.sockets import SocketServer, answer, free_port, read_request

pytestmark = pytest.mark.usefixtures("cold")


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
