"""Each fault of the simulated provider does what its name says: once, to the request that was meant, and no other."""

import http.client
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.contract.simulated import acted_after, assert_counts, found, fresh_reference, pay
from tests.support.plain_http import call, receiver
from tests.support.simulator import Simulator

SHORT = 0.3


@pytest.fixture(scope="module")
def pid_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("worker") / "worker.pid"


@pytest.fixture(scope="module")
def shared(pid_file: Path) -> Iterator[Simulator]:
    with Simulator(worker_pid_file=pid_file) as simulator:
        yield simulator


@pytest.fixture
def sim(shared: Simulator) -> Iterator[Simulator]:
    yield shared
    shared.reset()


@pytest.fixture
def reference() -> str:
    return fresh_reference()


# --- which request is met


def test_a_fault_is_used_up_and_the_next_one_follows(sim: Simulator, reference: str) -> None:
    sim.fault("error_without_effect", status=503, times=2)
    sim.fault("error_without_effect", status=504)
    assert [pay(sim, reference).status for _ in range(4)] == [503, 503, 504, 201]
    assert [(fault["left"], fault["fired"]) for fault in sim.faults()] == [(0, 2), (0, 1)]


def test_a_fault_without_end_goes_on_until_cleared(sim: Simulator, reference: str) -> None:
    sim.fault("error_without_effect", times=0)
    assert [pay(sim, reference).status for _ in range(3)] == [500, 500, 500]
    sim.reset()
    assert (pay(sim, reference).status, sim.faults()) == (201, [])


def test_a_fault_can_skip_the_first_requests(sim: Simulator, reference: str) -> None:
    sim.fault("error_without_effect", skip=2)
    assert [pay(sim, reference).status for _ in range(4)] == [201, 201, 500, 201]


def test_a_fault_meets_only_its_method_path_and_reference(sim: Simulator, reference: str) -> None:
    sim.fault("error_without_effect", times=0, reference=reference + "x")
    sim.fault("error_without_effect", times=0, method="GET", path="/v1/payments/search")
    assert pay(sim, reference).status == 201
    assert pay(sim, reference + "x").status == 500
    assert call(sim.url, "GET", "/v1/payments").status == 200
    assert call(sim.url, "GET", "/v1/payments/search").status == 500
    sim.fault("error_without_effect", status=502, method="*", path="/v1/deals")
    assert call(sim.url, "PATCH", "/v1/deals/none", {"amount": 1}).status == 502


def test_a_request_without_credentials_uses_up_no_fault(sim: Simulator, reference: str) -> None:
    sim.fault("error_without_effect")
    assert call(sim.url, "POST", "/v1/payments", {}, authorization=None).status == 401
    assert pay(sim, reference).status == 500


# --- lost, late and held


@pytest.mark.parametrize(("when", "objects"), [("before", 0), ("after", 1)])
def test_lose_answer_before_acting_and_after(sim: Simulator, reference: str, when: str, objects: int) -> None:
    sim.fault(f"lose_answer_{when}_acting")
    with pytest.raises(http.client.RemoteDisconnected):
        pay(sim, reference)
    assert_counts(sim, reference, posts=1, objects=objects)


def test_lose_answer_after_acting_also_for_reads_and_deals(sim: Simulator) -> None:
    deal = sim.plant_deal(stage="offer")
    path = f"/v1/deals/{deal['id']}"
    sim.fault("lose_answer_after_acting", method="*", times=2)
    with pytest.raises(http.client.RemoteDisconnected):
        call(sim.url, "PATCH", path, {"stage": "won"}, if_match='"1"')
    with pytest.raises(http.client.RemoteDisconnected):
        call(sim.url, "GET", path)
    assert call(sim.url, "GET", path).json()["version"] == 2


def test_delay_answer_acts_at_once(sim: Simulator, reference: str) -> None:
    sim.fault("delay_answer", seconds=30)
    with pytest.raises(TimeoutError):
        pay(sim, reference, timeout=SHORT)
    sim.wait_for_payments(1, reference)
    assert_counts(sim, reference, posts=1, objects=1)


