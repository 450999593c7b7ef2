"""Each setting of the simulated provider changes what it says it changes."""

import base64
import hashlib
import hmac
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from operations.providers.simulated.settings import CHECKS
from tests.contract.simulated import found, fresh_reference, pay
from tests.support.plain_http import call, receiver
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


def test_every_setting_has_a_test() -> None:
    tests = [name for name in globals() if name.startswith("test_")]
    assert [name for name in CHECKS if not any(test.startswith(f"test_{name}") for test in tests)] == []


def test_keys_honoured_replay_the_first_answer(sim: Simulator, reference: str) -> None:
    first, second = pay(sim, reference, key=reference), pay(sim, reference, key=reference)
    assert (second.status, second.body) == (201, first.body)
    assert second.headers["idempotent-replayed"] == "true"
    assert "idempotent-replayed" not in first.headers
    assert first.headers["request-id"] != second.headers["request-id"]
    assert len(sim.payments(reference)) == 1


def test_keys_honoured_refuse_another_body_and_another_address(sim: Simulator, reference: str) -> None:
    pay(sim, reference, key=reference)
    deal = sim.plant_deal(stage="offer")
    other = [
        pay(sim, reference, key=reference, amount=1001),
        call(sim.url, "PATCH", f"/v1/deals/{deal['id']}", {"stage": "won"}, idempotency_key=reference),
    ]
    assert [(one.status, one.json()["error"]["type"]) for one in other] == [(400, "idempotency_error")] * 2
    assert len(sim.payments(reference)) == 1


def test_keys_honoured_say_when_the_first_still_runs(sim: Simulator, reference: str) -> None:
    sim.fault("hold_acting", reference=reference)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(pay, sim, reference, key=reference)
        sim.wait_until_held()
        meanwhile = pay(sim, reference, key=reference)
        assert (meanwhile.status, meanwhile.json()["error"]["code"]) == (409, "key_in_use")
        sim.release()
        assert pay(sim, reference, key=reference).body == first.result().body


def test_keys_honoured_do_not_keep_complaints(sim: Simulator, reference: str) -> None:
    assert pay(sim, reference, key=reference, amount=0).status == 400
    assert pay(sim, reference, key=reference).status == 201


def test_keys_honoured_do_not_keep_what_never_ran(sim: Simulator, reference: str) -> None:
    sim.fault("lose_answer_before_acting")
    with pytest.raises(ConnectionError):
        pay(sim, reference, key=reference)
    assert pay(sim, reference, key=reference).status == 201


def test_keys_honoured_for_deals_too(sim: Simulator, reference: str) -> None:
    deal = sim.plant_deal(stage="offer")
    path = f"/v1/deals/{deal['id']}"
    answers = [call(sim.url, "PATCH", path, {"stage": "won"}, idempotency_key=reference) for _ in range(2)]
    assert [answer.json()["version"] for answer in answers] == [2, 2]
    assert answers[1].headers["etag"] == '"2"'


def test_keys_ignored_pay_again(sim: Simulator, reference: str) -> None:
    sim.settings(keys="ignore")
    assert pay(sim, reference, key=reference).json()["id"] != pay(sim, reference, key=reference).json()["id"]
    assert len(sim.payments(reference)) == 2


def test_keys_from_the_command_line_win(reference: str) -> None:
    with Simulator(keys="ignore") as sim:
        pay(sim, reference, key="k")
        pay(sim, reference, key="k")
        assert len(sim.payments(reference)) == 2
        sim.settings(keys="honour")
        sim.restart()
        assert sim.settings()["keys"] == "ignore"


@pytest.mark.parametrize("mode", ["bare_duplicate", "duplicate_with_id"])
def test_keys_answered_as_duplicates(sim: Simulator, reference: str, mode: str) -> None:
    sim.settings(keys=mode)
    first, second = pay(sim, reference, key=reference), pay(sim, reference, key=reference, amount=9)
    assert (second.status, second.json()["error"]["type"]) == (409, "duplicate")
    assert second.json()["error"].get("resource_id") == (first.json()["id"] if mode == "duplicate_with_id" else None)
    assert (first.json()["id"] in second.body.decode()) == (mode == "duplicate_with_id")
    assert len(sim.payments(reference)) == 1


def test_keys_that_are_too_long_are_refused(sim: Simulator, reference: str) -> None:
    assert pay(sim, reference, key="k" * 256).json()["error"]["field"] == "Idempotency-Key"
    assert pay(sim, reference, key="k" * 255).status == 201


@pytest.mark.parametrize(("store", "again", "objects"), [("all", 500, 1), ("success", 201, 2)])
def test_store_errors(sim: Simulator, reference: str, store: str, again: int, objects: int) -> None:
    sim.settings(store_errors=store)
    sim.fault("error_with_effect")
    assert pay(sim, reference, key=reference).status == 500
    assert pay(sim, reference, key=reference).status == again
    assert len(sim.payments(reference)) == objects


