"""What was meant, learned, decided and written down stays as it is (invariants 4 and 10)."""

import pytest

from tests.guards.attack import OTHER_HASH, assert_refused, everything, force, learn, one, run, unknown
from tests.support.tenant import World

APPEND_ONLY = {
    "operations_intent": "target = target",
    "operations_evidence": "verdict = 'happened'",
    "operations_journalentry": "actor = 'nobody'",
    "operations_policy": "quorum = 1",
    "approvals_decision": "verdict = 'approve'",
    "reconciliation_lookup": "credible = true",
    "reconciliation_resolution": "reason = 'other'",
}
NEVER_DELETED = [
    *APPEND_ONLY,
    "operations_operation",
    "operations_attempt",
    "operations_permit",
    "approvals_approvalround",
    "reconciliation_case",
]
INTENT_COLUMNS = {
    "canonical": "'\\x7b7d'",
    "payload_hash": f"'{OTHER_HASH}'",
    "policy_version": "'payments.create-v9'",
    "contract_digest": f"'{OTHER_HASH}'",
    "target": "'http://evil.example'",
    "amount_minor": "1",
    "idempotency_key": "'another'",
    "client_reference": "'another'",
    "rationale": "'another'",
}


@pytest.fixture
def lived(world: World) -> str:
    """One operation with a row in every table."""
    operation_id = unknown(world)
    absent = learn(operation_id, "absent")
    run(
        "INSERT INTO reconciliation_lookup (operation_id, tenant_id, evidence_id, way, asked_by, credible, counted) "
        "VALUES (%s, %s, %s, 'by_reference', 'worker', true, true)",
        [operation_id, world.tenant.pk, absent],
    )
    case = one(
        "INSERT INTO reconciliation_case (operation_id, tenant_id, kind, why, closed_because) "
        "VALUES (%s, %s, 'unknown', 'Nobody knows.', '') RETURNING id",
        [operation_id, world.tenant.pk],
    )
    run(
        "INSERT INTO reconciliation_resolution (case_id, operation_id, tenant_id, verdict, reason, "
        "evidence_reference, external_id, by_id) VALUES (%s, %s, %s, 'noted', 'Seen.', 'ticket 1', '', %s)",
        [case, operation_id, world.tenant.pk, world.oscar.pk],
    )
    return operation_id


def test_the_stage_has_a_row_in_every_table(lived: str) -> None:
    assert all(everything()[table] for table in NEVER_DELETED)


@pytest.mark.parametrize("table", APPEND_ONLY)
def test_an_append_only_row_cannot_be_updated(lived: str, table: str) -> None:
    assert_refused(f"{table} is append-only: UPDATE refused", f"UPDATE {table} SET {APPEND_ONLY[table]}")


@pytest.mark.parametrize("table", NEVER_DELETED)
def test_a_row_of_the_record_cannot_be_deleted(lived: str, table: str) -> None:
    assert_refused(f"{table} is append-only: DELETE refused", f"DELETE FROM {table}")


@pytest.mark.parametrize("table", NEVER_DELETED)
def test_a_table_of_the_record_cannot_be_truncated(lived: str, table: str) -> None:
    assert_refused("is append-only: TRUNCATE refused", f"TRUNCATE {table} CASCADE")


@pytest.mark.parametrize("table", ["operations_tenant", "operations_user", "operations_connection"])
def test_truncating_what_the_record_stands_on_is_refused_as_well(lived: str, table: str) -> None:
    assert_refused("is append-only: TRUNCATE refused", f"TRUNCATE {table} CASCADE")


@pytest.mark.parametrize("column", INTENT_COLUMNS)
def test_no_column_of_an_intent_can_change(lived: str, column: str) -> None:
    assert_refused(
        "operations_intent is append-only",
        f"UPDATE operations_intent SET {column} = {INTENT_COLUMNS[column]} WHERE operation_id = %s",
        [lived],
    )


def test_an_intent_cannot_be_stored_with_a_hash_that_is_not_of_its_bytes(world: World) -> None:
    copy = "op_01JNGR0000ABCDEFGHJKMNPQRS"
    operation_id = world.prepare()
    columns = [row[0] for row in run("SELECT column_name FROM information_schema.columns "
                                     "WHERE table_name = 'operations_intent'")]  # fmt: skip
    changed = {"operation_id": f"'{copy}'", "client_reference": "'copy'", "idempotency_key": "'copy'"}
    picked = [changed.get(column, column) for column in columns]
    insert = f"INSERT INTO operations_intent ({', '.join(columns)}) SELECT "
    where = " FROM operations_intent WHERE operation_id = %s"
    for column, forged in (("payload_hash", f"'{OTHER_HASH}'"), ("canonical", "canonical || '\\x20'::bytea")):
        forged_row = [forged if name == column else value for name, value in zip(columns, picked, strict=True)]
        assert_refused("intent_hash_is_of_bytes", insert + ", ".join(forged_row) + where, [operation_id])
    run(insert + ", ".join(picked) + where, [operation_id])
    assert one("SELECT count(*) FROM operations_intent") == 2


def test_the_owner_who_switches_the_guards_off_is_seen_by_the_hash(world: World) -> None:
    """Not prevented, but no claim will be taken: the bytes no longer have the hash of the permit."""
    operation_id = world.approved()
    change = "UPDATE operations_intent SET canonical = canonical || '\\x20'::bytea WHERE operation_id = %s"
    with pytest.raises(Exception, match="intent_hash_is_of_bytes"):
        force("operations_intent", change, [operation_id])


def test_one_idempotency_key_belongs_to_one_operation(world: World) -> None:
    one_id, other_id = world.prepare(), world.prepare()
    keys = run("SELECT idempotency_key FROM operations_intent WHERE operation_id IN (%s, %s)", [one_id, other_id])
    assert len(set(keys)) == 2
    indexes = run(
        "SELECT indexdef FROM pg_indexes WHERE tablename = 'operations_intent' AND indexname = 'intent_key_once'"
    )
    assert "UNIQUE" in indexes[0][0] and "(connection_id, idempotency_key)" in indexes[0][0]
