"""An agent that calls the API as over the wire: raw bytes, headers, no cookies, no session."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.http import HttpResponse
from django.test import Client

from operations.providers import http
from tests.support.tenant import World

PAYLOAD = {"amount_minor": 1250000, "currency": "KZT", "recipient": "vendor_77", "recipient_name": "Vendor 77 LLP"}
WISH = {"client_reference": "invoice-1", "action": "payments.create", "connection": "bank-main", "payload": PAYLOAD}
OPERATIONS = "/api/v1/operations"


@dataclass
class AgentClient:
    """Sends with this key; "" sends no Authorization at all."""

    key: str

    def _send(self, method: str, path: str, body: bytes, content_type: str) -> Any:
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        client = Client(raise_request_exception=False)
        return client.generic(method, path, body, content_type=content_type, headers=headers)

    def get(self, path: str = OPERATIONS, /, **query: str | int) -> Any:
        text = "&".join(f"{name}={value}" for name, value in query.items())
        return self._send("GET", f"{path}?{text}", b"", "")

    def post(self, path: str, body: bytes = b"", content_type: str = "application/json") -> Any:
        return self._send("POST", path, body, content_type)

    def prepare(self, *, payload: dict[str, Any] | None = None, **changes: Any) -> Any:
        """Prepare the usual payment with these changes; None leaves a field of the outer object out."""
        wish = {**WISH, "payload": {**PAYLOAD, **(payload or {})}, **changes}
        return self.post(OPERATIONS, json.dumps({k: v for k, v in wish.items() if v is not None}).encode())

    def prepared(self, **changes: Any) -> str:
        """Prepare and return the id of what is now there."""
        return str(self.prepare(**changes).json()["operation_id"])

    def read(self, operation_id: str, **query: int) -> Any:
        return self.get(f"{OPERATIONS}/{operation_id}", **query)

    def resume(self, operation_id: str, body: bytes = b"") -> Any:
        return self.post(f"{OPERATIONS}/{operation_id}/resume", body)

    def cancel(self, operation_id: str) -> Any:
        return self.post(f"{OPERATIONS}/{operation_id}/cancel")


def agent_of(world: World) -> AgentClient:
    return AgentClient(world.key)


def assert_problem(response: Any, status: int, code: str, field: str | None = None) -> dict[str, Any]:
    """The answer is this refusal, in the one form every refusal has; returns its body."""
    assert isinstance(response, HttpResponse)
    body: dict[str, Any] = json.loads(response.content)
    assert (response.status_code, body["code"], body.get("field")) == (status, code, field), body
    assert response["Content-Type"] == "application/problem+json"
    assert response["Cache-Control"] == "no-store"
    assert body["status"] == status and body["title"] and body["detail"]
    assert body["type"] == f"urn:opsconsole:problem:{code}"
    return body


def at_once[Result](times: int, work: Callable[[], Result], *, workers: int = 8) -> list[Result]:
    """Call `work` so many times from threads that use the database for real and leave no connection behind."""

    def one(_: int) -> Result:
        try:
            return work()
        finally:
            connection.close()
            http.close()

    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(one, range(times)))
