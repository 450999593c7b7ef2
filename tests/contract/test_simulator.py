"""The simulated provider without faults: its log, its API and its switches."""

import hashlib
import json
import os
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.contract.simulated import fresh_reference, pay
from tests.support.plain_http import call
from tests.support.simulator import Simulator, SimulatorError


@pytest.fixture(scope="module")
def shared() -> Iterator[Simulator]:
    with Simulator() as simulator:
        yield simulator


@pytest.fixture
def sim(shared: Simulator) -> Iterator[Simulator]:
    yield shared
    shared.reset()


@pytest.fixture
def reference() -> str:
    return fresh_reference()


def rows(sim: Simulator, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (sim.data / name).read_text().splitlines()]


def raw_socket(sim: Simulator, content: bytes) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", sim.port), timeout=10)
    connection.sendall(content)
    return connection


# --- its log


def test_a_request_is_logged_as_it_came(sim: Simulator, reference: str) -> None:
    body = {"amount": 7, "currency": "KZT", "recipient": "Әсел", "reference": reference}
    answer = call(sim.url, "POST", "/v1/payments?a=1", body, idempotency_key=reference, x_trace="t")
    [row] = sim.posts(reference)
    sent = json.dumps(body)
    assert row == rows(sim, "requests.jsonl")[-1]
    assert (row["method"], row["path"], row["query"], row["key"]) == ("POST", "/v1/payments", "a=1", reference)
    assert (row["body"], row["body_sha256"]) == (sent, hashlib.sha256(sent.encode()).hexdigest())
    assert (row["headers"]["authorization"], row["headers"]["x-trace"]) == ("Bearer test", "t")
    assert (row["complete"], row["concurrent"]) == (True, 0)
    assert row["request_id"] == answer.headers["request-id"]


def test_a_body_cut_by_the_client_is_logged_as_incomplete_and_not_acted_upon(sim: Simulator, reference: str) -> None:
    whole = json.dumps({"amount": 7, "currency": "KZT", "recipient": "A", "reference": reference})
    head = (
        f"POST /v1/payments HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer t\r\nContent-Length: {len(whole) + 9}\r\n\r\n"
    )
    raw_socket(sim, (head + whole).encode()).close()
    [row] = sim.wait_for_requests(1, reference=reference)
    assert (row["complete"], row["body"]) == (False, whole)
    assert sim.payments(reference) == []


def test_a_write_without_a_length_is_refused(sim: Simulator) -> None:
    with raw_socket(sim, b"POST /v1/payments HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer t\r\n\r\n") as connection:
        assert connection.recv(4096).startswith(b"HTTP/1.1 411 ")
    assert sim.requests()[-1]["complete"] is False


def test_bytes_that_are_not_text_are_kept(sim: Simulator) -> None:
    head = b"POST /v1/payments HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer t\r\nContent-Length: 2\r\n\r\n\xff\xe9"
    with raw_socket(sim, head) as connection:
        assert connection.recv(4096).startswith(b"HTTP/1.1 400 ")
    assert sim.requests()[-1]["body"] == "ÿé"


def test_one_connection_carries_many_requests(sim: Simulator) -> None:
    get = b"GET /v1/payments HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer t\r\n\r\n"
    with raw_socket(sim, get) as connection:
        assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
        connection.sendall(get)
        assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")


def test_requests_are_found_by_each_filter(sim: Simulator, reference: str) -> None:
    start = len(sim.requests())
    pay(sim, reference)
    pay(sim, reference + "0")
    call(sim.url, "GET", f"/v1/payments?reference={reference}", idempotency_key="look")
    assert [row["method"] for row in sim.requests(reference=reference)] == ["POST", "GET"]
    assert len(sim.posts(reference)) == 1
    assert len(sim.requests(since=start, path="/v1/payments")) == 3
    assert len(sim.requests(since=start, method="GET")) == 1
    assert len(sim.requests(since=start, key="look")) == 1
    assert sim.requests(since=start, path="/v1/deals") == []
    with pytest.raises(SimulatorError, match='"field": "colour"'):
        sim.requests(colour="red")


def test_requests_with_one_key_at_one_time_are_counted(sim: Simulator, reference: str) -> None:
    sim.settings(keys="ignore")
    sim.fault("hold_answer", times=2)
    with ThreadPoolExecutor(2) as pool:
        body = {"amount": 7, "currency": "KZT", "recipient": "A", "reference": reference}
        both = [pool.submit(call, sim.url, "POST", "/v1/payments", body, idempotency_key=reference) for _ in range(2)]
        sim.release(at_least=2)
        assert [one.result().status for one in both] == [201, 201]
    assert [row["concurrent"] for row in sim.posts(reference)] == [0, 1]


