"""From approved bytes and a contract to one exact request. Nothing else goes in, so nothing else comes out.

`{payload.amount_minor}` alone keeps its type; inside a longer text it becomes text. `{payload.memo?}` may be absent,
and then the field is left out. The result is the same bytes in every process, which is what makes a repeat a repeat.
"""

import json
import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urlencode

from operations.core.contract import MISSING, Contract, LookUpWay, Template, dig
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
    body = {key: item for key, item in _fill_object(contract.request.body, values).items() if item is not MISSING}
    form = contract.request.encoding == "form"
    encoded = urlencode([(key, _as_text(item)) for key, item in body.items()]) if form else _compact(body)
    headers = {
        "Content-Type": "application/x-www-form-urlencoded" if form else "application/json",
        **{name: text(template, values) for name, template in contract.request.headers.items()},
    }
    return RenderedRequest(
        method=contract.request.method,
        path=text(contract.request.path, values, path=True),
        headers=tuple(headers.items()),
        body=b"" if contract.request.method == "DELETE" and not body else encoded.encode(),
    )


def read_request(way: LookUpWay, values: dict[str, Json]) -> RenderedRequest:
    """The read that one look-up way stands for; never has a body."""
    query = urlencode([(name, text(template, values)) for name, template in way.query.items()])
    path = text(way.path, values, path=True)
    return RenderedRequest(method="GET", path=f"{path}?{query}" if query else path, headers=(), body=b"")


def expected(contract: Contract, values: dict[str, Json]) -> Expected:
    """The values by which an object is recognised and compared."""
    version = contract.object.version
    return Expected(
        ours={name: fill(template, values) for name, template in contract.object.ours.items()},
        equal={
            name: value for name, value in _fill_object(contract.object.equal, values).items() if value is not MISSING
        },
        base_version=fill(version.base, values) if version else None,
    )


def fill(template: Template, values: dict[str, Json]) -> Json:
    """The template with its values in place; raises `Unrenderable` where a needed value is missing."""
    match template:
        case str():
            whole = WHOLE.match(template)
            if whole is None:
                return text(template, values)
            return _value(whole[1], bool(whole[2]), values)
        case dict():
            return {key: item for key, item in _fill_object(template, values).items() if item is not MISSING}
        case list():
            return [item for item in (fill(entry, values) for entry in template) if item is not MISSING]
        case _:
            return template


def text(template: str, values: dict[str, Json], *, path: bool = False) -> str:
    """The template as text. In a path each value is percent-encoded, so no value can leave its place."""

    def put(found: re.Match[str]) -> str:
        value = _as_text(_value(found[1], False, values))
        return quote(value, safe="") if path else value

    return PART.sub(put, template)


def _fill_object(template: dict[str, Template], values: dict[str, Json]) -> dict[str, Json]:
    return {key: fill(item, values) for key, item in template.items()}


def _value(path: str, optional: bool, values: dict[str, Json]) -> Json:
    value = dig(values, path)
    if value is MISSING and not optional:
        raise Unrenderable(f"The contract needs {path}, which the intent does not hold.")
    return value  # type: ignore[return-value]  # MISSING passes through and the caller drops the field


def _as_text(value: Json) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else _compact(value)


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
