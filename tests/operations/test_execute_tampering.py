"""Cases P20 and P21 c: what runs is what was approved, or nothing runs."""

import dataclasses
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection

from operations.models import Attempt, Evidence, Intent, JournalEntry, Operation, Permit, Policy
from operations.providers import registry
from operations.providers.connections import reader_for
from operations.providers.contract_files import LoadedContract
from operations.services import execute as services
from opsconsole.engine.drain import carry_on
from reconciliation.services.look_up import look_up
from tests.conftest import empty_tables
from tests.operations.scenario import (
    cases,
    check_invariants,
    control_body,
    execute,
    guards_off,
    moves,
    outcomes,
    patch_limits,
)
from tests.support.simulator import Simulator
from tests.support.tenant import World, make_world
from tests.support.waiting import wait_past, wait_until

HASH_RULE = "intent_hash_is_of_bytes"
BYTES = "UPDATE operations_intent SET canonical = %s WHERE operation_id = %s"
BYTES_AND_HASH = (
    "UPDATE operations_intent SET canonical = %s, payload_hash = opsconsole_hash(%s) WHERE operation_id = %s"
)
type Change = Callable[[World, str], None]


@pytest.fixture(autouse=True)
def limits(settings: Any) -> None:
    patch_limits(settings)


@pytest.fixture(autouse=True)
def no_hash_rule(database: None) -> Iterator[None]:
    """The tamperer owns the tables. The rule is put back on empty tables, as it was."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = %s", [HASH_RULE])
        row = cursor.fetchone()
        assert row is not None
        cursor.execute(f"ALTER TABLE operations_intent DROP CONSTRAINT {HASH_RULE}")
    yield
    empty_tables()
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE operations_intent ADD CONSTRAINT {HASH_RULE} {row[0]}")


def tamper(statement: str, *values: Any) -> None:
    tables = ("operations_intent", "operations_operation", "operations_permit", "operations_connection")
    with guards_off(*tables):
        assert execute(statement, *values) == 1


def bytes_with(old: bytes, new: bytes) -> Change:
    def change(world: World, operation_id: str) -> None:
        raw = bytes(Intent.objects.get(pk=operation_id).canonical)
        assert old in raw
        tamper(BYTES, raw.replace(old, new), operation_id)

    return change


def bytes_and_hash(world: World, operation_id: str) -> None:
    raw = bytes(Intent.objects.get(pk=operation_id).canonical).replace(b"1250000", b"9950000")
    tamper(BYTES_AND_HASH, raw, raw, operation_id)


def another_one_s_bytes(world: World, operation_id: str) -> None:
    """Everything of another, equally approved operation, its permit's hash too: only its own id gives it away."""
    other = Intent.objects.get(pk=world.approved(world.wish(payload={"amount_minor": 99})))
    raw = bytes(other.canonical)
    tamper(BYTES_AND_HASH, raw, raw, operation_id)
    tamper("UPDATE operations_permit SET payload_hash = %s WHERE operation_id = %s", other.payload_hash, operation_id)


def column(table: str, name: str, value: Any) -> Change:
    where = {
        "operations_intent": "operation_id",
        "operations_permit": "operation_id",
        "operations_operation": "intent_id",
    }

    def change(world: World, operation_id: str) -> None:
        new = value(world) if callable(value) else value
        tamper(f"UPDATE {table} SET {name} = %s WHERE {where[table]} = %s", new, operation_id)

    return change


def another_tenant(world: World) -> int:
    return make_world().tenant.pk


def another_tenant_everywhere(world: World, operation_id: str) -> None:
    """All rows around the approved bytes say that they belong to somebody else; the bytes do not."""
    tenant = another_tenant(world)
    tamper("UPDATE operations_intent SET tenant_id = %s WHERE operation_id = %s", tenant, operation_id)
    tamper("UPDATE operations_operation SET tenant_id = %s WHERE intent_id = %s", tenant, operation_id)
    tamper("UPDATE operations_permit SET tenant_id = %s WHERE operation_id = %s", tenant, operation_id)


ZEROS = "sha256:" + "0" * 64
INTEGRITY: dict[str, Change] = {
    "amount": bytes_with(b'"amount_minor":1250000', b'"amount_minor":1250001'),
    "currency": bytes_with(b'"KZT"', b'"USD"'),
    "beneficiary": bytes_with(b"vendor_77", b"vendor_78"),
    "tenant in the bytes": bytes_with(b'"tenant":"org-', b'"tenant":"osg-'),
    "policy in the bytes": bytes_with(b"payments.create-v1", b"payments.create-v0"),
    "one blank more": bytes_with(b"}", b"} "),
    "bytes and their hash": bytes_and_hash,
    "the bytes of another": another_one_s_bytes,
    "stored hash": column("operations_intent", "payload_hash", ZEROS),
    "hash of the permit": column("operations_permit", "payload_hash", ZEROS),
    "policy of the permit": column("operations_permit", "policy_version", "payments.create-v9"),
    "idempotency key": column("operations_intent", "idempotency_key", "another-key"),
    "tenant of the intent": column("operations_intent", "tenant_id", another_tenant),
    "tenant of the operation": column("operations_operation", "tenant_id", another_tenant),
    "tenant of all rows": another_tenant_everywhere,
}


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


def new_policy(world: World, operation_id: str) -> None:
    Policy.objects.create(tenant=world.tenant, action="payments.create", version=2, quorum=2, approval_seconds=60)


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


# Between the claim and the call -------------------------------------------------------------------------------------


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
        look_up(operation_id=operation_id, reader=reader, contract=asleep.contract, asked_by="test")
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
