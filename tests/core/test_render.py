"""From approved values to one exact request, and nothing a value holds can leave its place."""

import json
from dataclasses import replace
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operations.core.contract import Contract, Request, Template, Version
from operations.core.intent import Json, sha256_of
from operations.core.outcomes import Phase, Verdict, judge_look_up
from operations.core.render import Unrenderable, expected, fill, read_request, write_request
from operations.providers.generic.adapter import HttpReader
from operations.providers.ports import Limits
from tests.core.samples import OPERATION_ID, deal_values, deals, payment_values, payments

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


def asking(request: Request) -> Contract:
    return replace(payments(), request=request)


def test_a_payment_becomes_these_bytes() -> None:
    request = write_request(payments(), payment_values())
    assert (request.method, request.path) == ("POST", "/v1/payments")
    assert request.headers == (("Content-Type", "application/json"), ("Idempotency-Key", OPERATION_ID))
    assert request.body == (
        b'{"amount":1250000,"currency":"KZT","invoice":"INV-1",'
        b'"recipient":"vendor_77","reference":"op_01JNGR0000ABCDEFGHJKMNPQRS"}'
    )


def test_the_digest_covers_everything_that_is_sent() -> None:
    request = write_request(payments(), payment_values())
    assert request.digest == sha256_of(
        b"POST\n/v1/payments\nContent-Type: application/json\nIdempotency-Key: "
        + OPERATION_ID.encode()
        + b"\n\n"
        + request.body
    )
    changed = [
        replace(request, method="PUT"),
        replace(request, path="/v1/payment"),
        replace(request, headers=request.headers[:1]),
        replace(request, body=request.body + b" "),
    ]
    assert len({request.digest, *(other.digest for other in changed)}) == 5


def test_a_change_of_a_record_names_it_in_the_path_and_its_version_in_a_header() -> None:
    request = write_request(deals(), deal_values())
    assert (request.method, request.path) == ("PATCH", "/v1/deals/deal_442")
    assert ("If-Match", '"19"') in request.headers
    assert json.loads(request.body) == {"stage": "contract"}


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ("{payload.amount_minor}", 1250000),
        ("{payload.amount_minor} minor", "1250000 minor"),
        ("{payload.memo?}", None),
        ("plain", "plain"),
        (7, 7),
        (True, True),
        (None, None),
        ({"a": "{payload.memo?}", "b": ["{payload.memo?}", "{payload.currency}", 1]}, {"b": ["KZT", 1]}),
        ("{payload.flag} {payload.list}", 'true ["a"]'),
        ("{payload.no}", False),
        ("n={payload.no}", "n=false"),
        ("{Payload.x} {}", "{Payload.x} {}"),
    ],
)
def test_a_template_is_filled_from_the_values(template: Template, filled: Json) -> None:
    values = payment_values()
    payload = values["payload"]
    assert isinstance(payload, dict)
    values["payload"] = {**payload, "flag": True, "no": False, "list": ["a"]}
    body = write_request(asking(Request(method="POST", path="/", body={"x": template})), values).body
    assert json.loads(body) == ({} if template == "{payload.memo?}" else {"x": filled})


@pytest.mark.parametrize("template", ["{payload.memo}", "memo: {payload.memo}", "memo: {payload.memo?}"])
def test_a_needed_value_that_is_missing_is_refused(template: str) -> None:
    with pytest.raises(Unrenderable, match=r"payload\.memo"):
        fill(template, payment_values())


def test_what_recognises_the_object_cannot_be_missing() -> None:
    shape = payments().object
    for broken in (
        replace(shape, ours={"memo": "{payload.memo?}"}),
        replace(shape, version=Version(field="version", base="{payload.memo?}")),
    ):
        with pytest.raises(Unrenderable, match="recognises"):
            expected(replace(payments(), object=broken), payment_values())


