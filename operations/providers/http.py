"""The one place that speaks HTTP to the outside.

One request, once: no retries, no redirects, no proxies from the environment, separate connect and read time-outs, a
bound on the whole call and on the answer. How far a request got is taken from the transport's own events, because
"no byte left" and "a byte may have left" are different facts (case P02).
"""

import json
import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, NoReturn

import httpx

from operations.core.contract import MISSING
from operations.core.intent import sha256_of
from operations.core.outcomes import Answer, Phase
from operations.core.render import RenderedRequest
from operations.providers.bounded import Bound, Transport
from operations.providers.ports import Limits

MAX_ANSWER: Final = 1024 * 1024
MAX_DEPTH: Final = 32
MAX_HEADER: Final = 1000  # characters of one header's value that are kept
SENDING: Final = ("http11.send_request_headers.started",)
SENT: Final = ("http11.send_request_body.complete",)
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
    """Send it once and say what came back. Never raises for what the network, the provider or this code does.

    Whatever is raised before the first byte means *not sent*; whatever is raised after it, of whatever type, means
    that the answer is lost. Only what ends the process itself passes, and then the lease speaks for this call.
    """
    course, received = _Course(limits.begin_by), _Received()
    try:
        with _exchange(base_url, request, secret_headers, limits, course) as response:
            received.status = response.status_code
            received.headers = {name.lower(): value[:MAX_HEADER] for name, value in response.headers.items()}
            _read(response, received)
        raw = bytes(received.raw)
        return Answer(
            phase=Phase.ANSWERED,
            status=received.status,
            headers=received.headers,
            body=_parsed(raw),
            raw_digest=sha256_of(raw),
        )
    except Exception as error:  # noqa: BLE001  # an unlisted type must not look like "nothing happened" (case P02)
        return _broken_off(course, received, error)


@contextmanager
def _exchange(
    base_url: str, request: RenderedRequest, secret_headers: Mapping[str, str], limits: Limits, course: _Course
) -> Iterator[httpx.Response]:
    client, bound = _client()
    bound.over_at = time.monotonic() + limits.total
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


def _read(response: httpx.Response, received: _Received) -> None:
    for chunk in response.iter_raw():
        received.raw += chunk
        if len(received.raw) > MAX_ANSWER:
            raise AnswerTooLarge(f"The answer is larger than {MAX_ANSWER} bytes.")


def _broken_off(course: _Course, received: _Received, error: Exception) -> Answer:
    """An error whose text never leaves this module whole: it may hold an address or what the provider echoed."""
    kind = type(error).__name__
    if course.phase is Phase.CONNECTING:
        return Answer(phase=Phase.CONNECTING, error=kind)
    return Answer(
        phase=course.phase,
        status=received.status,
        complete=False,
        headers=received.headers,
        error=kind if received.status is None else f"{kind} after the head of a {received.status}",
        raw_digest=sha256_of(bytes(received.raw)) if received.raw else "",
    )


def _parsed(raw: bytes) -> Any:
    """The answer as JSON, if it can be read in one way only and kept as it is; otherwise MISSING.

    Refused: a key that stands twice, NaN, deep nesting, and text that the database could not hold. Decimals stay
    exact, so that an amount which is almost ours is not ours.
    """
    try:
        value = json.loads(
            raw.decode("utf-8-sig"), object_pairs_hook=_unique, parse_float=Decimal, parse_constant=_refuse
        )
        _walk(value, 1)
    except (ValueError, ArithmeticError, RecursionError):
        return MISSING
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("A key stands twice in one object.")
    return found


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON.")


def _walk(value: Any, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise ValueError(f"Nested deeper than {MAX_DEPTH} levels.")
    match value:
        case dict():
            for key, item in value.items():
                _walk(key, depth)
                _walk(item, depth + 1)
        case list():
            for item in value:
                _walk(item, depth + 1)
        case str():
            value.encode()  # a lone half of a surrogate pair raises
            if "\x00" in value:
                raise ValueError("The text holds a NUL character.")
        case _:
            return


def close() -> None:
    """Let go of this thread's warm connection; for threads that end before their process does."""
    kept: tuple[int, httpx.Client, Bound] | None = getattr(_local, "kept", None)
    if kept is not None:
        kept[1].close()


def _client() -> tuple[httpx.Client, Bound]:
    """One warm client per thread: making one per call costs about as much as the whole database work.

    A forked child makes its own, because two processes must not write into one connection.
    """
    kept: tuple[int, httpx.Client, Bound] | None = getattr(_local, "kept", None)
    if kept is None or kept[0] != os.getpid() or kept[1].is_closed:
        bound = Bound()
        headers = {"User-Agent": "opsconsole"}  # no version in it: a repeat must stay the same request
        client = httpx.Client(transport=Transport(bound), headers=headers, follow_redirects=False, trust_env=False)
        kept = _local.kept = (os.getpid(), client, bound)
    return kept[1], kept[2]