def test_delay_answer_answers_in_the_end(sim: Simulator, reference: str) -> None:
    sim.fault("delay_answer", seconds=SHORT)
    start = time.monotonic()
    assert pay(sim, reference).status == 201
    assert time.monotonic() - start >= SHORT


def test_delay_acting_acts_after_the_client_has_gone(sim: Simulator, reference: str) -> None:
    sim.fault("delay_acting", seconds=3 * SHORT)
    with pytest.raises(TimeoutError):
        pay(sim, reference, timeout=SHORT)
    [payment] = sim.wait_for_payments(1, reference)
    assert acted_after(sim, payment) >= 3 * SHORT
    assert found(sim, reference) == [payment]


def test_delay_acting_answers_when_the_client_waits(sim: Simulator, reference: str) -> None:
    sim.fault("delay_acting", seconds=SHORT)
    assert pay(sim, reference).json() == sim.payments(reference)[0]


@pytest.mark.parametrize(("name", "objects"), [("hold_answer", 1), ("hold_acting", 0)])
def test_hold_answer_or_hold_acting(sim: Simulator, reference: str, name: str, objects: int) -> None:
    sim.fault(name, reference=reference)
    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(pay, sim, reference)
        sim.wait_until_held()
        assert_counts(sim, reference, posts=1, objects=objects)
        assert pay(sim, reference + "other").status == 201
        assert not held.done()
        assert sim.release() == 1
        assert held.result(timeout=10).json() == sim.payments(reference)[0]


# --- errors


def test_error_with_effect(sim: Simulator, reference: str) -> None:
    sim.fault("error_with_effect", status=502, body="<html>Bad gateway</html>", headers={"Content-Type": "text/html"})
    answer = pay(sim, reference)
    assert (answer.status, answer.body) == (502, b"<html>Bad gateway</html>")
    assert answer.headers["content-type"] == "text/html"
    assert_counts(sim, reference, posts=1, objects=1)


def test_error_with_effect_does_not_hide_a_real_refusal(sim: Simulator, reference: str) -> None:
    sim.fault("error_with_effect")
    assert pay(sim, reference, amount=0).status == 400
    assert_counts(sim, reference, posts=1, objects=0)


def test_error_without_effect(sim: Simulator, reference: str) -> None:
    body = {"error": {"type": "rate_limited"}}
    sim.fault("error_without_effect", status=429, body=body, headers={"Retry-After": "7"})
    answer = pay(sim, reference)
    assert (answer.status, answer.json(), answer.headers["retry-after"]) == (429, body, "7")
    assert_counts(sim, reference, posts=1, objects=0)


def test_error_without_effect_for_reads_hides_what_exists(sim: Simulator, reference: str) -> None:
    pay(sim, reference)
    sim.fault("error_without_effect", method="GET", status=403, reference=reference)
    answer = call(sim.url, "GET", f"/v1/payments?reference={reference}")
    assert (answer.status, answer.json()["error"]["type"]) == (403, "api_error")
    assert len(found(sim, reference)) == 1


def test_decline(sim: Simulator, reference: str) -> None:
    sim.fault("decline", code="card_expired")
    error = pay(sim, reference)
    assert (error.status, error.json()["error"]["type"]) == (402, "payment_declined")
    assert error.json()["error"]["code"] == "card_expired"
    assert_counts(sim, reference, posts=1, objects=0)


def test_raw(sim: Simulator, reference: str) -> None:
    sim.fault("raw", status=299, body="anything", headers={"X-Odd": "1"})
    answer = pay(sim, reference)
    assert (answer.status, answer.body, answer.headers["x-odd"]) == (299, b"anything", "1")
    assert_counts(sim, reference, posts=1, objects=0)
    sim.fault("raw", body=[], acts=True)
    assert pay(sim, reference).json() == []
    assert_counts(sim, reference, posts=2, objects=1)


@pytest.mark.parametrize("status", [301, 303, 307])
def test_redirect(sim: Simulator, reference: str, status: int) -> None:
    sim.fault("redirect", status=status, location="/v1/payments?moved=1")
    answer = pay(sim, reference)
    assert (answer.status, answer.headers["location"]) == (status, "/v1/payments?moved=1")
    assert_counts(sim, reference, posts=1, objects=0)


# --- objects that are not what the answer says


