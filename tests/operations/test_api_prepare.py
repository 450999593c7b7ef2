"""prepare over HTTP: one reference is one operation, whoever asks how often; a refusal stores nothing."""

import json
from typing import Any

import pytest

from approvals.models import ApprovalRound
from operations.models import Intent, Operation
from tests.operations.agent import OPERATIONS, AgentClient, assert_problem, at_once
from tests.support.tenant import World

KEYS = {
    "operation_id", "client_reference", "action", "tenant_id", "connection", "payload", "data_version",
    "policy_version", "payload_hash", "canonical", "approval", "tool", "execution_status", "reason", "message",
    "external_id", "result", "attempts", "evidence", "replaces", "replaced_by",
}  # fmt: skip


def test_a_new_wish_is_stored_and_asked_about(agent: AgentClient, world: World) -> None:
    response = agent.prepare(data_version="ledger-7", rationale="Invoice 1 is due.")
    body = response.json()
    assert response.status_code == 201
    assert response["Location"] == f"{OPERATIONS}/{body['operation_id']}"
    assert set(body) == KEYS
    assert body["tenant_id"] == world.tenant.slug and body["tool"]["name"] == "payments.create"
    assert (body["execution_status"], body["approval"]["status"]) == ("not_started", "open")
    assert body["approval"]["url"].endswith(f"/{body['operation_id']}/")
    assert body["approval"]["expires_at"].endswith("Z")
    assert body["message"] == "Nothing has been sent; it waits for a person to approve it."
    assert json.loads(body["canonical"])["data_version"] == body["data_version"] == "ledger-7"
    assert "Invoice 1 is due." not in body["canonical"]
    assert "Set-Cookie" not in response and response["Cache-Control"] == "no-store"


def test_the_same_wish_again_is_the_same_operation(agent: AgentClient) -> None:
    first = agent.prepare()
    answers = [agent.prepare(rationale="said otherwise") for _ in range(4)]
    assert {answer.status_code for answer in answers} == {200}
    assert {answer.json()["operation_id"] for answer in [first, *answers]} == {first.json()["operation_id"]}
    assert Intent.objects.count() == Operation.objects.count() == ApprovalRound.objects.count() == 1


def test_fifty_at_once_are_one_operation(agent: AgentClient) -> None:
    answers = at_once(50, agent.prepare)
    assert sorted(answer.status_code for answer in answers) == [200] * 49 + [201]
    assert len({answer.json()["operation_id"] for answer in answers}) == 1
    assert Intent.objects.count() == ApprovalRound.objects.count() == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"payload": {"amount_minor": 1250001}},
        {"payload": {"recipient": "vendor_78"}},
        {"data_version": "2"},
        {"separate_effect": True},
    ],
    ids=["amount", "recipient", "data version", "separate effect"],
)
def test_the_same_reference_with_other_content_is_refused(agent: AgentClient, changes: dict[str, Any]) -> None:
    known = agent.prepared()
    refused = assert_problem(agent.prepare(**changes), 409, "reference_taken", "client_reference")
    assert refused["operation_id"] == known
    assert Intent.objects.count() == 1


def test_a_replaced_operation_points_both_ways_and_is_not_asked_about_any_more(agent: AgentClient) -> None:
    old = agent.prepared()
    new = agent.prepare(client_reference="invoice-1b", payload={"amount_minor": 900}, replaces=old).json()
    before = agent.read(old).json()
    assert (new["replaces"], before["replaced_by"]) == (old, new["operation_id"])
    assert (before["execution_status"], before["reason"]) == ("cancelled", "replaced")
    assert before["approval"]["status"] == "withdrawn"
    assert new["operation_id"] in before["message"] and before["message"].startswith("Nothing has been sent")


def test_what_does_not_exist_here_cannot_be_replaced(agent: AgentClient) -> None:
    unknown = "op_01ARZ3NDEKTSV4RRFFQ69G5FAV"
    assert_problem(agent.prepare(replaces=unknown), 422, "unknown_operation", "replaces")
    assert not Intent.objects.exists()


@pytest.mark.parametrize(
    ("changes", "code", "field"),
    [
        ({"client_reference": ""}, "invalid_field", "client_reference"),
        ({"client_reference": "x" * 201}, "invalid_field", "client_reference"),
        ({"client_reference": "two\nlines"}, "invalid_field", "client_reference"),
        ({"client_reference": None}, "missing_field", "client_reference"),
        ({"client_reference": 7}, "invalid_field", "client_reference"),
        ({"action": None}, "missing_field", "action"),
        ({"action": "payments.destroy"}, "unknown_action", "action"),
        ({"connection": "bank-other"}, "unknown_connection", "connection"),
        ({"separate_effect": 1}, "invalid_field", "separate_effect"),
        ({"separate_effect": "true"}, "invalid_field", "separate_effect"),
        ({"rationale": "x" * 4001}, "invalid_field", "rationale"),
        ({"replaces": "op_1"}, "invalid_field", "replaces"),
        ({"approve": True}, "unexpected_field", "approve"),
        ({"payload": {"note": "x"}}, "invalid_payload", "payload.note"),
        ({"payload": {"amount_minor": True}}, "invalid_payload", "payload.amount_minor"),
        ({"payload": {"amount_minor": "10.00"}}, "invalid_payload", "payload.amount_minor"),
        ({"payload": {"amount_minor": 0}}, "invalid_payload", "payload.amount_minor"),
        ({"payload": {"amount_minor": -1}}, "invalid_payload", "payload.amount_minor"),
        ({"payload": {"currency": "kzt"}}, "invalid_payload", "payload.currency"),
        ({"payload": {"currency": "XYZ"}}, "invalid_payload", "payload.currency"),
        ({"payload": {"recipient": ["vendor_77"]}}, "invalid_payload", "payload.recipient"),
    ],
)
def test_what_is_not_exactly_right_is_refused_with_its_field(
    agent: AgentClient, changes: dict[str, Any], code: str, field: str
) -> None:
    assert_problem(agent.prepare(**changes), 422, code, field)
    assert not Intent.objects.exists() and not Operation.objects.exists()


CARD, KEY = "4111 1111 1111 1111", "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc"
TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"


@pytest.mark.parametrize("secret", [CARD, CARD.replace(" ", ""), CARD.replace(" ", "-"), KEY, TOKEN])
@pytest.mark.parametrize("field", ["payload.description", "rationale", "client_reference", "data_version"])
def test_card_numbers_keys_and_tokens_are_refused_and_not_repeated(
    agent: AgentClient, caplog: pytest.LogCaptureFixture, field: str, secret: str
) -> None:
    text = f"pay with {secret} please"
    name = field.removeprefix("payload.")
    changes: dict[str, Any] = {"payload": {name: text}} if "." in field else {name: text}
    response = agent.prepare(**changes)
    assert_problem(response, 422, "sensitive_or_unsafe_text", field)
    assert not Intent.objects.exists()
    assert secret not in response.content.decode() + caplog.text


def test_a_secret_as_a_field_name_is_not_repeated_either(agent: AgentClient) -> None:
    changes: dict[str, Any] = {CARD: 1}
    response = agent.prepare(**changes)
    assert_problem(response, 422, "unexpected_field", "(not shown)")
    assert CARD not in response.content.decode()


def test_an_invoice_number_of_sixteen_digits_passes(agent: AgentClient) -> None:
    response = agent.prepare(payload={"invoice": "4111111111111112"})
    assert response.status_code == 201
    assert response.json()["payload"]["invoice"] == "4111111111111112"
