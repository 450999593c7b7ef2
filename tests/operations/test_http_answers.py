"""How much of an answer is read, and which answers count as readable."""

import gzip
import socket

import pytest

from operations.core.contract import MISSING
from operations.core.intent import sha256_of
from operations.core.outcomes import Phase
from operations.providers.http import MAX_ANSWER, MAX_HEADER
from tests.operations.http_server import Server, post
from tests.support.sockets import answer

pytestmark = pytest.mark.usefixtures("cold")


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