@pytest.mark.parametrize("final", ["succeeded", "failed"])
def test_accept_later(sim: Simulator, reference: str, final: str) -> None:
    with receiver() as hook:
        sim.settings(webhook_url=hook.url)
        before = len(sim.wait_for_events(0))
        sim.fault("accept_later", seconds=SHORT, final=final)
        answer = pay(sim, reference)
        assert (answer.status, answer.json()["status"]) == (202, "processing")
        event = sim.wait_for_events(before + 1)[-1]["event"]
    assert (event["type"], event["data"]["status"]) == (f"payment.{final}", final)
    assert [got.json() for got in hook.received] == [event]
    assert found(sim, reference) == [{**answer.json(), "status": final}]


def test_accept_later_is_processing_until_then(sim: Simulator, reference: str) -> None:
    sim.fault("accept_later", seconds=3600)
    payment = pay(sim, reference).json()
    assert found(sim, reference) == [payment]
    assert found(sim, reference, "/v1/payments/search")[0]["status"] == "processing"
    sim.edit_payment(payment["id"], status="failed")
    assert found(sim, reference)[0]["status"] == "failed"


def test_accept_later_without_webhook_and_after_a_restart(reference: str) -> None:
    with receiver() as hook, Simulator() as sim:
        sim.settings(webhook_url=hook.url)
        sim.fault("accept_later", seconds=0, webhook=False)
        sim.fault("accept_later", seconds=2)
        silent, told = pay(sim, reference).json(), pay(sim, reference).json()
        sim.restart()
        [event] = sim.wait_for_events(1)
        assert event["event"]["data"]["id"] == told["id"]
        assert call(sim.url, "GET", f"/v1/payments/{silent['id']}").json()["status"] == "succeeded"
    assert len(hook.received) == 1


def test_duplicate_objects(sim: Simulator, reference: str) -> None:
    sim.fault("duplicate_objects", count=3)
    answer = pay(sim, reference).json()
    ids = {item["id"] for item in found(sim, reference)}
    assert (len(ids), answer["id"] in ids) == (3, True)
    assert_counts(sim, reference, posts=1, objects=3)


def test_forget(sim: Simulator, reference: str) -> None:
    sim.fault("forget")
    answer = pay(sim, reference)
    assert (answer.status, answer.json()["status"]) == (201, "succeeded")
    assert call(sim.url, "GET", f"/v1/payments/{answer.json()['id']}").status == 404
    assert_counts(sim, reference, posts=1, objects=0)


def test_forget_a_change_of_a_deal(sim: Simulator) -> None:
    deal = sim.plant_deal(stage="offer")
    sim.fault("forget", method="PATCH")
    assert call(sim.url, "PATCH", f"/v1/deals/{deal['id']}", {"stage": "won"}).json()["version"] == 2
    assert call(sim.url, "GET", f"/v1/deals/{deal['id']}").json() == deal


def test_hide(sim: Simulator, reference: str) -> None:
    sim.fault("hide", seconds=3600)
    payment = pay(sim, reference).json()
    assert found(sim, reference) == []
    assert call(sim.url, "GET", f"/v1/payments/{payment['id']}").status == 404
    assert call(sim.url, "GET", f"/v1/payments/search?reference={reference}").json()["data"] == []
    assert sim.payments(reference) == [payment]
    sim.edit_payment(payment["id"], hidden=False)
    assert found(sim, reference) == [payment]


def test_hide_ends_with_time(sim: Simulator, reference: str) -> None:
    sim.fault("hide", seconds=SHORT)
    payment = pay(sim, reference).json()
    sim.fault("delay_acting", seconds=SHORT, method="GET")
    assert found(sim, reference) == [payment]


@pytest.mark.parametrize("answered", [True, False])
def test_event_before_answer(sim: Simulator, reference: str, answered: bool) -> None:
    with receiver() as hook:
        sim.settings(webhook_url=hook.url)
        sim.fault("event_before_answer", answer=answered)
        if answered:
            pay(sim, reference)
        else:
            with pytest.raises(http.client.RemoteDisconnected):
                pay(sim, reference)
        assert [got.json()["data"] for got in hook.received] == sim.payments(reference)
    assert_counts(sim, reference, posts=1, objects=1)
