"""Cases P20 and P21 c: what runs is what was approved, or nothing runs."""

import dataclasses
import json
from typing import Any

import pytest

from operations.models import Evidence, JournalEntry, Operation, Permit
from operations.providers import registry
from operations.providers.contract_files import LoadedContract
from opsconsole.engine.drain import carry_on
from tests.operations.scenario import (
    cases,
    check_invariants,
    control_body,
    moves,
    outcomes,
)
from tests.operations.tampering import (
    INTEGRITY,
    ZEROS,
    Change,
    column,
    new_policy,
    tamper,
)
from tests.support.simulator import Simulator
from tests.support.tenant import World

pytestmark = pytest.mark.usefixtures("tamperer")


@pytest.mark.parametrize("change", INTEGRITY.values(), ids=INTEGRITY)
def test_p20_changed_data_is_not_sent_and_a_person_is_told(world: World, simulator: Simulator, change: Change) -> None:
    before = simulator.posts()
    operation_id = world.approved()
    change(world, operation_id)

    for _ in range(3):
        carry_on(operation_id)

    assert simulator.posts() == before  # whatever its key or reference would have been
    operation = Operation.objects.get(pk=operation_id)
    assert (operation.state, operation.waits_for) == ("not_started", "operator")
    assert cases(operation_id) == ["integrity"]
    assert outcomes(operation_id) == []
    opened = JournalEntry.objects.filter(operation_id=operation_id, verb="case_opened")
    assert opened.count() == 1


def another_policy_version(world: World, operation_id: str) -> None:
    column("operations_intent", "policy_version", "payments.create-v7")(world, operation_id)


def provider_of_the_connection(world: World, operation_id: str) -> None:
    tamper(
        "UPDATE operations_connection SET provider = 'prompt' WHERE tenant_id = %s AND name = 'bank-main'",
        world.tenant.pk,
    )


def another_connection(world: World, operation_id: str) -> None:
    crm = world.tenant.connections.get(name="crm-main").pk
    column("operations_intent", "connection_id", crm)(world, operation_id)


def digest_of_the_contract(world: World, operation_id: str) -> None:
    column("operations_intent", "contract_digest", ZEROS)(world, operation_id)


MOVED: dict[str, tuple[Change, str]] = {
    "policy": (new_policy, "policy_moved"),
    "policy of the intent": (another_policy_version, "policy_moved"),
    "provider": (provider_of_the_connection, "connection_moved"),
    "connection": (another_connection, "connection_moved"),
    "contract digest": (digest_of_the_contract, "connection_moved"),
}


def assert_withdrawn(world: World, simulator: Simulator, operation_id: str, reason: str) -> None:
    for _ in range(3):
        carry_on(operation_id)
    assert simulator.posts(operation_id) == []
    operation = Operation.objects.get(pk=operation_id)
    assert (operation.state, operation.reason) == ("cancelled", reason)
    assert moves(operation_id)[-1] == "not_started withdrawn cancelled"
    fact = Evidence.objects.get(pk=operation.fact_id or 0)
    assert (fact.verdict, fact.reason) == ("withdrawn", reason)
    assert not Permit.objects.filter(operation_id=operation_id, revoked_at=None).exists()


@pytest.mark.parametrize(("change", "reason"), MOVED.values(), ids=MOVED)
def test_p20_moved_ground_needs_a_new_approval(world: World, simulator: Simulator, change: Change, reason: str) -> None:
    operation_id = world.approved()
    change(world, operation_id)
    assert_withdrawn(world, simulator, operation_id, reason)


@pytest.mark.parametrize("edit", ["version", "content"])
def test_p20_another_contract_needs_a_new_approval(
    world: World, simulator: Simulator, monkeypatch: pytest.MonkeyPatch, edit: str
) -> None:
    operation_id = world.approved()
    known = registry.contracts()
    now = known["simulated", "payments.create"]
    contract = dataclasses.replace(now.contract, version=2) if edit == "version" else now.contract
    edited = {**known, ("simulated", "payments.create"): LoadedContract(contract, ZEROS)}
    monkeypatch.setattr(registry, "contracts", lambda: edited)
    assert_withdrawn(world, simulator, operation_id, "connection_moved")


def test_p20_another_address_needs_a_new_approval(world: World, simulator: Simulator, settings: Any) -> None:
    operation_id = world.approved()
    settings.PROVIDER_TARGETS = {"bank-main": simulator.url.replace("127.0.0.1", "localhost")}
    assert_withdrawn(world, simulator, operation_id, "connection_moved")


def test_p20_control_nothing_changed(world: World, simulator: Simulator) -> None:
    operation_id = world.approved()
    carry_on(operation_id)
    (row,) = simulator.posts(operation_id)
    assert json.loads(row["body"]) == control_body(operation_id)
    assert world.state(operation_id) == "succeeded"
    check_invariants(simulator, operation_id)
