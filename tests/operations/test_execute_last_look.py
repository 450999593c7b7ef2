"""Cases P12, P20 and P21 c: what changes between the claim and the call is seen by the last look before sending."""

from typing import Any

import pytest

from operations.models import Attempt, Evidence, Operation, Permit
from operations.providers.connections import reader_for
from operations.services import execute as services
from opsconsole.engine.drain import carry_on
from reconciliation.services.look_up import look_up
from tests.operations.scenario import (
    cases,
    check_invariants,
    moves,
    outcomes,
    patch_limits,
)
from tests.operations.tampering import INTEGRITY, Change, bytes_and_hash, new_policy
from tests.support.simulator import Simulator
from tests.support.tenant import World, make_world
from tests.support.waiting import wait_past, wait_until

pytestmark = pytest.mark.usefixtures("tamperer")


def revoked(world: World, operation_id: str) -> None:
    Permit.objects.filter(operation_id=operation_id).update(revoked_at="2020-01-01T00:00:00Z")


BETWEEN: dict[str, tuple[Change, str, list[str]]] = {
    "amount": (INTEGRITY["amount"], "", ["integrity"]),
    "bytes and their hash": (bytes_and_hash, "", ["integrity"]),
    "hash of the permit": (INTEGRITY["hash of the permit"], "", ["integrity"]),
    "policy of the permit": (INTEGRITY["policy of the permit"], "", ["integrity"]),
    "policy": (new_policy, "policy_moved", []),
    "permit revoked": (revoked, "approval_expired", []),
}


@pytest.mark.parametrize(("change", "withdrawn", "opened"), BETWEEN.values(), ids=BETWEEN)
def test_p20_the_last_look_sees_what_changed_after_the_claim(
    world: World, simulator: Simulator, change: Change, withdrawn: str, opened: list[str]
) -> None:
    before = simulator.posts()
    operation_id = world.approved()
    claim = services.claim(operation_id=operation_id, worker="test")
    assert claim is not None
    change(world, operation_id)

    services.record(claim, services.call(claim))
    for _ in range(3):
        carry_on(operation_id)

    assert simulator.posts() == before
    assert outcomes(operation_id) == ["not_sent"]
    assert cases(operation_id) == opened
    operation = Operation.objects.get(pk=operation_id)
    expected = ("cancelled", withdrawn) if withdrawn else ("not_started", "not_sent")
    assert (operation.state, operation.reason) == expected


def test_p20_the_claim_of_another_worker_ends_ours(world: World, simulator: Simulator, settings: Any) -> None:
    """Our lease ran out and the operation was looked up; the worker that wakes up late sends nothing."""
    patch_limits(settings, lease=1.2)
    operation_id = world.approved()
    claim = services.claim(operation_id=operation_id, worker="test")
    assert claim is not None
    lease_until = Operation.objects.get(pk=operation_id).lease_until
    assert lease_until is not None
    wait_past(lease_until)
    carry_on(operation_id)
    assert world.state(operation_id) == "unknown"

    finding = services.record(claim, services.call(claim))

    assert finding.verdict == "not_sent"
    assert world.state(operation_id) == "unknown"
    assert Evidence.objects.filter(operation_id=operation_id, source="late_response").count() == 1
    assert simulator.posts(operation_id) == []
    check_invariants(simulator, operation_id)


def test_p12_a_worker_that_wakes_up_after_the_next_claim_sends_nothing(
    database: None, simulator: Simulator, settings: Any
) -> None:
    """The row is in progress and its lease is good, as the waking worker expects; only the token is not its own."""
    patch_limits(settings, lease=1.2)
    world = make_world(provider="prompt")
    operation_id = world.approved()
    asleep = services.claim(operation_id=operation_id, worker="one name")
    assert asleep is not None
    wait_past(Attempt.objects.get(operation_id=operation_id).absence_credible_at)
    reader = reader_for(name="bank-main", credential_reference="env:BANK_MAIN_TOKEN", contract=asleep.contract)
    assert services.lose(operation_id=operation_id, token=asleep.token, actor="test", contract=asleep.contract)

    def absent() -> bool:
        look_up(operation_id=operation_id, reader=reader, contract=asleep.contract, asked_by="test", same_place=True)
        return world.state(operation_id) == "not_started"

    wait_until(absent, 5)
    patch_limits(settings)
    awake = services.claim(operation_id=operation_id, worker="one name")
    assert awake is not None

    answer = services.call(asleep)
    assert answer.error == "the approval or the claim no longer holds"
    services.record(asleep, answer)
    assert simulator.posts(operation_id) == []
    assert world.state(operation_id) == "in_progress"

    services.record(awake, services.call(awake))
    assert world.state(operation_id) == "succeeded"
    assert len(simulator.posts(operation_id)) == 1
    assert outcomes(operation_id) == ["lost", "happened"]


def test_too_little_lease_for_a_whole_call_sends_nothing(world: World, simulator: Simulator, settings: Any) -> None:
    patch_limits(settings, lease=1.0)
    operation_id = world.approved()
    claim = services.claim(operation_id=operation_id, worker="test")
    assert claim is not None
    assert services.call(claim).error == "too little of the lease is left for a whole call"
    assert simulator.posts(operation_id) == []


def test_p21c_an_approval_that_ends_between_claim_and_call(database: None, simulator: Simulator) -> None:
    world = make_world(approval_seconds=1)
    operation_id = world.approved()
    claim = services.claim(operation_id=operation_id, worker="test")
    assert claim is not None
    wait_past(Permit.objects.get(operation_id=operation_id).expires_at)

    services.record(claim, services.call(claim))
    assert world.state(operation_id) == "not_started"
    carry_on(operation_id)

    assert simulator.posts(operation_id) == []
    operation = Operation.objects.get(pk=operation_id)
    assert (operation.state, operation.reason) == ("cancelled", "approval_expired")
    assert outcomes(operation_id) == ["not_sent"]
    assert moves(operation_id) == [
        "not_started claimed in_progress",
        "in_progress not_sent not_started",
        "not_started withdrawn cancelled",
    ]
    check_invariants(simulator, operation_id)
