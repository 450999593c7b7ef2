"""The exact bytes: strict JSON in, canonical JSON out, one hash."""

import hashlib
import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from operations.core.intent import (
    CROCKFORD,
    MAX_BYTES,
    MAX_DEPTH,
    MAX_INTEGER,
    Json,
    Refused,
    canonical,
    idempotency_key,
    parse_strict,
    sha256_of,
    short_code,
    uuid_form,
)
from tests.core.samples import OPERATION_ID

SAFE_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=12)
SAFE = st.recursive(
    st.none() | st.booleans() | st.integers(-MAX_INTEGER, MAX_INTEGER) | SAFE_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(SAFE_TEXT, inner, max_size=4),
    max_leaves=12,
)
DOCUMENTS = st.dictionaries(SAFE_TEXT, SAFE, max_size=5)


def refusal(raw: bytes, **options: int) -> tuple[str, str]:
    with pytest.raises(Refused) as refused:
        parse_strict(raw, **options)
    assert refused.value.detail.endswith(".") and str(refused.value) == refused.value.detail
    refused.value.field.encode()  # can be written into an answer
    return refused.value.code, refused.value.field


# RFC 8785: section 3.2.2 without its floats, 3.2.3 (sorting by UTF-16 code units) and the literals of Appendix B.
VECTORS: list[tuple[dict[str, Json], bytes]] = [
    ({}, b"{}"),
    (
        {"string": '\u20ac$\u000f\nA\'B"\\\\"/', "literals": [None, True, False], "numbers": [0, -1, 56]},
        b'{"literals":[null,true,false],"numbers":[0,-1,56],"string":"\xe2\x82\xac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    ),
    (
        {
            "\u20ac": "Euro Sign",
            "\r": "Carriage Return",
            "\ufb33": "Hebrew Letter Dalet With Dagesh",
            "1": "One",
            "\U0001f600": "Emoji: Grinning Face",
            "\u0080": "Control",
            "\u00f6": "Latin Small Letter O With Diaeresis",
        },
        '{"\\r":"Carriage Return","1":"One","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis",'
        '"\u20ac":"Euro Sign","\U0001f600":"Emoji: Grinning Face",'
        '"\ufb33":"Hebrew Letter Dalet With Dagesh"}'.encode(),
    ),
    ({"n": MAX_INTEGER, "m": -MAX_INTEGER}, b'{"m":-9007199254740991,"n":9007199254740991}'),
    ({"b": "\b\t\n\f\r\x01\x1f\x7f"}, b'{"b":"\\b\\t\\n\\f\\r\\u0001\\u001f\x7f"}'),
    ({"deep": {"b": [{"z": 1, "a": 2}], "a": {}}}, b'{"deep":{"a":{},"b":[{"a":2,"z":1}]}}'),
]


@pytest.mark.parametrize(("document", "raw"), VECTORS)
def test_the_canonical_form_is_that_of_the_standard(document: dict[str, Json], raw: bytes) -> None:
    assert canonical(document) == raw
    assert parse_strict(raw) == document


@given(DOCUMENTS)
def test_what_is_canonical_reads_back_as_itself(document: dict[str, Json]) -> None:
    raw = canonical(document)
    assert parse_strict(raw) == document
    assert canonical(parse_strict(raw)) == raw


@given(DOCUMENTS)
def test_neither_order_nor_space_changes_the_form(document: dict[str, Json]) -> None:
    loose = json.dumps(dict(reversed(document.items())), indent=2, ensure_ascii=True).encode()
    assert canonical(parse_strict(loose)) == canonical(document)


@given(DOCUMENTS, DOCUMENTS)
def test_other_documents_have_other_bytes(one: dict[str, Json], other: dict[str, Json]) -> None:
    assume(json.dumps(one, sort_keys=True) != json.dumps(other, sort_keys=True))
    assert canonical(one) != canonical(other)
    assert sha256_of(canonical(one)) != sha256_of(canonical(other))


def test_every_single_bit_changes_the_hash() -> None:
    raw = canonical({"amount_minor": 1250000, "recipient": "vendor_77"})
    hashes = {sha256_of(raw)}
    for bit in range(len(raw) * 8):
        changed = bytearray(raw)
        changed[bit // 8] ^= 1 << bit % 8
        hashes.add(sha256_of(bytes(changed)))
    assert len(hashes) == len(raw) * 8 + 1


def test_the_digest_has_one_spelling() -> None:
    assert sha256_of(b"x") == "sha256:" + hashlib.sha256(b"x").hexdigest()


@pytest.mark.parametrize(
    ("document", "code", "field"),
    [
        ({"a": 1.0}, "float", "a"),
        ({"a": {"b": [0, float("nan")]}}, "float", "a.b.1"),
        ({"a": (1, 2.5)}, "float", "a.1"),
        ({"a": 2**53}, "no_canonical_form", ""),
        ({"a": "\ud800"}, "no_canonical_form", ""),
        ({"\ud800": 1}, "no_canonical_form", ""),
    ],
)
def test_values_without_a_canonical_form_are_refused(document: Any, code: str, field: str) -> None:
    with pytest.raises(Refused) as refused:
        canonical(document)
    assert (refused.value.code, refused.value.field) == (code, field)


@pytest.mark.parametrize(
    ("raw", "code", "field"),
    [
        (b'{"a":1.5}', "float", "a"),
        (b'{"a":1e3}', "float", "a"),
        (b'{"a":1.0}', "float", "a"),
        (b'{"a":-0}', "float", "a"),
        (b'{"a":NaN}', "float", "a"),
        (b'{"a":{"b":[1,Infinity]}}', "float", "a.b.1"),
        (b'{"a":-Infinity}', "float", "a"),
        (b'{"a":9007199254740992}', "integer_out_of_range", "a"),
        (b'{"a":-9007199254740992}', "integer_out_of_range", "a"),
        (b'{"a":[0,' + b"9" * 6000 + b"]}", "integer_out_of_range", "a.1"),
        (b'{"a":1,"b":2,"a":3}', "duplicate_key", "a"),
        (b'{"p":{"a":1,"a":1}}', "duplicate_key", "p.a"),
        (b'{"p":[{"a":1},{"x":0,"a":1,"\\u0061":2}]}', "duplicate_key", "p.1.a"),
        (b'{"\\ud800":1,"\\ud800":2}', "lone_surrogate", "\\ud800"),
        (b'{"a":"\\ud800"}', "lone_surrogate", "a"),
        (b'{"a":["x","\\udc00\\ud800"]}', "lone_surrogate", "a.1"),
        (b'{"\\udfff":1}', "lone_surrogate", "\\udfff"),
        (b'{"a":"x\\u0000y"}', "nul_character", "a"),
        (b'{"a\\u0000":1}', "nul_character", "a\\u0000"),
        (b"[1]", "not_an_object", ""),
        (b'"a"', "not_an_object", ""),
        (b"null", "not_an_object", ""),
        (b"1.5", "not_an_object", ""),
        (b"", "not_json", ""),
        (b"{", "not_json", ""),
        (b"{}{}", "not_json", ""),
        (b'{"a":1,}', "not_json", ""),
        (b"{'a':1}", "not_json", ""),
        (b'{"a":01}', "not_json", ""),
        (b'{"a":"line\nbreak"}', "not_json", ""),
        (b'{"a":"\xff"}', "not_utf8", ""),
        ('{"a":"x"}'.encode("utf-16"), "not_utf8", ""),
        (b'{"a":"\xed\xa0\x80"}', "not_utf8", ""),
        (b"\xef\xbb\xbf{}", "byte_order_mark", ""),
    ],
)
def test_what_could_become_another_value_is_refused_with_its_field(raw: bytes, code: str, field: str) -> None:
    assert refusal(raw) == (code, field)


def test_a_whole_pair_of_surrogates_is_one_character() -> None:
    assert parse_strict(b'{"a":"\\ud83d\\ude00"}') == {"a": "\U0001f600"}


def test_a_body_may_be_exactly_as_large_as_allowed() -> None:
    frame = len(b'{"a":""}')
    assert parse_strict(b'{"a":"' + b"x" * (MAX_BYTES - frame) + b'"}')
    assert refusal(b'{"a":"' + b"x" * (MAX_BYTES - frame + 1) + b'"}') == ("too_large", "")
    assert refusal(b'{"a":1}', max_bytes=6) == ("too_large", "")


def test_nesting_has_a_bound() -> None:
    def nested(levels: int) -> bytes:
        return b'{"a":' * levels + b"1" + b"}" * levels

    assert parse_strict(nested(MAX_DEPTH - 1))
    assert refusal(nested(MAX_DEPTH))[0] == "too_deep"
    assert refusal(b'{"a":' + b"[" * 30_000 + b"]" * 30_000 + b"}")[0] == "too_deep"


@pytest.mark.parametrize("value", [0, -1, MAX_INTEGER, -MAX_INTEGER, True, None, "1.5", [], {}])
def test_plain_values_pass(value: Json) -> None:
    assert parse_strict(json.dumps({"a": value}).encode()) == {"a": value}


@given(st.binary(max_size=60))
def test_no_bytes_bring_another_error_than_a_refusal(raw: bytes) -> None:
    try:
        document = parse_strict(raw)
    except Refused as refused:
        refused.field.encode()
    else:
        assert parse_strict(canonical(document)) == document


@given(st.binary(min_size=32, max_size=32))
def test_the_short_code_is_sixty_bits_of_the_hash(digest: bytes) -> None:
    code = short_code("sha256:" + digest.hex())
    groups = code.split("-")
    assert [len(group) for group in groups] == [2] * 6
    number = 0
    for character in code.replace("-", ""):
        number = number * 32 + CROCKFORD.index(character)
    assert number == int.from_bytes(digest[:8]) >> 4


def test_one_key_per_operation_in_the_form_the_contract_asks_for() -> None:
    assert idempotency_key(OPERATION_ID, "operation_id") == OPERATION_ID
    key = idempotency_key(OPERATION_ID, "uuid")
    assert key == uuid_form(OPERATION_ID) == "01956180-0000-52d8-d73e-1194e95b5f19"


@given(st.integers(0, 2**128 - 1), st.integers(0, 2**128 - 1))
def test_two_operations_never_share_a_uuid(one: int, other: int) -> None:
    def crockford(number: int) -> str:
        return "op_" + "".join(CROCKFORD[number >> shift & 31] for shift in range(125, -1, -5))

    assert int(uuid_form(crockford(one)).replace("-", ""), 16) == one
    assert (uuid_form(crockford(one)) == uuid_form(crockford(other))) == (one == other)
