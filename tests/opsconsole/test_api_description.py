"""The API as a whole: its description is complete, and every refusal has the one form."""

import json
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client

from operations.models import AgentKey
from opsconsole import api
from tests.operations.agent import OPERATIONS, AgentClient, assert_problem
from tests.support.tenant import World

CALLS = {
    ("/api/v1/operations", "post"): ("prepare_operation", {"200", "201", "401", "403", "409", "413", "415", "422"}),
    ("/api/v1/operations", "get"): ("list_operations", {"200", "401", "422"}),
    ("/api/v1/operations/{operation_id}", "get"): ("read_operation", {"200", "401", "404", "422"}),
    ("/api/v1/operations/{operation_id}/resume", "post"): ("resume_operation", {"202", "401", "404", "422"}),
    ("/api/v1/operations/{operation_id}/cancel", "post"): ("cancel_operation", {"200", "401", "404", "409", "422"}),
}


@pytest.fixture
def description() -> dict[str, Any]:
    response = Client().get("/api/v1/openapi.json")
    assert response.status_code == 200 and "Set-Cookie" not in response
    found: dict[str, Any] = response.json()
    return found


def test_all_five_calls_are_described_with_their_answers(description: dict[str, Any]) -> None:
    assert description["openapi"].startswith("3.1")
    found = {(path, method): call for path, item in description["paths"].items() for method, call in item.items()}
    assert found.keys() == CALLS.keys()
    for key, (name, statuses) in CALLS.items():
        call = found[key]
        assert (call["operationId"], set(call["responses"])) == (name, statuses | {"500", "503"})
        assert call["summary"] and call["description"] and call["security"] == [{"AgentKeyAuth": []}]
        for status, answer in call["responses"].items():
            media = "application/json" if int(status) < 400 else "application/problem+json"
            assert set(answer["content"]) == {media}


def test_every_reference_leads_somewhere(description: dict[str, Any]) -> None:
    text = json.dumps(description)
    references = {part.split('"')[0] for part in text.split('"$ref": "#/components/schemas/')[1:]}
    assert {"OperationOut", "OperationsOut", "ProblemOut"} <= references
    assert references <= description["components"]["schemas"].keys()
    scheme = description["components"]["securitySchemes"]["AgentKeyAuth"]
    assert (scheme["type"], scheme["scheme"]) == ("http", "bearer")


def test_the_body_of_prepare_is_described_as_strictly_as_it_is_read(description: dict[str, Any]) -> None:
    body = description["paths"]["/api/v1/operations"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert body["additionalProperties"] is False
    assert set(body["required"]) == {"client_reference", "action", "connection", "payload"}


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/api/v1/", 404, "not_found"),
        ("GET", "/api/v1/docs", 404, "not_found"),
        ("POST", "/api/v1/operation", 404, "not_found"),
        ("GET", "/api/v1/operations/", 404, "not_found"),
        ("DELETE", OPERATIONS, 405, "method_not_allowed"),
        ("PUT", f"{OPERATIONS}/op_1", 405, "method_not_allowed"),
        ("GET", f"{OPERATIONS}/op_1/resume", 405, "method_not_allowed"),
    ],
)
def test_what_no_route_answers_is_a_problem_too(method: str, path: str, status: int, code: str) -> None:
    response = Client().generic(method, path)
    assert_problem(response, status, code)
    assert ("Allow" in response) == (status == 405)


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [(RuntimeError("secret detail"), 500, "internal_error"), (OperationalError("secret detail"), 503, "unavailable")],
)
def test_what_nobody_foresaw_is_answered_without_details(
    world: World, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int, code: str
) -> None:
    def broken(key: str) -> str:
        raise error

    monkeypatch.setattr(AgentKey, "hash_of", staticmethod(broken))
    response = AgentClient(world.key).get()
    assert_problem(response, status, code)
    assert "secret detail" not in response.content.decode()


def test_a_browser_session_means_nothing_here_and_no_token_is_asked(world: World) -> None:
    signed_in = Client(enforce_csrf_checks=True)
    signed_in.force_login(world.alice)
    assert_problem(signed_in.get(OPERATIONS), 401, "invalid_key")
    response = signed_in.post(
        OPERATIONS, data=b"{}", content_type="application/json", headers={"Authorization": f"Bearer {world.key}"}
    )
    assert_problem(response, 422, "missing_field", "client_reference")
    assert api.api.docs_url is None
