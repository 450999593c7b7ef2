"""Ways to spoil a good answer's body."""

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from operations.providers.simulated.messages import Answer, reply


@dataclass(frozen=True)
class Spoil:
    """What to do to the body: the kind, and the size or depth where the kind has one."""

    kind: str
    size: int
    depth: int
    status: int | None


def spoil(answer: Answer, order: Spoil) -> Answer:
    """The answer with its body spoiled as ordered, well-formed as HTTP all the same."""
    spoiled = KINDS[order.kind](answer, order)
    return replace(spoiled, status=order.status or answer.status)


def html(answer: Answer, order: Spoil) -> Answer:
    """A maintenance page."""
    page = b"<html><body><h1>We will be right back</h1></body></html>"
    return Answer(answer.status, page, {"Content-Type": "text/html"})


def truncated(answer: Answer, order: Spoil) -> Answer:
    """Half of the JSON, with a length that fits the half."""
    return replace(answer, body=answer.body[: len(answer.body) // 2])


def empty(answer: Answer, order: Spoil) -> Answer:
    """No body at all."""
    return replace(answer, body=b"")


def not_json(answer: Answer, order: Spoil) -> Answer:
    """Something that calls itself JSON and is not."""
    return replace(answer, body=b"OK; \xff\xfe")


def wrong_shape(answer: Answer, order: Spoil) -> Answer:
    """Good JSON that is not what the API promises."""
    return reply(answer.status, {"result": ["ok"]})


def other_object(answer: Answer, order: Spoil) -> Answer:
    """The right shape, about somebody else's object."""
    value = answer.json()
    if isinstance(value, dict) and isinstance(value.get("data"), list):
        return replace(answer, body=encoded({**value, "data": [strange(item) for item in value["data"]]}))
    return replace(answer, body=encoded(strange(value)))


def strange(value: Any) -> Any:
    """An object with another id and reference."""
    return {**value, "id": "pay_of_somebody_else", "reference": "somebody-else"} if isinstance(value, dict) else value


def huge(answer: Answer, order: Spoil) -> Answer:
    """The right object, padded to at least the ordered size."""
    return replace(answer, body=padded(answer, order.size))


def gzip_bomb(answer: Answer, order: Spoil) -> Answer:
    """The right object, padded to the ordered size and compressed to next to nothing."""
    body = gzip.compress(padded(answer, order.size), compresslevel=6, mtime=0)
    return replace(answer, body=body, headers={**answer.headers, "Content-Encoding": "gzip"})


def deep(answer: Answer, order: Spoil) -> Answer:
    """The right object with lists nested to the ordered depth."""
    return replace(answer, body=added(answer, b'"nested": ' + b"[" * order.depth + b"]" * order.depth))


def duplicate_keys(answer: Answer, order: Spoil) -> Answer:
    """The right object whose id is given twice, with two values."""
    return replace(answer, body=added(answer, b'"id": "pay_of_somebody_else"'))


def padded(answer: Answer, size: int) -> bytes:
    """The object with a long member."""
    return added(answer, b'"padding": "' + b"x" * size + b'"')


def added(answer: Answer, member: bytes) -> bytes:
    """The object with one more member in front, as text, so that the rest stays as it was."""
    rest = answer.body[1:]
    return b"{" + member + (b"}" if rest == b"}" else b", " + rest)


def encoded(value: object) -> bytes:
    """JSON bytes."""
    return json.dumps(value, ensure_ascii=False).encode()


KINDS: dict[str, Callable[[Answer, Spoil], Answer]] = {
    "html": html,
    "truncated": truncated,
    "empty": empty,
    "not_json": not_json,
    "wrong_shape": wrong_shape,
    "other_object": other_object,
    "huge": huge,
    "gzip_bomb": gzip_bomb,
    "deep": deep,
    "duplicate_keys": duplicate_keys,
}