# --- payments


def test_without_credentials_nothing_happens(sim: Simulator, reference: str) -> None:
    for header in (None, "Bearer ", "Basic eDp5"):
        answer = call(sim.url, "POST", "/v1/payments", {"reference": reference}, authorization=header)
        assert (answer.status, answer.json()["error"]["code"]) == (401, "missing_credential")
    assert sim.payments(reference) == []


def test_a_payment_is_created_and_read_by_id_and_reference(sim: Simulator, reference: str) -> None:
    created = pay(sim, reference, description="For July", invoice="INV-7")
    payment = created.json()
    assert created.status == 201
    assert created.headers["request-id"].startswith("req_")
    assert payment.items() >= {
        "object": "payment", "status": "succeeded", "amount": 1000, "currency": "KZT", "recipient": "Aigul",
        "reference": reference, "direction": "out", "description": "For July", "invoice": "INV-7",
    }.items()  # fmt: skip
    assert payment["id"].startswith("pay_")
    assert payment["created_at"].endswith("Z")
    assert call(sim.url, "GET", f"/v1/payments/{payment['id']}").json() == payment
    page = {"object": "list", "data": [payment], "has_more": False}
    assert call(sim.url, "GET", f"/v1/payments?reference={reference}").json() == page
    assert call(sim.url, "GET", f"/v1/payments/search?reference={reference}").json() == page
    assert sim.payments(reference) == [payment]


@pytest.mark.parametrize(
    ("field", "value"),
    [("amount", 0), ("amount", True), ("amount", "5"), ("amount", None), ("currency", "kzt"), ("currency", None),
     ("recipient", ""), ("recipient", None), ("reference", None), ("invoice", 7), ("colour", "red")],
)  # fmt: skip
def test_a_wrong_field_is_named(sim: Simulator, reference: str, field: str, value: Any) -> None:
    answer = pay(sim, **{"reference": reference, field: value})
    assert (answer.status, answer.json()["error"]["type"]) == (400, "validation_error")
    assert answer.json()["error"]["field"] == field
    assert sim.payments(reference) == []


def test_absence_has_the_shape_of_the_api_and_a_wrong_address_has_not(sim: Simulator) -> None:
    missing = call(sim.url, "GET", "/v1/payments/pay_none")
    assert (missing.status, missing.json()["error"]["type"]) == (404, "not_found")
    outside = call(sim.url, "GET", "/v2/payments/pay_none")
    assert (outside.status, outside.headers["content-type"]) == (404, "text/html")
    unknown = call(sim.url, "PUT", "/v1/payments", {})
    assert (unknown.status, unknown.json()["error"]["type"]) == (405, "invalid_request")


def test_a_list_can_be_read_in_pages(sim: Simulator, reference: str) -> None:
    ids = [pay(sim, reference).json()["id"] for _ in range(3)]
    first = call(sim.url, "GET", f"/v1/payments?reference={reference}&limit=2").json()
    assert ([item["id"] for item in first["data"]], first["has_more"]) == ([ids[2], ids[1]], True)
    rest = call(sim.url, "GET", f"/v1/payments?reference={reference}&limit=2&starting_after={ids[1]}").json()
    assert ([item["id"] for item in rest["data"]], rest["has_more"]) == ([ids[0]], False)
    assert call(sim.url, "GET", "/v1/payments?limit=0").json()["error"]["field"] == "limit"


# --- deals


def test_a_deal_is_changed_under_its_version_only(sim: Simulator) -> None:
    deal = sim.plant_deal(stage="offer", amount=5, owner="Dana", version=19)
    path = f"/v1/deals/{deal['id']}"
    read = call(sim.url, "GET", path)
    assert (read.headers["etag"], read.json()["version"]) == ('"19"', 19)
    changed = call(sim.url, "PATCH", path, {"stage": "won"}, if_match='"19"')
    assert (changed.status, changed.headers["etag"]) == (200, '"20"')
    assert changed.json() == {**deal, "stage": "won", "version": 20, "updated_by": "api"}
    stale = call(sim.url, "PATCH", path, {"stage": "lost"}, if_match='"19"')
    assert (stale.status, stale.json()["error"]["type"]) == (412, "version_conflict")
    assert (stale.json()["error"]["code"], stale.json()["error"]["current_version"]) == ("stale_version", 20)
    assert call(sim.url, "PATCH", path, {"amount": 6}).json()["version"] == 21
    assert call(sim.url, "PATCH", path, {"colour": 6}).json()["error"]["field"] == "colour"
    assert call(sim.url, "GET", "/v1/deals/none").json()["error"]["type"] == "not_found"
    assert call(sim.url, "PATCH", "/v1/deals/none", {"amount": 6}).status == 404


