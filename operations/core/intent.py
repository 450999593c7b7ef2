"""The exact bytes a person approves: strict JSON in, canonical JSON (RFC 8785) out, sha256 over those bytes.

The bytes are stored and served as they are; nobody ever rebuilds them from a parsed copy. Floats, exponents, NaN,
integers outside the safe range, duplicate keys and lone surrogates are refused with the field's name, because each
of them can become another value on its way through a second parser (case P23).
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final, NoReturn

import rfc8785

MAX_BYTES: Final = 64 * 1024
MAX_DEPTH: Final = 32
MAX_INTEGER: Final = 2**53 - 1
CROCKFORD: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

type Json = bool | int | str | list[Json] | dict[str, Json] | None


class Refused(ValueError):
    """The input cannot become an intent. `field` is a dotted path ("" is the whole body); `code` is stable."""

    def __init__(self, code: str, field: str, detail: str) -> None:
        super().__init__(detail)
        self.code, self.field, self.detail = code, field, detail


def parse_strict(raw: bytes, *, max_bytes: int = MAX_BYTES) -> dict[str, Json]:
    """The one reading of a request body. Promises plain strings, safe integers, unique keys; raises `Refused`."""
    if len(raw) > max_bytes:
        raise Refused("too_large", "", f"The body has {len(raw)} bytes; at most {max_bytes} are accepted.")
    if raw.startswith(b"\xef\xbb\xbf"):
        raise Refused("byte_order_mark", "", "The body begins with a byte order mark; send plain UTF-8.")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused("not_utf8", "", f"The body is not UTF-8 at byte {error.start}.") from None
    try:
        value = json.loads(
            text,
            object_pairs_hook=_unique,
            parse_float=_no_float,
            parse_constant=_no_float,
            parse_int=_safe_integer,
        )
    except json.JSONDecodeError as error:
        raise Refused("not_json", "", f"The body is not JSON at character {error.pos}: {error.msg}.") from None
    except RecursionError:
        raise Refused("too_deep", "", f"The body is nested deeper than {MAX_DEPTH} levels.") from None
    if isinstance(value, dict | _Duplicate):
        _walk(value, "", 1)
    if not isinstance(value, dict):
        raise Refused("not_an_object", "", "The body must be a JSON object.")
    return value


class _Number:
    """A number that JSON can write and an intent cannot hold, kept until its field's name is known."""

    def __init__(self, text: str, code: str) -> None:
        self.text, self.code = text, code


class _Duplicate:
    """Stands for an object that named one key twice."""

    def __init__(self, key: str) -> None:
        self.key = key


def _no_float(text: str) -> _Number:
    return _Number(text, "float")


def _safe_integer(text: str) -> int | _Number:
    if text == "-0" or len(text) > 17:
        return _Number(text, "float" if text == "-0" else "integer_out_of_range")
    number = int(text)
    return number if abs(number) <= MAX_INTEGER else _Number(text, "integer_out_of_range")


def _unique(pairs: list[tuple[str, Any]]) -> Any:
    seen = dict(pairs)
    if len(seen) == len(pairs):
        return seen
    keys = [key for key, _ in pairs]
    return _Duplicate(next(key for index, key in enumerate(keys) if key in keys[:index]))


def _walk(value: Any, path: str, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise Refused("too_deep", path, f"The body is nested deeper than {MAX_DEPTH} levels.")
    match value:
        case dict():
            for key, item in value.items():
                inner = f"{path}.{key}" if path else key
                _text(key, inner)
                _walk(item, inner, depth + 1)
        case list():
            for index, item in enumerate(value):
                _walk(item, f"{path}.{index}" if path else str(index), depth + 1)
        case str():
            _text(value, path)
        case _Number():
            _refuse_number(value, path)
        case _Duplicate():
            field = f"{path}.{value.key}" if path else value.key
            _text(value.key, field)
            raise Refused("duplicate_key", field, "This key stands twice in one object.")
        case _:
            return


def _refuse_number(number: _Number, path: str) -> NoReturn:
    if number.code == "float":
        raise Refused("float", path, "Numbers must be plain integers; write decimals as strings.")
    raise Refused("integer_out_of_range", path, "Integers must lie between -(2^53-1) and 2^53-1; use a string.")


def _text(text: str, path: str) -> None:
    if any("\ud800" <= character <= "\udfff" for character in text):
        safe = path.encode("ascii", "backslashreplace").decode()
        raise Refused("lone_surrogate", safe, "The text holds half a surrogate pair, which no UTF-8 can carry.")
    if "\x00" in text:
        raise Refused("nul_character", path.replace("\x00", "\\u0000"), "The text holds a NUL character.")


def canonical(document: Mapping[str, Json]) -> bytes:
    """RFC 8785 bytes of a document of safe values; raises `Refused` for anything that has no canonical form."""
    _reject_floats(document, "")
    try:
        return rfc8785.dumps(document)
    except (rfc8785.CanonicalizationError, UnicodeEncodeError) as error:
        raise Refused("no_canonical_form", "", f"No canonical form exists: {error}.") from None


def _reject_floats(value: object, path: str) -> None:
    if isinstance(value, float):
        raise Refused("float", path, "Numbers must be plain integers; write decimals as strings.")
    if isinstance(value, Mapping):
        for key, item in value.items():
            _reject_floats(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            _reject_floats(item, f"{path}.{index}")


def sha256_of(raw: bytes) -> str:
    """`sha256:` and 64 hexadecimal digits; the one spelling of a digest in this product."""
    return "sha256:" + hashlib.sha256(raw).hexdigest()


def short_code(payload_hash: str) -> str:
    """Six groups of two characters that a person can compare across two screens (60 bits of the hash)."""
    number = int(payload_hash.removeprefix("sha256:")[:15], 16)
    letters = [CROCKFORD[(number >> shift) & 31] for shift in range(55, -1, -5)]
    return "-".join(letters[index] + letters[index + 1] for index in range(0, 12, 2))


def uuid_form(operation_id: str) -> str:
    """The operation id's own 128 bits written as a UUID, for providers that demand one (Wise) or are narrow."""
    number = 0
    for character in operation_id.removeprefix("op_"):
        number = number * 32 + CROCKFORD.index(character)
    digits = f"{number:032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def idempotency_key(operation_id: str, form: str) -> str:
    """One key per operation, from nothing but its id (case P03). `form` is the contract's: operation_id or uuid."""
    return uuid_form(operation_id) if form == "uuid" else operation_id
