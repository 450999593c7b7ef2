"""From approved bytes and a contract to one exact request. Nothing else goes in, so nothing else comes out.

`{payload.amount_minor}` alone keeps its type; inside a longer text it becomes text. `{payload.memo?}` may be absent,
and then the field is left out. The result is the same bytes in every process, which is what makes a repeat a repeat.
"""

import json
import re
from dataclasses import dataclass
from typing import Final, cast
from urllib.parse import quote, urlencode

from operations.core.contract import MISSING, Contract, LookUpWay, Missing, Template, dig
from operations.core.intent import Json, sha256_of

WHOLE: Final = re.compile(r"^\{([a-z_][a-z0-9_.]*)(\??)\}$")
PART: Final = re.compile(r"\{([a-z_][a-z0-9_.]*)(\??)\}")


class Unrenderable(ValueError):
    """The contract asks for a value that the intent does not hold."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RenderedRequest:
    """One request without its credential. `digest` covers everything that is sent except the credential."""

    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def digest(self) -> str:
        head = "\n".join((self.method, self.path, *(f"{name}: {value}" for name, value in self.headers)))
        return sha256_of(head.encode() + b"\n\n" + self.body)


@dataclass(frozen=True, kw_only=True, slots=True)
class Expected:
    """What an object at the provider must show to be this operation's, in the provider's own fields."""

    ours: dict[str, Json]
    equal: dict[str, Json]
    base_version: Json = None


def write_request(contract: Contract, values: dict[str, Json]) -> RenderedRequest:
    """The write an intent stands for. `values` is the intent's document plus `idempotency_key`."""
    body = _fill_object(contract.request.body, values)
    form = contract.request.encoding == "form"
    encoded = urlencode([(key, _as_text(item)) for key, item in body.items()]) if form else _compact(body)
    headers = {
        "Content-Type": "application/x-www-form-urlencoded" if form else "application/json",
        **{name: _header(template, values) for name, template in contract.request.headers.items()},
    }
    return RenderedRequest(
        method=contract.request.method,
        path=_path(contract.request.path, values),
        headers=tuple(headers.items()),
        body=b"" if contract.request.method == "DELETE" and not body else encoded.encode(),
    )


def read_request(way: LookUpWay, values: dict[str, Json]) -> RenderedRequest:
    """The read that one look-up way stands for; never has a body."""
    query = urlencode([(name, text(template, values)) for name, template in way.query.items()])
    path = _path(way.path, values)
    return RenderedRequest(method="GET", path=f"{path}?{query}" if query else path, headers=(), body=b"")


def expected(contract: Contract, values: dict[str, Json]) -> Expected:
    """The values by which an object is recognised and compared."""
    version = contract.object.version
    return Expected(
        ours={name: _needed(template, values) for name, template in contract.object.ours.items()},
        equal=_fill_object(contract.object.equal, values),
        base_version=_needed(version.base, values) if version else None,
    )


def fill(template: Template, values: dict[str, Json]) -> Json | Missing:
    """The template with its values in place; MISSING for an optional value that is not there."""
    match template:
        case str():
            whole = WHOLE.match(template)
            if whole is None:
                return text(template, values)
            return _value(whole[1], bool(whole[2]), values)
        case dict():
            return _fill_object(template, values)
        case list():
            return [item for item in (fill(entry, values) for entry in template) if not isinstance(item, Missing)]
        case _:
            return template


def text(template: str, values: dict[str, Json]) -> str:
    """The template as text, each value in its place."""
    return PART.sub(lambda found: _as_text(_value(found[1], False, values)), template)


def _path(template: str, values: dict[str, Json]) -> str:
    """The template as a path. Each value is percent-encoded, and none may be empty or make a step upwards, because
    `/v1/payments/` and `/v1/payments/..` name something else than one payment."""

    def put(found: re.Match[str]) -> str:
        value = _as_text(_value(found[1], False, values))
        if not value:
            raise Unrenderable(f"The path of the contract needs {found[1]}, which is empty.")
        return quote(value, safe="")

    path = PART.sub(put, template)
    if any(step in (".", "..") for step in path.split("/")):
        raise Unrenderable("A value would lead the path to another place.")
    return path


def _header(template: str, values: dict[str, Json]) -> str:
    """The template as a header's value; what a header cannot carry is refused before anybody approves it."""
    value = text(template, values)
    if not (value.isascii() and value.isprintable()):
        raise Unrenderable("A value in a header would not be plain printable ASCII.")
    return value


def _fill_object(template: dict[str, Template], values: dict[str, Json]) -> dict[str, Json]:
    """Without the fields whose optional value is not there."""
    filled = {key: fill(item, values) for key, item in template.items()}
    return {key: item for key, item in filled.items() if not isinstance(item, Missing)}


def _needed(template: Template, values: dict[str, Json]) -> Json:
    """What tells our object from others cannot be optional."""
    value = fill(template, values)
    if isinstance(value, Missing):
        raise Unrenderable(f"The contract recognises its object by {template}, which the intent does not hold.")
    return value


def _value(path: str, optional: bool, values: dict[str, Json]) -> Json | Missing:
    value = dig(values, path)
    if value is MISSING and not optional:
        raise Unrenderable(f"The contract needs {path}, which the intent does not hold.")
    return cast("Json | Missing", value)


def _as_text(value: Json | Missing) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else _compact(value)


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