def test_a_colleague_can_edit_a_deal_meanwhile(sim: Simulator) -> None:
    deal = sim.plant_deal(stage="offer", amount=5, owner="Dana")
    edited = sim.edit_deal(deal["id"], amount=9, updated_by="Marat")
    assert (edited["version"], edited["amount"], edited["updated_by"]) == (2, 9, "Marat")
    assert call(sim.url, "PATCH", f"/v1/deals/{deal['id']}", {"amount": 7}, if_match='"1"').status == 412
    with pytest.raises(SimulatorError, match='"field": "id"'):
        sim.edit_deal("none", amount=1)


# --- switches


def test_switches_are_not_logged_and_say_how_it_is(sim: Simulator) -> None:
    before = len(sim.requests())
    health = sim.admin("GET", "/_health")
    assert health == {"status": "ok", "pid": sim.pid, "requests": before, "held": 0}
    assert len(sim.requests()) == before


def test_planted_and_edited_payments_are_real(sim: Simulator, reference: str) -> None:
    planted = sim.plant_payment(reference=reference, amount=3, currency="KZT", recipient="A", status="processing")
    assert call(sim.url, "GET", f"/v1/payments/{planted['id']}").json() == planted
    sim.edit_payment(planted["id"], status="failed", hidden=True)
    assert call(sim.url, "GET", f"/v1/payments/{planted['id']}").status == 404
    sim.edit_payment(planted["id"], hidden=False)
    assert call(sim.url, "GET", f"/v1/payments/{planted['id']}").json()["status"] == "failed"


@pytest.mark.parametrize(
    ("path", "order", "field"),
    [("/_faults", {}, "fault"), ("/_faults", {"fault": "nonsense"}, "fault"),
     ("/_faults", {"fault": "delay_answer"}, "seconds"),
     ("/_faults", {"fault": "delay_answer", "seconds": -1}, "seconds"),
     ("/_faults", {"fault": "reset", "colour": 1}, "colour"), ("/_faults", {"fault": "reset", "times": -1}, "times"),
     ("/_faults", {"fault": "reset", "method": "FETCH"}, "method"),
     ("/_faults", {"fault": "bad_body", "kind": "x"}, "kind"),
     ("/_faults", {"fault": "hide", "seconds": 1, "method": "GET"}, "method"),
     ("/_faults", {"fault": "raw", "headers": {"A": "b\r\nC: d"}}, "headers"),
     ("/_faults", {"fault": "redirect", "location": "/a\r\nb: c"}, "location"),
     ("/_faults", {"fault": "kill_caller", "when": "after_acting"}, "pid"),
     ("/_faults", {"fault": "kill_caller", "when": "after_acting", "pid": 99, "seconds": 1}, "seconds"),
     ("/_settings", {"keys": "perhaps"}, "keys"), ("/_settings", {"colour": 1}, "colour"),
     ("/_settings", {"webhook_url": "http://example.com:80/"}, "webhook_url"),
     ("/_settings", {"webhook_secret": "whsec_?"}, "webhook_secret"), ("/_release", {"colour": 1}, "colour"),
     ("/_objects/payments", {"amount": -1}, "amount"), ("/_objects/deals", {"version": 0}, "version"),
     ("/_events", {"payment": "none"}, "payment")],
)  # fmt: skip
def test_a_wrong_order_is_refused_and_the_field_named(
    sim: Simulator, path: str, order: dict[str, Any], field: str
) -> None:
    before = sim.faults(), sim.settings()
    with pytest.raises(SimulatorError) as refusal:
        sim.admin("POST", path, order)
    assert json.loads(str(refusal.value))["error"]["field"] == field
    assert (sim.faults(), sim.settings()) == before


def test_it_will_not_kill_itself(sim: Simulator) -> None:
    with pytest.raises(SimulatorError, match="does not kill itself"):
        sim.fault("kill_caller", when="after_acting", pid=sim.pid)
    os.kill(sim.pid, 0)
