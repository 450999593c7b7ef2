"""Cases P03 and P04: one key and the same bytes in every attempt, and what the key's own layer may answer."""

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from operations.models import Attempt, Intent, Operation
from opsconsole.engine.drain import carry_on
from tests.operations.scenario import (
    cases,
    check_invariants,
    control_body,
    outcomes,
    patch_limits,
    reads,
    run_manage,
    send_once,
)
from tests.support.plain_http import Reply, call
from tests.support.simulator import Simulator
from tests.support.tenant import World, make_world
from tests.support.waiting import wait_past, wait_until


@pytest.fixture(autouse=True)
def limits(settings: Any) -> None:
    patch_limits(settings)


def test_p03_two_processes_two_credentials_one_key_and_the_same_bytes(
    database: None, simulator: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Attempt 1 never acts; then a restart and a new credential; the provider proves absence; attempt 2."""
    world = make_world(provider="prompt")
    simulator.fault("lose_answer_before_acting")
    operation_id = world.approved()
    around = {
        "PROVIDER_TARGETS": f"bank-main={simulator.url}",
        "PROVIDER_CONNECT_SECONDS": "1",
        "PROVIDER_READ_SECONDS": "0.5",
        "PROVIDER_TOTAL_SECONDS": "0.8",
        "LEASE_MARGIN_SECONDS": "0.1",
        "LEASE_SECONDS": "1.5",
    }
    run_manage("sweep", "--once", BANK_MAIN_TOKEN="before-the-rotation", **around)
    assert outcomes(operation_id) == ["lost"]
    wait_past(Attempt.objects.get(operation_id=operation_id).absence_credible_at)

    def swept() -> bool:
        run_manage("sweep", "--once", BANK_MAIN_TOKEN="after-the-rotation", **around)
        return world.state(operation_id) == "succeeded"

    wait_until(swept, 30)

    first, second = simulator.posts(operation_id)
    assert (first["key"], second["key"]) == (operation_id, operation_id)
    assert first["body"] == second["body"]
    assert first["body_sha256"] == second["body_sha256"]
    assert first["headers"].pop("authorization") == "Bearer before-the-rotation"
    assert second["headers"].pop("authorization") == "Bearer after-the-rotation"
    assert first["headers"] == second["headers"]
    one, two = Attempt.objects.filter(operation_id=operation_id).order_by("number")
    assert one.request_digest == two.request_digest
    assert one.worker != two.worker
    assert len(simulator.payments(operation_id)) == 1
    check_invariants(simulator, operation_id)


def test_p03_the_key_comes_from_the_operation_s_id_alone(world: World, simulator: Simulator) -> None:
    operation_id = world.approved()
    assert Intent.objects.get(pk=operation_id).idempotency_key == operation_id


def stranger(simulator: Simulator, operation_id: str, **changes: Any) -> Reply:
    """A request under the operation's key that our engine did not make."""
    body = {**control_body(operation_id), **changes}
    return call(simulator.url, "POST", "/v1/payments", body, idempotency_key=operation_id)


def test_p04a_a_key_used_with_another_body_is_a_doubt_and_an_alert(world: World, simulator: Simulator) -> None:
    simulator.settings(keys="honour")
    operation_id = world.approved()
    assert stranger(simulator, operation_id, description="slightly different").status == 201

    send_once(operation_id)
    operation = Operation.objects.get(pk=operation_id)
    assert (operation.state, operation.reason) == ("unknown", "key_used_with_other_body")

    carry_on(operation_id)

    assert cases(operation_id) == ["integrity"]
    assert world.state(operation_id) == "succeeded"
    theirs, ours = simulator.posts(operation_id)
    assert theirs["body"] != ours["body"]
    assert json.loads(ours["body"]) == control_body(operation_id)
    assert outcomes(operation_id) == ["lost"]
    check_invariants(simulator, operation_id, stranger_s=1)


def test_p04a_the_other_body_s_amount_is_not_taken_for_ours(world: World, simulator: Simulator) -> None:
    simulator.settings(keys="honour")
    operation_id = world.approved()
    assert stranger(simulator, operation_id, amount=1250001).status == 201

    carry_on(operation_id)

    assert world.state(operation_id) == "disputed"
    assert "integrity" in cases(operation_id)
    assert len(simulator.posts(operation_id)) == 2
    check_invariants(simulator, operation_id, stranger_s=1)


@contextmanager
def held_request(simulator: Simulator, operation_id: str) -> Iterator[list[int]]:
    """The same request, under way at the provider and not done; let go at the latest at the end of the block."""
    simulator.fault("hold_acting")
    statuses: list[int] = []
    raw = json.dumps(control_body(operation_id), separators=(",", ":")).encode()

    def send() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", simulator.port, timeout=20)
        headers = {"Authorization": "Bearer test-token", "Idempotency-Key": operation_id}
        connection.request("POST", "/v1/payments", raw, headers)
        statuses.append(connection.getresponse().status)
        connection.close()

    thread = threading.Thread(target=send)
    thread.start()
    simulator.wait_until_held()
    try:
        yield statuses
    finally:
        simulator.admin("POST", "/_release", {})
        thread.join()


def test_p04b_a_key_in_use_is_looked_up_with_patience(world: World, simulator: Simulator) -> None:
    simulator.settings(keys="honour")
    operation_id = world.approved()
    with held_request(simulator, operation_id) as statuses:
        send_once(operation_id)
        operation = Operation.objects.get(pk=operation_id)
        assert (operation.state, operation.reason) == ("unknown", "key_in_use")
        carry_on(operation_id)
        waiting = Operation.objects.get(pk=operation_id)
        assert waiting.state == "unknown"
        assert waiting.next_step_at is not None and operation.next_step_at is not None
        assert (waiting.next_step_at - operation.next_step_at).total_seconds() > 4
    assert statuses == [201]

    come_due(operation_id)
    carry_on(operation_id)

    assert world.state(operation_id) == "succeeded"
    theirs, ours = simulator.posts(operation_id)
    assert theirs["body"] == ours["body"]
    assert outcomes(operation_id) == ["lost"]
    check_invariants(simulator, operation_id, stranger_s=1)


def come_due(operation_id: str) -> None:
    """The time of its next look-up has come."""
    Operation.objects.filter(pk=operation_id).update(next_step_at="2000-01-01T00:00:00Z")


@pytest.mark.parametrize("store_errors", ["all", "success"], ids=["c_kept_for_ever", "d_not_kept"])
def test_p04cd_an_error_after_the_effect_is_looked_up(world: World, simulator: Simulator, store_errors: str) -> None:
    simulator.settings(keys="honour", store_errors=store_errors)
    simulator.fault("error_with_effect", status=500)
    operation_id = world.approved()

    send_once(operation_id)
    assert world.state(operation_id) == "unknown"
    carry_on(operation_id)

    assert world.state(operation_id) == "succeeded"
    assert len(simulator.posts(operation_id)) == 1
    assert outcomes(operation_id) == ["lost"]
    check_invariants(simulator, operation_id)


def test_p04_after_the_last_look_up_a_person_is_asked(database: None, simulator: Simulator) -> None:
    """The contract allows three look-ups; the lease keeps each "not there" from counting as proof."""
    world = make_world(provider="impatient")
    simulator.fault("error_without_effect", status=500)
    operation_id = world.approved()
    send_once(operation_id)

    for expected in (1, 2, 3):
        assert cases(operation_id) == []
        come_due(operation_id)
        carry_on(operation_id)
        assert len(reads(simulator, operation_id)) == expected

    come_due(operation_id)
    carry_on(operation_id)

    operation = Operation.objects.get(pk=operation_id)
    assert (operation.state, operation.waits_for) == ("unknown", "operator")
    assert cases(operation_id) == ["unknown"]
    assert len(simulator.posts(operation_id)) == 1
    check_invariants(simulator, operation_id)