@pytest.mark.parametrize(("store", "again"), [("all", 402), ("success", 201)])
def test_store_errors_of_declined_payments(sim: Simulator, reference: str, store: str, again: int) -> None:
    sim.settings(store_errors=store)
    sim.fault("decline")
    assert pay(sim, reference, key=reference).status == 402
    assert pay(sim, reference, key=reference).status == again


def test_key_retention_seconds(sim: Simulator, reference: str) -> None:
    first = pay(sim, reference, key=reference)
    sim.settings(key_retention_seconds=3600)
    assert pay(sim, reference, key=reference).body == first.body
    sim.settings(key_retention_seconds=0.000001)
    assert pay(sim, reference, key=reference).body != first.body
    assert len(sim.payments(reference)) == 2


def test_search_lag_seconds(sim: Simulator, reference: str) -> None:
    sim.settings(search_lag_seconds=3600)
    payment = pay(sim, reference).json()
    assert found(sim, reference, "/v1/payments/search") == []
    assert found(sim, reference, "/v1/payments") == [payment]
    sim.settings(search_lag_seconds=0)
    assert found(sim, reference, "/v1/payments/search") == [payment]


def test_search_miss_every(sim: Simulator, reference: str) -> None:
    pay(sim, reference)
    sim.settings(search_miss_every=3)
    hits = [len(found(sim, reference, "/v1/payments/search")) for _ in range(6)]
    assert sorted(hits) == [0, 0, 1, 1, 1, 1]
    assert len(found(sim, reference, "/v1/payments")) == 1


def test_require_if_match(sim: Simulator) -> None:
    path = f"/v1/deals/{sim.plant_deal(stage='offer')['id']}"
    sim.settings(require_if_match=True)
    assert call(sim.url, "PATCH", path, {"stage": "won"}).status == 428
    assert call(sim.url, "PATCH", path, {"stage": "won"}, if_match='"1"').status == 200


def test_ignore_if_match(sim: Simulator) -> None:
    path = f"/v1/deals/{sim.plant_deal(stage='offer')['id']}"
    sim.settings(ignore_if_match=True)
    assert call(sim.url, "PATCH", path, {"stage": "won"}, if_match='"99"').json()["version"] == 2


@pytest.mark.parametrize(("etag", "seen"), [("gzip", '"1-gzip"'), ("weak", 'W/"1"'), ("none", None)])
def test_etag_spoiled_on_the_way(sim: Simulator, etag: str, seen: str | None) -> None:
    path = f"/v1/deals/{sim.plant_deal(stage='offer')['id']}"
    sim.settings(etag=etag)
    assert call(sim.url, "GET", path).headers.get("etag") == seen
    if seen:
        assert call(sim.url, "PATCH", path, {"stage": "won"}, if_match=seen).status == 412


@pytest.mark.parametrize("secret", ["whsec_" + base64.b64encode(b"key").decode(), "key"])
def test_webhook_url_and_webhook_secret(sim: Simulator, reference: str, secret: str) -> None:
    payment = sim.plant_payment(reference=reference, amount=1, currency="KZT", recipient="A")
    with receiver() as hook:
        sim.settings(webhook_url=hook.url, webhook_secret=secret)
        hook.answer_status = 503
        sent = sim.send_event(payment["id"], id="evt_again", type="payment.reversed")
    [got] = hook.received
    assert (sent["event"], sent["status"]) == (got.json(), 503)
    assert got.json().items() >= {"id": "evt_again", "type": "payment.reversed", "data": payment}.items()
    signed = f"evt_again.{got.headers['webhook-timestamp']}.".encode() + got.body
    expected = base64.b64encode(hmac.new(b"key", signed, hashlib.sha256).digest()).decode()
    assert got.headers["webhook-signature"] == f"v1,{expected}"
    assert got.headers["webhook-id"] == "evt_again"


def test_webhook_secret_unset_means_no_signature(sim: Simulator, reference: str) -> None:
    payment = sim.plant_payment(reference=reference, amount=1, currency="KZT", recipient="A")
    with receiver() as hook:
        sim.settings(webhook_url=hook.url)
        sim.send_event(payment["id"])
    assert "webhook-signature" not in hook.received[0].headers


def test_webhook_url_unset_or_dead(sim: Simulator, reference: str) -> None:
    payment = sim.plant_payment(reference=reference, amount=1, currency="KZT", recipient="A")
    with pytest.raises(SimulatorError, match='"field": "webhook_url"'):
        sim.send_event(payment["id"])
    with receiver() as hook:
        sim.settings(webhook_url=hook.url)
    assert sim.send_event(payment["id"])["status"] is None