def test_values_to_compare_follow_the_intent_and_skip_what_it_does_not_hold() -> None:
    wanted = expected(deals(), deal_values())
    assert (wanted.ours, wanted.equal, wanted.base_version) == ({"id": "deal_442"}, {"stage": "contract"}, 19)
    assert expected(payments(), payment_values()).base_version is None


@given(TEXT.filter(lambda text: text not in (".", "..")))
def test_no_value_leaves_its_place_in_a_path(value: str) -> None:
    values = payment_values() | {"external_id": value}
    path = read_request(payments().look_ups[0], values).path
    assert urlsplit("http://host" + path)[2:] == (path, "", "")
    assert path.startswith("/v1/payments/") and path.count("/") == 3
    assert unquote(path.rpartition("/")[2]) == value


@pytest.mark.parametrize("value", ["", ".", ".."])
def test_a_value_that_would_name_another_path_is_refused(value: str) -> None:
    with pytest.raises(Unrenderable):
        read_request(payments().look_ups[0], payment_values() | {"external_id": value})
    with pytest.raises(Unrenderable):
        values = deal_values() | {"payload": {"deal_id": value, "expected_version": 1}}
        write_request(deals(), values)


@given(TEXT)
def test_no_value_leaves_its_place_in_a_query_or_a_form(value: str) -> None:
    values = payment_values() | {"operation_id": value}
    path = read_request(payments().look_ups[1], values).path
    assert parse_qsl(urlsplit("http://host" + path).query, keep_blank_values=True) == [("reference", value)]
    form = asking(Request(method="POST", path="/", encoding="form", body={"a": "{operation_id}", "b": True, "c": 3}))
    request = write_request(form, values)
    assert ("Content-Type", "application/x-www-form-urlencoded") in request.headers
    assert parse_qsl(request.body.decode(), keep_blank_values=True) == [("a", value), ("b", "true"), ("c", "3")]


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "caf\u00e9", "\x7f", "a\x00b", "tab\there"])
def test_a_header_holds_plain_printable_text_only(value: str) -> None:
    contract = asking(Request(method="POST", path="/", headers={"X-Who": "{operation_id}"}))
    assert ("X-Who", "plain text") in write_request(contract, {"operation_id": "plain text"}).headers
    with pytest.raises(Unrenderable, match="header"):
        write_request(contract, {"operation_id": value})


def test_a_delete_without_fields_has_no_body() -> None:
    contract = asking(Request(method="DELETE", path="/v1/payments/{external_id}"))
    assert write_request(contract, payment_values()).body == b""
    with_field = asking(Request(method="DELETE", path="/x", body={"why": "mistake"}))
    assert write_request(with_field, payment_values()).body == b'{"why":"mistake"}'


def test_the_same_values_give_the_same_bytes_in_any_order() -> None:
    values = payment_values()
    turned: dict[str, Json] = dict(reversed(values.items()))
    assert write_request(payments(), values) == write_request(payments(), turned)


def test_a_read_has_no_body_and_no_query_unless_its_way_says_so() -> None:
    by_id, by_reference = (read_request(way, payment_values()) for way in payments().look_ups)
    assert (by_id.method, by_id.path, by_id.body) == ("GET", "/v1/payments/pay_1", b"")
    assert by_reference.path == f"/v1/payments?reference={OPERATION_ID}"


def test_a_read_that_cannot_be_rendered_is_a_look_up_that_failed_and_nothing_is_sent() -> None:
    way, limits = payments().look_ups[0], Limits(connect=1, read=1, total=1)
    reader = HttpReader("http://127.0.0.1:1", "no-secret", payments())
    answer = reader.look_up(way, payment_values() | {"external_id": ".."}, limits=limits)
    assert (answer.phase, answer.status) == (Phase.CONNECTING, None)
    finding = judge_look_up(payments(), way, expected(payments(), payment_values()), answer)
    assert finding.verdict is Verdict.UNREADABLE
