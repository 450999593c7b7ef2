"""The one place that speaks HTTP to the outside.

One request, once: no retries, no redirects, no proxies from the environment, separate connect and read time-outs, a
bound on the whole call and on the answer. How far a request got is taken from the transport's own events, because
"no byte left" and "a byte may have left" are different facts (case P02).
"""

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import httpx

from operations.core.contract import MISSING
from operations.core.intent import sha256_of
from operations.core.outcomes import Answer, Phase
from operations.core.render import RenderedRequest
from operations.providers.ports import Limits

MAX_ANSWER: Final = 1024 * 1024
SENDING: Final = ("http11.send_request_headers.started", "http2.send_request_headers.started")
SENT: Final = ("http11.send_request_body.complete", "http2.send_request_body.complete")
_local = threading.local()


class TooLate(Exception):
    """The moment by which sending had to begin has passed; no byte was sent."""


class AnswerTooLarge(Exception):
    """The provider sent more than we read."""


@dataclass(slots=True)
class _Course:
    """Follows one request through the transport, and stops it before its first byte when it is too late."""

    begin_by: float | None
    phase: Phase = Phase.CONNECTING

    def __call__(self, event: str, _info: Mapping[str, Any]) -> None:
        if event in SENDING:
            if self.begin_by is not None and time.monotonic() > self.begin_by:
                raise TooLate("The time to begin sending was over.")
            self.phase = Phase.SENDING
        elif event in SENT:
            self.phase = Phase.WAITING


@dataclass(slots=True)
class _Received:
    """What has come back so far; kept when reading breaks off half way."""

    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytearray = field(default_factory=bytearray)


def send(
    base_url: str,
    request: RenderedRequest,
    secret_headers: Mapping[str, str],
    *,
    limits: Limits,
) -> Answer:
    """Send it once and say what came back. Never raises for what the network or the provider does."""
    course, received = _Course(limits.begin_by), _Received()
    try:
        with _exchange(base_url, request, secret_headers, limits, course) as response:
            received.status = response.status_code
            received.headers = {name.lower(): value for name, value in response.headers.items()}
            _read(response, received, time.monotonic() + limits.total)
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, TooLate, AnswerTooLarge, OSError) as error:
        return _broken_off(course, received, error)
    return Answer(
        phase=Phase.ANSWERED,
        status=received.status,
        headers=received.headers,
        body=_parsed(bytes(received.raw)),
        raw_digest=sha256_of(bytes(received.raw)),
    )


@contextmanager
def _exchange(
    base_url: str, request: RenderedRequest, secret_headers: Mapping[str, str], limits: Limits, course: _Course
) -> Iterator[httpx.Response]:
    client = _client()
    prepared = client.build_request(
        request.method,
        base_url.rstrip("/") + request.path,
        headers=[
            *request.headers,
            ("Accept", "application/json"),
            ("Accept-Encoding", "identity"),
            *secret_headers.items(),
        ],
        content=request.body if request.method != "GET" else None,
        timeout=httpx.Timeout(limits.read, connect=limits.connect),
        extensions={"trace": course},
    )
    response = client.send(prepared, stream=True)
    try:
        yield response
    finally:
        response.close()
        client.cookies.clear()  # what one answer sets must not travel with another operation's request


def _read(response: httpx.Response, received: _Received, over_at: float) -> None:
    for chunk in response.iter_raw():
        received.raw += chunk
        if len(received.raw) > MAX_ANSWER:
            raise AnswerTooLarge(f"The answer is larger than {MAX_ANSWER} bytes.")
        if time.monotonic() > over_at:
            raise httpx.ReadTimeout("The answer took longer than the whole call may take.")


def _broken_off(course: _Course, received: _Received, error: Exception) -> Answer:
    """An error whose text never leaves this module whole: it may hold an address or what the provider echoed."""
    kind = type(error).__name__
    if course.phase is Phase.CONNECTING:
        return Answer(phase=Phase.CONNECTING, error=kind)
    return Answer(
        phase=course.phase,
        headers=received.headers,
        error=kind if received.status is None else f"{kind} after the head of a {received.status}",
        raw_digest=sha256_of(bytes(received.raw)) if received.raw else "",
    )


def _parsed(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return MISSING


def _client() -> httpx.Client:
    """One warm client per thread: making one per call costs about as much as the whole database work."""
    client: httpx.Client | None = getattr(_local, "client", None)
    if client is None or client.is_closed:
        transport = httpx.HTTPTransport(retries=0, trust_env=False, http2=False)
        headers = {"User-Agent": "opsconsole"}  # no version in it: a repeat must stay the same request
        client = httpx.Client(transport=transport, headers=headers, follow_redirects=False, trust_env=False)
        _local.client = client
    return client
