"""Case P23 at the door: what could become another value on its way through a second parser is refused by name."""

import hashlib
import json
import subprocess
import sys
from typing import Any

import pytest

from operations.models import Intent, Operation
from tests.operations.agent import OPERATIONS, PAYLOAD, WISH, AgentClient, assert_problem

GOOD = json.dumps(WISH)


def with_value(text: str, field: str = "amount_minor") -> bytes:
    """The usual body with this raw JSON text as one value of the payload."""
    payload = ", ".join(
        f"{json.dumps(name)}: {text if name == field else json.dumps(value)}" for name, value in PAYLOAD.items()
    )
    return GOOD.replace(json.dumps(PAYLOAD), f"{{{payload}}}").encode()


def with_member(text: str) -> bytes:
    """The usual body with one more raw member in the payload."""
    return GOOD.replace('"payload": {', f'"payload": {{{text}, ').encode()


AMOUNT = "payload.amount_minor"
REFUSED: dict[str, tuple[bytes, str, str]] = {
    "1.0": (with_value("1.0"), "float", AMOUNT),
    "minus zero": (with_value("-0"), "float", AMOUNT),
    "exponent": (with_value("1e2"), "float", AMOUNT),
    "NaN": (with_value("NaN"), "float", AMOUNT),
    "Infinity": (with_value("Infinity"), "float", AMOUNT),
    "minus Infinity": (with_value("-Infinity"), "float", AMOUNT),
    "2^53": (with_value("9007199254740992"), "integer_out_of_range", AMOUNT),
    "2^53+1": (with_value("9007199254740993"), "integer_out_of_range", AMOUNT),
    "thirty digits": (with_value("1" * 30), "integer_out_of_range", AMOUNT),
    "amount as text": (with_value('"10.00"'), "invalid_payload", AMOUNT),
    "true for 1": (with_value("true"), "invalid_payload", AMOUNT),
    "null": (with_value("null"), "invalid_payload", AMOUNT),
    "duplicate key": (with_member('"amount_minor": 1'), "duplicate_key", AMOUNT),
    "duplicate key outside": (GOOD.replace("{", '{"action": "x", ', 1).encode(), "duplicate_key", "action"),
    "empty key": (with_member('"": 1'), "invalid_payload", "payload."),
    "emoji key": (with_member('"😀": 1'), "invalid_payload", "payload.😀"),
    "keys of two orders": (with_member('"\\ufb33": 1, "\\ud83d\\ude00": 2'), "invalid_payload", "payload.\ufb33"),
    "lone surrogate": (with_value('"\\ud800"', "recipient_name"), "lone_surrogate", "payload.recipient_name"),
    "lone surrogate in a key": (with_member('"\\udc00": 1'), "lone_surrogate", "payload.\\udc00"),
    "NUL": (with_value('"a\\u0000b"', "recipient_name"), "nul_character", "payload.recipient_name"),
    "float outside": (GOOD.replace("{", '{"separate_effect": 1.0, ', 1).encode(), "float", "separate_effect"),
    "not NFC": (with_value('"Cafe\\u0301"', "recipient_name"), "sensitive_or_unsafe_text", "payload.recipient_name"),
}  # fmt: skip
WHOLE_BODY: dict[str, tuple[bytes, int, str]] = {
    "nothing": (b" ", 422, "not_json"),
    "no JSON": (b"{client_reference: 1}", 422, "not_json"),
    "two documents": (b"{}{}", 422, "not_json"),
    "a list": (b"[]", 422, "not_an_object"),
    "a text": (b'"x"', 422, "not_an_object"),
    "not UTF-8": (GOOD.encode().replace(b"Vendor", b"V\xe9ndor"), 422, "not_utf8"),
    "UTF-16": (GOOD.encode("utf-16-le"), 422, "not_json"),
    "byte order mark": (b"\xef\xbb\xbf" + GOOD.encode(), 422, "byte_order_mark"),
    "oversize": (GOOD.encode() + b" " * 70_000, 413, "too_large"),
    "far oversize": (GOOD.encode() + b" " * 300_000, 413, "too_large"),
}


@pytest.mark.parametrize(("body", "code", "field"), REFUSED.values(), ids=REFUSED.keys())
def test_p23_a_value_that_could_change_is_refused_with_its_field(
    agent: AgentClient, body: bytes, code: str, field: str
) -> None:
    assert_problem(agent.post(OPERATIONS, body), 422, code, field)
    assert not Intent.objects.exists() and not Operation.objects.exists()


@pytest.mark.parametrize(("body", "status", "code"), WHOLE_BODY.values(), ids=WHOLE_BODY.keys())
def test_a_body_that_is_no_strict_json_is_refused_whole(
    agent: AgentClient, body: bytes, status: int, code: str
) -> None:
    assert_problem(agent.post(OPERATIONS, body), status, code, "")
    assert not Intent.objects.exists()


@pytest.mark.parametrize("depth", [200, 20_000])
def test_deep_nesting_is_refused(agent: AgentClient, depth: int) -> None:
    body = with_member('"x": ' + "[" * depth + "]" * depth)
    answer = json.loads(agent.post(OPERATIONS, body).content)
    assert answer["code"] == "too_deep"
    assert not Intent.objects.exists()


@pytest.mark.parametrize(
    "content_type",
    ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/json; charset=utf-16"],
)
def test_another_content_type_is_refused(agent: AgentClient, content_type: str) -> None:
    assert_problem(agent.post(OPERATIONS, GOOD.encode(), content_type), 415, "unsupported_media_type")
    assert not Intent.objects.exists()


ACCEPTED: dict[str, dict[str, Any]] = {
    "plain": {},
    "largest amount": {"amount_minor": 10**15},
    "not ASCII": {"recipient_name": "\u0422\u041e\u041e «Ромашка» 😀 é ﬆ", "description": "5 €"},
    "escapes": {"recipient_name": 'quote " and \\ and /'},
    "long digits as text": {"invoice": "9007199254740993"},
}
FRESH = """
import hashlib, json, sys, rfc8785
raw = sys.stdin.buffer.read()
assert rfc8785.dumps(json.loads(raw)) == raw, "not canonical"
print("sha256:" + hashlib.sha256(raw).hexdigest())
"""


@pytest.mark.parametrize("payload", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_p23_what_is_accepted_has_one_hash_everywhere(agent: AgentClient, payload: dict[str, Any]) -> None:
    prepared = agent.prepare(payload=payload).json()
    stored = bytes(Intent.objects.get().canonical)
    served = agent.read(prepared["operation_id"]).json()["canonical"].encode()
    fresh = subprocess.run([sys.executable, "-c", FRESH], input=served, capture_output=True, check=True)
    assert {
        prepared["payload_hash"],
        "sha256:" + hashlib.sha256(stored).hexdigest(),
        fresh.stdout.decode().strip(),
        Intent.objects.get().payload_hash,
    } == {prepared["payload_hash"]}
    assert json.loads(served)["payload"] == prepared["payload"] == {**PAYLOAD, **payload}


def test_the_order_and_spelling_of_the_request_do_not_matter(agent: AgentClient) -> None:
    first = agent.prepare()
    turned = json.dumps(dict(reversed(WISH.items())), indent=3).replace("K", "\\u004b")
    again = agent.post(OPERATIONS, turned.encode(), "application/json; charset=UTF-8")
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json() == first.json()
