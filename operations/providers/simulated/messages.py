"""The values that travel between the modules: a request as logged, an answer to be sent, and a complaint."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

Json = dict[str, Any]


@dataclass(frozen=True)
class Request:
    """One request as it stands in the log."""

    n: int
    at: float
    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes
    complete: bool
    request_id: str
    concurrent: int = 0

    @property
    def key(self) -> str | None:
        """The idempotency key as sent, or None."""
        return self.headers.get("idempotency-key")

    @property
    def text(self) -> str:
        """The body as text; bytes that are not UTF-8 are read as latin-1, so nothing is lost."""
        return decode(self.body)

    def parameter(self, name: str) -> str | None:
        """The first value of a query parameter, or None."""
        return parse_qs(self.query, keep_blank_values=True).get(name, [None])[0]


@dataclass(frozen=True)
class Answer:
    """An answer before it is put on the wire."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    def json(self) -> Any:
        """The body as JSON, or None when it is not JSON."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None


class BadField(Exception):
    """A field is missing, unknown or has a value that is not allowed; names the field."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name

    def answer(self) -> Answer:
        """The complaint as a 400 in the provider's own shape."""
        return error(400, "validation_error", "invalid_field", str(self), field=self.name)


def decode(body: bytes) -> str:
    """Text of a body: UTF-8, else latin-1."""
    try:
        return body.decode()
    except UnicodeDecodeError:
        return body.decode("latin-1")


def reply(status: int, value: object, headers: Mapping[str, str] | None = None) -> Answer:
    """A JSON answer."""
    body = json.dumps(value, ensure_ascii=False).encode()
    return Answer(status, body, {"Content-Type": "application/json", **(headers or {})})


def error(status: int, kind: str, code: str, message: str, **extra: object) -> Answer:
    """An error in the provider's own shape."""
    return reply(status, {"error": {"type": kind, "code": code, "message": message, **extra}})


def read_object(text: str) -> Json:
    """The JSON object in a body; raises BadField("body") for anything else."""
    try:
        value = json.loads(text or "{}")
    except ValueError:
        raise BadField("body", "The body is not JSON.") from None
    if not isinstance(value, dict):
        raise BadField("body", "The body must be a JSON object.")
    return value
