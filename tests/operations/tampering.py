"""What a tamperer who owns the tables can change between approval and sending."""

from collections.abc import Callable
from typing import Any

from operations.models import Intent, Policy
from tests.operations.scenario import (
    execute,
    guards_off,
)
from tests.support.tenant import World, make_world

HASH_RULE = "intent_hash_is_of_bytes"
BYTES = "UPDATE operations_intent SET canonical = %s WHERE operation_id = %s"
BYTES_AND_HASH = (
    "UPDATE operations_intent SET canonical = %s, payload_hash = opsconsole_hash(%s) WHERE operation_id = %s"
)
type Change = Callable[[World, str], None]


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


def new_policy(world: World, operation_id: str) -> None:
    Policy.objects.create(tenant=world.tenant, action="payments.create", version=2, quorum=2, approval_seconds=60)
